"""Where in a YAML text the lines of a node begin and end."""

from __future__ import annotations

from typing import Any


def is_empty(node: Any) -> bool:
    """Whether it is a null: written as such, or by nothing."""
    return node.id == "scalar" and not node.style and node.value in ("", "~", "null")


def end_of(text: str, node: Any) -> int:
    """Where a node's own text ends: not the comments and blank lines behind it, which the reader counts in."""
    while node.id != "scalar" and not node.flow_style and node.value:
        if node.id == "mapping":
            key, node = node.value[-1]
            if is_empty(node) and not node.value:
                return end_of_pair(text, key, node)
        else:
            node = node.value[-1]
    return len(text[: node.end_mark.index].rstrip())


def end_of_pair(text: str, key: Any, value: Any) -> int:
    """Where a member of a mapping ends. The place of an empty value is wherever the reader got to."""
    if is_empty(value) and not value.value:
        return text.index(":", key.end_mark.index) + 1
    return end_of(text, value)


def line_start(text: str, at: int) -> int:
    """Where the line of this place begins."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Where the next line begins."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def indent_of(text: str, node: Any) -> str:
    """The spaces that the first line of a node begins with."""
    line = text[line_start(text, node.start_mark.index) : node.start_mark.index]
    return line[: len(line) - len(line.lstrip(" "))]


def with_newline(text: str, newline: str) -> str:
    """`text`, unless it is empty, with the end of its last line."""
    return text if not text or text.endswith("\n") else text + newline
