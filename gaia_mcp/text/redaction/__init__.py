"""What counts as a secret, and how secrets are masked in all output. There is one definition, and one masker.

A text is a secret by its name, by its look, or by its position, for example in a URL. A path, an ordinary word, a
number or a URL without credentials is not, unless its name is that of a secret. These are heuristics: they miss other
secrets. A configuration is shown with `****` in place of secrets. They are found in linear time, as
places: pairs of start and end, in order, which do not overlap.

A server may print the secrets that it was given in another form: quoted, escaped, encoded, cut off. A `Masker`
(`masker`) is created from these secrets, and finds each of them in all its forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gaia_mcp.text import MASK

Place: TypeAlias = tuple[int, int]
# Possessive, and anchored at the beginning of a word: no backtracking.
_PAIR = r"""(?<![\w.-])(?P<name>[\w.-]++)["']?+\s*+(?P<sign>=|:(?![/\\]))\s*+"""
_VALUE = r""""(?:[^"\\]|\\.)*+"|'[^']*+'|\[[^\]]*+\]|\{[^}]*+\}|[-\d.]++(?!\w)|(?:true|false|null)\b|[^;&\s]*+"""
_REST_OF_VALUE = r"[^;&]*+"
_BRACKETS = ("[", "{", '"', "'")
_BEFORE_A_NAME = r"[^A-Za-z_]*+"
_END_OF_URL = r"[\s\"<>]|$"
_END_OF_AUTHORITY = r"[/?#\s]|$"
_PORT = r"\d*+(?:[/?#\s\"<>]|$)"
_QUERY_VALUE = r"[?&]([^=&?#\s\"<>]++)=([^&#\s\"<>]++)"
_NETRC = r"\b(?:machine|default)\b.{0,400}?\bpassword\s++(\S++)"
_SCHEME = r"(?i)(?:bearer|basic|token)"
_FLAG = r"(?s)--[A-Za-z][\w.-]*(?:=.*)?|-[A-Za-z]"
_QUOTE_OF_VALUE = r"(?:^|=)([\"'])"
# The prefixes by which well-known services mark their tokens.
PREFIXES = (
    "sk-", "sk_", "pk_", "rk_", "gsk_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "hf_", "npm_", "ntn_",
    "r8_", "shpat_", "dop_v1_", "figd_", "lin_api_", "glpat-", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-",
    "xoxs-", "xapp-", "pplx-", "tvly-", "pypi-Ag", "AKIA", "ASIA", "AIza", "ya29.", "eyJ", "SG.",
)  # fmt: skip
# Secrets recognised by their look are not shorter; most arguments are, and TAB completion checks hundreds.
SHORTEST_CHARS = 11
# `Basic` must be followed by Base64: before another word it is an ordinary word.
CREDENTIALS = r"(?i)\b(?:bearer\s++(?P<bearer>[-\w.~+/=]{6,}+)|basic\s++(?P<basic>[a-z0-9+/_-]{8,}+={0,2}))"
PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----"
PRIVATE_KEY_END = r"-----END [A-Z0-9 ]{0,80}-----"
# After the scheme of an `Authorization` header, or a name, as in `token=${TOKEN}`; also `${USER}:${PASSWORD}`.
REFERENCE = r"(?i)(?:[a-z][a-z-]{0,11}(?:\s+|=))?\$\{[a-z_]\w*(?::-)?\}(?::\$\{[a-z_]\w*(?::-)?\})*+"
COUNT = r"-?\d{1,7}(?:\.\d+)?|true|false|null"
_RUN_CHARS = 16
_RUN = rf"[A-Za-z0-9]{{{_RUN_CHARS},}}+"
_PATH = r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]|~$"
_IN_A_PATH = r"[\w.,:;@ ~()\\/-]*+"
_BETWEEN_WORDS = r"[\s,;:/.@=_-]+"
_HUMPS = r"(?:[a-z]{2,15}|[A-Z][a-z]{2,15})(?:[A-Z][a-z]{2,15}){0,3}"
# Such as `4o` and `v1`; so short a password cannot be distinguished from a word.
_SHORT_CHARS = 4
_WORD_CHARS = 24
# The digits of an ordinary number, such as a date or an id; the numbers of cards and accounts are longer.
_DIGITS = 10
# All patterns are compiled when they are used: a list of servers, as for TAB completion, needs few of them.
_NAMES_OF_SECRETS = (
    r"(?i)key|token|secret|passw|passphrase|passcode|pwd|auth|cred(?:s|ential)|cookie|session|bearer|jwt"
    r"|(?<![A-Za-z])(?:pass|pat|pin)(?![A-Za-z]|-through)"
)
# Each name of a secret has one of these. Most names have none, and need no pattern.
_PARTS = (
    "key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "session", "bearer", "jwt", "pat", "pin",
)  # fmt: skip
# Names that only look like one of them.
_ORDINARY_WORDS = (
    r"(?i)key(?:board|word|map|note|frame|stroke|pad|space|cloak)|(?:mon|don|tur|hoc)key|author(?!i[sz])|tokeni[sz]"
)
# Names of facts about a secret, such as its file.
_NAMES_OF_FACTS = r"(?i)[-_.](?:file|path|dir|folder|type|mode|method|name|provider|url|uri|env|var)$"
_NAMES_OF_PASSWORDS = r"(?i)pass|pwd|secret|cred|(?<![A-Za-z])pin(?![A-Za-z])"
# This is as often the name of a choice, such as a desktop, as of a secret.
_VAGUE_NAMES = r"(?i)session"
# A longer word is not a name.
MAX_NAME_CHARS = 200
TOKEN = rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, PREFIXES))})[-_A-Za-z0-9.]{{8,}}+"
__all__ = ["looks_secret", "masked", "masked_arguments", "masked_members", "masked_url", "masked_value"]


