"""The positions of the lines of a node in YAML text."""

from __future__ import annotations

from typing import Any


def is_empty(node: Any) -> bool:
    """Whether the node is null, written or empty."""
    return node.id == "scalar" and not node.style and node.value in ("", "~", "null")


def end_of(text: str, node: Any) -> int:
    """The end of a node's own text, without the comments and blank lines after it, which the parser includes."""
    while node.id != "scalar" and not node.flow_style and node.value:
        if node.id == "mapping":
            key, node = node.value[-1]
            if is_empty(node) and not node.value:
                return end_of_pair(text, key, node)
        else:
            node = node.value[-1]
    return len(text[: node.end_mark.index].rstrip())


def end_of_pair(text: str, key: Any, value: Any) -> int:
    """The end of a member of a mapping. The position of an empty value is wherever the parser stopped."""
    if is_empty(value) and not value.value:
        return text.index(":", key.end_mark.index) + 1
    return end_of(text, value)


def line_start(text: str, at: int) -> int:
    """The start of the line at this position."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The start of the next line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def indent_of(text: str, node: Any) -> str:
    """The indentation of the first line of a node."""
    line = text[line_start(text, node.start_mark.index) : node.start_mark.index]
    return line[: len(line) - len(line.lstrip(" "))]


def with_newline(text: str, newline: str) -> str:
    """`text` with a line ending at its end, unless it is empty."""
    return text if not text or text.endswith("\n") else text + newline
