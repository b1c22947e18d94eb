"""Finds secrets in a text, and in the arguments of a command: by their look, by the names before them (`--token X`),
and in URLs; in linear time.

A place is a pair of start and end. Places are in order, and do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gaia_mcp.text.redaction import patterns as looks
from gaia_mcp.text.redaction.patterns import looks_secret, looks_vague, names_password
from gaia_mcp.text.safe import MASK

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
    if not value.strip() or looks.is_reference(value):
        return []
    inside, whole = in_text(value), [(0, len(value))]
    if looks_secret(name):
        if looks.is_path(value) or (looks.is_count(value) and not names_password(name)):
            return []
        if _is_url(value) or (looks_vague(name) and looks.is_choice(value)):
            return inside
        return whole
    if _is_url(value) or value.lstrip()[:1] in ("{", "["):
        return inside
    return inside if looks.is_ordinary(hidden(value, inside, " ")) else whole


def in_named(name: str, value: str) -> list[Place]:
    """The place of the secret in a value after the `name` of a secret, without its quotes. Empty for a number that is
    not a password, as in `--max-tokens 5`, and for a reference or a path.
    """
    if not value.strip() or (looks.is_count(value) and not names_password(name)):
        return []
    quotes = 1 if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else 0
    bare = value[quotes : len(value) - quotes]
    if looks.is_reference(bare) or looks.is_path(bare) or (looks_vague(name) and looks.is_choice(bare)):
        return []
    return [(quotes, len(value) - quotes)]


def in_urls(text: str) -> list[Place]:
    """The places of the credentials in the URLs of `text`, and of the secrets in their queries."""
    found = [*credentials(text)]
    for match in re.finditer(_QUERY_VALUE, text):
        name, value = match[1], match[2]
        if looks.is_reference(value):
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
    if len(text) < looks.SHORTEST_CHARS:
        return []
    found = looks.tokens(text)
    if "bearer" in (folded := text.lower()) or "basic" in folded:
        for match in re.finditer(looks.CREDENTIALS, text):
            kind = "bearer" if match["bearer"] else "basic"
            if kind == "bearer" or decoded(match["basic"]):
                found.append(match.span(kind))
    return found + looks.random_runs(text)


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
    while "-----BEGIN" in text and (begin := re.compile(looks.PRIVATE_KEY).search(text, at)):
        end = re.compile(looks.PRIVATE_KEY_END).search(text, begin.end())
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


_SCHEME = r"(?i)(?:bearer|basic|token)"
_FLAG = r"(?s)--[A-Za-z][\w.-]*(?:=.*)?|-[A-Za-z]"
_QUOTE_OF_VALUE = r"(?:^|=)([\"'])"


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
    return value if looks.is_reference(value) else MASK


def _open_quote(argument: str) -> str:
    """The quotation mark that begins a value in this argument but does not end it."""
    for found in re.finditer(_QUOTE_OF_VALUE, argument):
        if not (argument.endswith(found[1]) and len(argument) > found.end()):
            return found[1]
    return ""