def hidden(text: str, places: Iterable[Place], mask: str = MASK) -> str:
    """`text` with a mask in each of the places."""
    shown, at = "", 0
    for begin, end in places:
        shown += text[at:begin] + mask
        at = end
    return shown + text[at:]


def merged(places: Iterable[Place]) -> list[Place]:
    """The places in order, those that overlap as one."""
    found: list[Place] = []
    for begin, end in sorted(places):
        if begin >= end:
            continue
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def in_text(text: str) -> list[Place]:
    """The places of secrets, by their look, or by the name before them in the text."""
    found = [*_by_look(text), *_keys(text)]
    if "://" in text:
        found += in_urls(text)
    if "=" in text or ":" in text:
        found += _pairs(text)
    if "password" in text:
        found += [match.span(1) for match in re.finditer(_NETRC, text, re.DOTALL)]
    return merged(found)


def in_value(name: str, value: str) -> list[Place]:
    """The places of secrets in the value of a variable, a header or a member that is called `name`.

    A value whose name is not that of a secret is still a secret as a whole, unless it consists of words and numbers, or
    is a path, a URL or JSON; then only the secrets inside it are.
    """
    if not value.strip() or is_reference(value):
        return []
    inside, whole = in_text(value), [(0, len(value))]
    if looks_secret(name):
        if is_path(value) or (is_count(value) and not names_password(name)):
            return []
        if _is_url(value) or (looks_vague(name) and is_choice(value)):
            return inside
        return whole
    if _is_url(value) or value.lstrip()[:1] in ("{", "["):
        return inside
    return inside if is_ordinary(hidden(value, inside, " ")) else whole


def in_named(name: str, value: str) -> list[Place]:
    """The place of the secret in a value after the `name` of a secret, without its quotes. Empty for a number that is
    not a password, as in `--max-tokens 5`, and for a reference or a path.
    """
    if not value.strip() or (is_count(value) and not names_password(name)):
        return []
    quotes = 1 if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else 0
    bare = value[quotes : len(value) - quotes]
    if is_reference(bare) or is_path(bare) or (looks_vague(name) and is_choice(bare)):
        return []
    return [(quotes, len(value) - quotes)]


def in_urls(text: str) -> list[Place]:
    """The places of the credentials in the URLs of `text`, and of the secrets in their queries."""
    found = [*credentials(text)]
    for match in re.finditer(_QUERY_VALUE, text):
        name, value = match[1], match[2]
        if is_reference(value):
            continue
        from urllib.parse import unquote

        if looks_secret(name) or in_value(name, unquote(value)):
            found.append(match.span(2))
    return merged([*found, *_by_look(text)])


def credentials(text: str) -> Iterator[Place]:
    """The places of `user:password`, or of a token, in the URLs of `text`."""
    ends, begins_of_hosts = re.compile(_END_OF_URL), re.compile(_END_OF_AUTHORITY)
    port = re.compile(_PORT)
    end = last = at = -1
    while (at := text.find("://", at + 1)) >= 0:
        begin = at + len("://")
        if begin > end:
            found = ends.search(text, begin)
            end = found.start() if found else len(text)
            last = text.rfind("@", begin, end)
        if last < begin:
            continue
        found = begins_of_hosts.search(text, begin)
        authority = min(found.start() if found else end, end)
        user, colon, _ = text[begin:authority].partition(":")
        behind = begin + len(user) + 1
        if colon and "@" not in user and not port.match(text, behind):
            # A password that is not percent-encoded may contain any character.
            yield begin, last
            at = last
        elif (at_sign := text.rfind("@", begin, authority)) > begin:
            yield begin, at_sign


