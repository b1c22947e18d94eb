"""Which names, values and arguments are secrets, and how these are masked before they are shown.

This is guesswork: it goes by names and prefixes, and takes the value of every variable for a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gaia_mcp.safetext import MASK

# All patterns are compiled when they are used: a list of servers, as at a TAB, needs few of them.
_NAMES_OF_SECRETS = (
    r"(?i)key|token|secret|passw|passphrase|passcode|pwd|auth|cred(?:s|ential)|cookie|session|bearer|jwt"
    r"|(?<![A-Za-z])(?:pass|pat)(?![A-Za-z]|-through)"
)
# Each name of a secret has one of these. Most names have none, and need no pattern.
_PARTS = ("key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "session", "bearer", "jwt", "pat")
# Names that only look like one of them, and names of facts about a secret, such as its file.
_ORDINARY_NAME = (
    r"(?i)key(?:board|word|map|note|frame|stroke|pad|space|cloak)|(?:mon|don|tur|hoc)key|author(?!i[sz])|tokeni[sz]"
    r"|^-*no-.*|.*[-_.](?:file|path|dir|folder|type|mode|method|name|provider|url|uri|env|var)$"
)
_NAMES_OF_PASSWORDS = r"(?i)pass|pwd|secret|cred"
# The prefixes by which well-known services mark their tokens.
_VALUES_OF_SECRETS = (
    r"(?<![A-Za-z0-9])(?:sk[-_]|(?:pk|rk|gsk|gh[oprsu]|github_pat|hf|npm|ntn|r8|shpat|dop_v1|figd|lin_api)_"
    r"|(?:glpat|xox[abeoprs]|xapp|pplx|tvly)-|pypi-Ag|AKIA|ASIA|AIza|ya29\.|eyJ|SG\.)[-_A-Za-z0-9.]{8,}"
)
_BEARER = r"(?i)\b(bearer\s+)[-\w.~+/=]{6,}"
_SCHEME = r"(?i)(?:bearer|basic|token)"
_URL_CREDENTIALS = r"(?<=://)(?:[^/?#\s:@]*:(?!\d*(?:[/?#]|$))\S*|[^/?#\s]+)(?=@)"
_URL_QUERY_VALUE = r"(?<=[?&])([^=&#\s]+)=([^&#\s]+)"
_REFERENCE = r"(?i)(?:(?:bearer|basic|token)\s+)?\$\{[a-z_]\w*(?::-)?\}"
_PAIR = (
    r"""(?P<name>[A-Za-z_][\w.-]*)["']?\s*(?P<sign>=|:(?![/\\]))\s*"""
    r"""(?P<value>"(?:[^"\\]|\\.)*"|'[^']*'|\[[^\]]*\]|\{[^}]*\}|[-\d.]+(?!\w)|(?:true|false|null)\b|[^;&]*)"""
)
_COUNT = r"-?\d{1,7}(?:\.\d+)?|true|false|null"
_OPEN_QUOTE = r"""(?s)(?:^|=)(["'])(?!.*\1$)"""
_FLAG = r"(?s)--[A-Za-z][\w.-]*(?:=.*)?|-[A-Za-z]"


def looks_secret(name: str) -> bool:
    """Whether a variable, header or option of this name usually holds a secret."""
    folded = name.lower()
    if not any(part in folded for part in _PARTS):
        return False
    # The shortest words have three letters.
    return len(name.lstrip("-")) > 2 and bool(re.search(_NAMES_OF_SECRETS, re.sub(_ORDINARY_NAME, "", name)))


def masked(value: str) -> str:
    """`****`, or the value itself if it is a reference to a variable, without a default, which could be a secret."""
    return value if re.fullmatch(_REFERENCE, value) else MASK


def masked_url(url: str) -> str:
    """`url` without its credentials and without the values of its query."""
    url = re.sub(_URL_CREDENTIALS, MASK, url)
    return re.sub(_VALUES_OF_SECRETS, MASK, re.sub(_URL_QUERY_VALUE, lambda pair: f"{pair[1]}={masked(pair[2])}", url))


def credentials_in(text: str) -> list[str]:
    """The credentials in the URLs of `text`, and the password of each by itself, also without its percent signs."""
    found = re.findall(_URL_CREDENTIALS, text)
    passwords = [password for each in found if (password := each.partition(":")[2])]
    if any("%" in password for password in passwords):
        from urllib.parse import unquote

        passwords += [unquote(password) for password in passwords]
    return [*found, *passwords]


def masked_arguments(arguments: list[str]) -> list[str]:
    """A command's arguments with everything that looks like a secret replaced by `****`."""
    shown: list[str] = []
    awaiting = quote = ""
    for argument in arguments:
        if quote:
            # The rest of a quoted secret in a command line that was split at its spaces.
            shown.append(MASK)
            quote = "" if argument.endswith(quote) else quote
            continue
        bare = argument.strip("\"'")
        if awaiting and re.fullmatch(_SCHEME, bare):
            # `Authorization: Bearer X`, come apart at its spaces.
            shown.append(argument)
            continue
        if awaiting and not re.fullmatch(_FLAG, argument):
            shown.append(_masked_value(awaiting, argument))
        else:
            shown.append(_masked_text(argument))
        is_open = (argument.startswith("-") and "=" not in argument) or bare.endswith(":")
        awaiting = bare if is_open and looks_secret(bare.rstrip(":")) else ""
        if (awaiting or shown[-1] != argument) and (opened := re.search(_OPEN_QUOTE, argument)):
            quote, awaiting = opened[1], ""
    return shown


def _masked_text(text: str) -> str:
    if "://" in text:
        text = masked_url(text)
    if "bearer" in text.lower():
        text = re.sub(_BEARER, rf"\1{MASK}", text)
    at = 0
    pattern = re.compile(_PAIR) if "=" in text or ":" in text else None
    while pattern is not None and (pair := pattern.search(text, at)) is not None:
        at = pair.start("value")
        behind = text[pair.start() - 1 : pair.start()]
        if not looks_secret(pair["name"]) or (pair["sign"] == ":" and behind in ("/", "@", "\\")):
            continue
        leads = not text[: pair.start()].strip("-/\"'")
        end = len(text) if leads else pair.end()
        value = _masked_value(pair["name"], text[at:end])
        text = text[:at] + value + text[end:]
        at += len(value)
    return re.sub(_VALUES_OF_SECRETS, MASK, text)


def _masked_value(name: str, value: str) -> str:
    """`value` of something called `name`: masked unless it is a number or a reference, as in `--max-tokens 5`."""
    if not value.strip() or (re.fullmatch(_COUNT, value) and not re.search(_NAMES_OF_PASSWORDS, name)):
        return value
    quote = value[0] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else ""
    return f"{quote}{masked(value.strip(quote) if quote else value)}{quote}"


def secrets_in(variables: Mapping[str, str], arguments: Sequence[str]) -> list[str]:
    """The secrets that a server was given: the values of its own variables, and the parts of its arguments that
    `masked_arguments` hides. No error and no log may repeat them.
    """
    found = list(variables.values())
    # `Bearer X`: on its own the second word is the secret.
    found += [word for value in variables.values() if re.match(_SCHEME, value) for word in value.split()[1:]]
    for argument, shown in zip(arguments, masked_arguments(list(arguments)), strict=True):
        before, mask, behind = shown.partition(MASK)
        if mask:
            found.append(argument[len(before) : len(argument) - len(behind)])
    return found
