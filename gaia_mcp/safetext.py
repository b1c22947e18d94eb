"""Text from elsewhere, made safe to show: no control characters, no secrets, no endless lines.

Knows nothing of terminals; whoever prints decides when to use it.
"""

from __future__ import annotations

import re

# C0 without tab and newline, DEL, C1, and the marks that reorder or hide text on a terminal.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie|session|bearer", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"^--?[\w-]*(key|token|secret|passw|pwd|auth|credential|bearer)[\w-]*$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"^(sk|pk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abeoprs]|hf|npm|AKIA|ASIA|AIza|ya29|eyJ)[-_A-Za-z0-9.]{8,}$"
)
_URL_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_URL_QUERY_VALUE = re.compile(r"(?<=[?&])([^=&#\s]+)=([^&#\s]+)")
_REFERENCE = re.compile(r"^\$\{[^}]*\}$")

MASK = "****"


def clean(text: str) -> str:
    """`text` with every control, direction and invisible character written as an escape such as `\\x1b`."""
    return _UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """The first `limit` characters of `text` on one line, cleaned, ending in `…` if something was cut."""
    flat = " ".join(clean(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def encodable(text: str) -> str:
    """`text` without lone surrogates, which no encoding can carry."""
    return _SURROGATE.sub("\ufffd", text)


def looks_secret(name: str) -> bool:
    """Whether a variable, header or option of this name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def masked(value: str) -> str:
    """`****`, except for a value that only refers to a variable, which is no secret."""
    return value if _REFERENCE.match(value) else MASK


def masked_url(url: str) -> str:
    """`url` without its credentials and without the values of its query."""
    return _URL_QUERY_VALUE.sub(rf"\1={MASK}", _URL_CREDENTIALS.sub(MASK, url))


def masked_arguments(arguments: list[str]) -> list[str]:
    """A command's arguments with everything that looks like a secret replaced by `****`."""
    shown: list[str] = []
    hide_next = False
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if hide_next and not argument.startswith("-"):
            shown.append(masked(argument))
        elif equals and (_SECRET_FLAG.match(name) or (not name.startswith("-") and looks_secret(name))):
            shown.append(f"{name}={masked(value)}")
        elif _SECRET_VALUE.match(argument):
            shown.append(MASK)
        else:
            shown.append(masked_url(argument) if "://" in argument else argument)
        hide_next = not equals and bool(_SECRET_FLAG.match(argument))
    return shown


def redacted(text: str, secrets: list[str]) -> str:
    """`text` with each of `secrets` replaced by `****`."""
    # Very short values would blank out half of every message and protect nothing.
    for secret in sorted((s for s in secrets if len(s) >= 6), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code == 0x0D:
        return "\\r"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
