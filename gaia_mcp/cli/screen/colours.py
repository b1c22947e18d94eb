"""JSON and Markdown in colours, for a terminal.

Adds only colour, so that text copied from the terminal is the server's. Uses only the sixteen standard colours, in the
shades that the user has chosen.
"""

from __future__ import annotations

import json
import re
from typing import Literal

Kind = Literal["text", "json", "markdown"]

RESET = "\x1b[0m"
BOLD, FAINT, ITALIC = "\x1b[1m", "\x1b[2m", "\x1b[3m"
RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN = (f"\x1b[{number}m" for number in range(31, 37))

# A text up to this size is parsed to detect its type; a larger one is judged by its beginning and end.
READ_CHARS = 100_000

# The patterns are bounded, or closed by the end of the text: a server's text must not cause repeated scans.
_JSON = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*"?)(?P<colon>\s*:)?|(?P<number>-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b)'
    r"|(?P<word>\b(?:true|false|null)\b)"
)
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s\S")
_QUOTE = re.compile(r"\s{0,3}>")
_MARKER = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])(?=\s)")
_INLINE = re.compile(
    r"(?P<code>(`{1,9})(?!`).{1,300}?(?<!`)\2(?!`))"
    r"|(?P<strong>\*\*(?=\S).{1,300}?(?<=\S)\*\*|\b__(?=\S).{1,300}?(?<=\S)__\b)"
    r"|(?P<emphasis>\*(?=[^\s*])[^*]{1,300}?(?<=\S)\*|\b_(?=\S)[^_]{1,300}?(?<=\S)_\b)"
    r"|(?P<link>!?\[[^\]]{0,300}\]\([^)\s]{0,1000}\))"
)
_INLINE_COLOURS = {"code": GREEN, "strong": BOLD, "emphasis": ITALIC, "link": BLUE}


def kind_of(text: str, mime_type: object = None) -> Kind:
    """The type of a text, from its MIME type, or otherwise detected from its content."""
    named = mime_type.partition(";")[0].strip().lower() if isinstance(mime_type, str) else ""
    if named == "application/json" or named.endswith("+json"):
        return "json"
    if named == "text/markdown":
        return "markdown"
    if named not in ("", "text/plain"):
        return "text"
    start = text.lstrip()[:READ_CHARS]
    if start[:1] in ("{", "["):
        return "json" if _is_json(text) else "text"
    is_markdown = _HEADING.match(start) or any(_FENCE.match(line) for line in text[:READ_CHARS].split("\n"))
    return "markdown" if is_markdown else "text"


def coloured(text: str, kind: Kind) -> str:
    """`text` in colours. It must not contain control characters."""
    if kind == "json":
        return _JSON.sub(_json_token, text)
    return "\n".join(_markdown_lines(text)) if kind == "markdown" else text


def _is_json(text: str) -> bool:
    if len(text) > READ_CHARS:
        return text.rstrip()[-1:] in ("}", "]")
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _json_token(found: re.Match[str]) -> str:
    if found["string"]:
        return f"{CYAN if found['colon'] else GREEN}{found['string']}{RESET}{found['colon'] or ''}"
    return f"{YELLOW if found['number'] else MAGENTA}{found[0]}{RESET}"


def _markdown_lines(text: str) -> list[str]:
    lines = []
    fence = ""
    for line in text.split("\n"):
        mark = found[1] if (found := _FENCE.match(line)) else ""
        if fence or mark:
            lines.append(f"{GREEN}{line}{RESET}" if line else line)
            fence = ("" if mark == fence else fence) if fence else mark
        elif _HEADING.match(line):
            lines.append(f"{BOLD}{MAGENTA}{line}{RESET}")
        elif _QUOTE.match(line):
            lines.append(f"{FAINT}{line}{RESET}")
        else:
            begun = _MARKER.match(line)
            marker = f"{begun[1]}{YELLOW}{begun[2]}{RESET}" if begun else ""
            lines.append(marker + _INLINE.sub(_inline, line[begun.end() if begun else 0 :]))
    return lines


def _inline(found: re.Match[str]) -> str:
    name = next(name for name in _INLINE_COLOURS if found[name])
    return f"{_INLINE_COLOURS[name]}{found[0]}{RESET}"