def _by_look(text: str) -> list[Place]:
    if len(text) < SHORTEST_CHARS:
        return []
    found = tokens(text)
    if "bearer" in (folded := text.lower()) or "basic" in folded:
        for match in re.finditer(CREDENTIALS, text):
            kind = "bearer" if match["bearer"] else "basic"
            if kind == "bearer" or decoded(match["basic"]):
                found.append(match.span(kind))
    return found + random_runs(text)


def decoded(word: str) -> str:
    """`user:password` of Basic authentication; empty for any other word."""
    from base64 import urlsafe_b64decode

    try:
        text = urlsafe_b64decode(word.replace("+", "-").replace("/", "_") + "===").decode()
    except ValueError:
        return ""
    return text if ":" in text and text.isprintable() else ""


def _keys(text: str) -> Iterator[Place]:
    """The private keys in a text, each from its first line to its last."""
    at = 0
    while "-----BEGIN" in text and (begin := re.compile(PRIVATE_KEY).search(text, at)):
        end = re.compile(PRIVATE_KEY_END).search(text, begin.end())
        at = end.end() if end else len(text)
        yield begin.start(), at


def _pairs(text: str) -> Iterator[Place]:
    """The values after the names of secrets, as in `KEY=x`, `Authorization: x` and `{"key": "x"}`."""
    pair, value_of, rest_of = re.compile(_PAIR), re.compile(_VALUE, re.DOTALL), re.compile(_REST_OF_VALUE)
    at = 0
    while (found := pair.search(text, at)) is not None:
        at = found.end()
        skipped = len(re.match(_BEFORE_A_NAME, found["name"])[0])  # type: ignore[index]
        name = found["name"][skipped:]
        begin = found.start() + skipped
        behind = text[begin - 1 : begin]
        if not looks_secret(name) or (found["sign"] == ":" and behind in ("/", "@", "\\")):
            continue
        value = value_of.match(text, at)[0]  # type: ignore[index]
        if in_named(name, value):
            # The value of a single argument is the rest of the text; with several pairs, each has its own value.
            if not text[:begin].strip("-/\"'"):
                value = text[at:]
            elif value[:1] not in _BRACKETS:
                value = rest_of.match(text, at)[0]  # type: ignore[index]
            yield from ((at + one, at + other) for one, other in in_named(name, value))
        at += len(value)


def _is_url(value: str) -> bool:
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]{0,40}://\S+$", value))


def places_in(arguments: Sequence[str]) -> list[list[Place]]:
    """For each argument, the places of the secrets in it."""
    found: list[list[Place]] = []
    awaiting = quote = ""
    for argument in arguments:
        whole = [(0, len(argument))]
        if quote:
            # The rest of a quoted secret in a command line that was split at its spaces.
            found.append(whole)
            quote = "" if argument.endswith(quote) else quote
            continue
        bare = argument.strip("\"'")
        if awaiting and re.fullmatch(_SCHEME, bare):
            # `Authorization: Bearer X`, split at its spaces.
            found.append([])
            continue
        if awaiting and not re.fullmatch(_FLAG, argument):
            found.append(in_named(awaiting, argument))
        else:
            found.append(in_text(argument))
        is_open = (argument.startswith("-") and "=" not in argument) or bare.endswith(":")
        awaiting = bare if is_open and looks_secret(bare.rstrip(":")) else ""
        if (awaiting or found[-1]) and (opened := _open_quote(argument)):
            quote, awaiting = opened, ""
    return found


def masked_arguments(arguments: Sequence[str]) -> list[str]:
    """A command's arguments with everything that looks like a secret replaced by `****`."""
    return [hidden(argument, places) for argument, places in zip(arguments, places_in(arguments), strict=True)]


def masked_url(url: str) -> str:
    """`url` without its credentials and the secrets in its query."""
    return hidden(url, in_urls(url))


def masked_value(name: str, value: str) -> str:
    """The value of a variable, a header or a member that is called `name`, with its secrets replaced by `****`."""
    return hidden(value, in_value(name, value))


