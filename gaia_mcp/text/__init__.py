"""Texts, and what they may contain: JSON, JSON with comments, TOML and YAML, changed so that every other character
stays; URI templates; secrets. Pure.

Here untrusted text is made safe to display: without control characters or endless lines. The code that prints decides
when to use it.
"""

from __future__ import annotations

import re

from gaia_mcp.text.strict_json import escaped

MASK = "****"
# C0 without tab and newline, DEL, C1, and the marks that reorder or hide text on a terminal. The two joiners stay:
# scripts and emoji are written with them.
# None of them is printable. Patterns are compiled when they are used: most texts need none.
_UNSAFE = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_SURROGATE = "[\ud800-\udfff]"
# Where a description begins; the rest may be long.
_FEW_LINES = 4


def clean(text: str) -> str:
    """`text` with every control, direction and invisible character written as an escape such as `\\x1b`."""
    return text if text.isprintable() else re.sub(_UNSAFE, lambda found: escape(found[0]), text.replace("\r\n", "\n"))


def clean_json(text: str) -> str:
    """JSON with the same characters written as JSON's own escapes: the same value, safe to show."""
    return escaped(text, re.compile(_UNSAFE))


def one_line(text: str, limit: int = 200) -> str:
    """The first `limit` characters of `text` on one line, cleaned, ending in `…` if something was cut."""
    flat = " ".join(clean(text[: limit * 4]).split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def first_line(text: object) -> str:
    """The first line of a description; empty if it has none. A line that contains only a tag, such as `<Purpose>`, is
    skipped if another follows.
    """
    lines = [line.strip() for line in text.strip().split("\n", _FEW_LINES)] if isinstance(text, str) else [""]
    return next((line for line in lines[:_FEW_LINES] if line and not _is_tag(line)), lines[0])


def _is_tag(line: str) -> bool:
    return line.startswith("<") and line.endswith(">") and " " not in line


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, ending in `…` if something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut_middle(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, with `…` for its middle: the end of an error message is important."""
    begin = limit // 3
    return text if len(text) <= limit else f"{text[:begin]}…{text[len(text) - (limit - begin - 1) :]}"


def encodable(text: str) -> str:
    """`text` without lone surrogates, which no encoding can carry."""
    return text if text.isprintable() else re.sub(_SURROGATE, "\ufffd", text)


def escape(character: str) -> str:
    """`character` as the escape that a Python or JavaScript string would have for it, such as `\\x1b`."""
    code = ord(character)
    if code == 0x0D:
        return "\\r"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