def masked_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an object, and of nested ones, with their secrets masked. A member with the name of a secret is
    masked completely. References to a keyring stay.
    """
    return {key: _masked_member(key, held) for key, held in members.items()}


def _masked_member(name: str, held: Any, outer: str = "") -> Any:
    if isinstance(held, Mapping):
        if held.keys() == {"$keyring"}:
            return held
        around = name if looks_secret(name) else outer
        return {key: _masked_member(key, inner, around) for key, inner in held.items()}
    if isinstance(held, list):
        return [_masked_member(name, inner, outer) for inner in held]
    if held is None or isinstance(held, bool):
        return held
    text = str(held)
    shown = masked_value(name, text) if not outer or looks_secret(name) else masked_value(outer, text)
    return held if shown == text else shown


def masked(value: str) -> str:
    """`****`, or the value itself if it is a reference to a variable without a default (which could be a secret)."""
    return value if is_reference(value) else MASK


def _open_quote(argument: str) -> str:
    """The quotation mark that begins a value in this argument but does not end it."""
    for found in re.finditer(_QUOTE_OF_VALUE, argument):
        if not (argument.endswith(found[1]) and len(argument) > found.end()):
            return found[1]
    return ""


def tokens(text: str) -> list[tuple[int, int]]:
    """The places of such services' tokens in a text."""
    if not any(prefix in text for prefix in PREFIXES):
        # As for most texts: compiling the pattern would take longer than the rest of a TAB completion.
        return []
    return [match.span() for match in re.finditer(TOKEN, text)]


def is_random(run: str) -> bool:
    """Whether a long run of letters and digits is not a word but a key, in hexadecimal digits or mixed case."""
    digits = sum(map(str.isdigit, run))
    if digits < 3 or digits == len(run):
        return False
    is_mixed = run.lower() != run and run.upper() != run
    return is_mixed or (len(run) >= 32 and bool(re.fullmatch(r"[0-9a-fA-F]+|[a-z0-9]+|[A-Z0-9]+", run)))


def random_runs(text: str) -> list[tuple[int, int]]:
    """The places of long runs of letters and digits that are not words."""
    if len(text) < _RUN_CHARS:
        return []
    found = (match.span() for match in re.finditer(_RUN, text) if is_random(match[0]))
    # After these comes the digest of an image, or a commit id.
    return [
        (begin, end)
        for begin, end in found
        if text[begin - 1 : begin] not in ("@", ":") or not _is_digest(text[begin:end])
    ]


def _is_digest(run: str) -> bool:
    return len(run) in (40, 64) and bool(re.fullmatch("[0-9a-f]+", run))


def is_reference(value: str) -> bool:
    """Whether it is a reference to a variable without a default (which could be a secret)."""
    return bool(re.fullmatch(REFERENCE, value))


def is_count(value: str) -> bool:
    """Whether it is a number of few digits, or a JSON word."""
    return bool(re.fullmatch(COUNT, value))


def is_path(value: str) -> bool:
    """Whether it looks like the path of a file or folder, or several paths."""
    return bool(re.match(_PATH, value) and re.fullmatch(_IN_A_PATH, value)) and not random_runs(value)


def is_ordinary(value: str) -> bool:
    """Whether it consists of words and numbers, or is a path: not a secret at a glance."""
    if is_path(value):
        return True
    return all(map(_is_word, filter(None, re.split(_BETWEEN_WORDS, value))))


def is_choice(value: str) -> bool:
    """Whether it is one of those words or paths, such as the name of a desktop."""
    return not re.search(r"[\s\"'{}\[\]]", value) and is_ordinary(value)


def _is_word(part: str) -> bool:
    if part.isdigit():
        return len(part) <= _DIGITS
    if len(part) <= _SHORT_CHARS:
        return True
    is_in_one_case = part.islower() or part.isupper() or part.istitle()
    return part.isalpha() and ((is_in_one_case and len(part) <= _WORD_CHARS) or bool(re.fullmatch(_HUMPS, part)))


def looks_secret(name: str) -> bool:
    """Whether a variable, header or option of this name usually holds a secret."""
    name = name[:MAX_NAME_CHARS].lstrip("-")
    folded = name.lower()
    # The shortest words have three letters.
    if len(name) < 3 or not any(part in folded for part in _PARTS):
        return False
    if folded.startswith("no-") or re.search(_NAMES_OF_FACTS, name):
        return False
    return bool(re.search(_NAMES_OF_SECRETS, re.sub(_ORDINARY_WORDS, "", name)))


def looks_vague(name: str) -> bool:
    """Whether the name may also be that of a choice, so that only a value that is not a word is a secret."""
    return not re.search(_NAMES_OF_SECRETS, re.sub(_VAGUE_NAMES, "", re.sub(_ORDINARY_WORDS, "", name)))


def names_password(name: str) -> bool:
    """Whether it is the name of a secret that may consist of digits only."""
    return bool(re.search(_NAMES_OF_PASSWORDS, name))
