"""YAML: read, and changed in one item, every other character kept.

The reader knows where the items are, and the lines of one are replaced. An item within braces is refused.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from gaia_mcp.hosts.problems import TextProblemError

# What every reader of every version of YAML takes for the same text without quotes.
_PLAIN = re.compile(r"[A-Za-z_/@.][\w./@+-]*(?: [A-Za-z][\w./@+-]*)*", re.ASCII)
_NOT_PLAIN = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|\.nan|\.inf|@.*|\.+|[.\d_]+(?:e\d*)?)", re.IGNORECASE)

# A few lines with aliases within aliases can stand for more than any memory holds. Where they are used to write
# something once, it is a few lines as well.
MAX_EXPANDED_CHARS = 1_000_000


def parse(text: str) -> Any:
    """The document, None if there is none. Raises `TextProblemError`."""
    if "*" in text:
        _composed(text)  # Only an alias can make a circle, or a value that is much larger than its text.
    return _guarded(_reader("safe").load, text)


def with_item(text: str, root: str, name: str, value: dict[str, Any], *, listed: bool) -> str:
    """`text` with `value` as the item `name` of `root`, in place of the one that is there, else behind the others.
    The caller checks the result by reading it again.

    With `listed`, `root` is a list whose items have their names as a member. Raises `TextProblemError`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"

    def lines(indent: str) -> str:
        item = _listed(value, indent) if listed else _mapping({name: value}, indent)
        return "".join(line + newline for line in item)

    document = _composed(text)
    pairs = document.value if document is not None else []
    if document is not None and document.id != "mapping":
        raise TextProblemError("does not hold a mapping", at=document.start_mark.index)
    held = next((pair for pair in pairs if pair[0].value == root), None)
    if held is None:
        return f"{_ended(text, newline)}{_scalar(root)}:{newline}{lines('' if listed else '  ')}"
    key, servers = held
    if not servers.value or servers.value in ("null", "~"):
        # An empty value's place is wherever the reader got to; it has no text to be taken away.
        end = servers.end_mark.index if servers.value or servers.id != "scalar" else key.end_mark.index + 1
        empty = text[: key.end_mark.index + 1] + text[end:]
        at = _line_end(empty, key.end_mark.index)
        return _ended(empty[:at], newline) + lines("" if listed else _indent_of(text, key) + "  ") + empty[at:]
    if servers.id == "scalar" or (servers.id == "sequence") is not listed:
        raise TextProblemError(f"{root!r} is not a {'list' if listed else 'mapping'}", at=servers.start_mark.index)
    if servers.flow_style:
        problem = f"{root!r} is written within brackets, where nothing can be changed without changing its form"
        raise TextProblemError(problem, at=servers.start_mark.index)
    for item in servers.value:
        first, last = (item, item) if listed else item
        if (_name_of(item) if listed else first.value) == name:
            start, end = _line_start(text, first.start_mark.index), _line_end(text, _end(text, last))
            return text[:start] + lines(_indent_of(text, first)) + text[end:]
    item = servers.value[-1]
    first, last = (item, item) if listed else item
    end = _line_end(text, _end(text, last))
    return _ended(text[:end], newline) + lines(_indent_of(text, first)) + text[end:]


def _composed(text: str) -> Any:
    """The document as nodes that know their places, None if there is none. No node holds itself, and with all aliases
    replaced by what they stand for it has `MAX_EXPANDED_CHARS` more than it has now at the most.
    """
    document = _guarded(_reader("rt").compose, text)
    circle = _circle(document, frozenset(), set())
    if circle is not None:
        problem = (
            f"the anchor {circle.anchor!r} refers to itself: it cannot be read, and the rest cannot be changed alone"
        )
        raise TextProblemError(problem, at=circle.start_mark.index)
    sizes: dict[int, int] = {}
    if _expanded(document, sizes) > len(text) + MAX_EXPANDED_CHARS:
        problem = f"has aliases within aliases, which stand for more than {MAX_EXPANDED_CHARS} characters"
        raise TextProblemError(problem, at=0)
    return document


def _circle(node: Any, above: frozenset[int], known: set[int]) -> Any:
    """A node that holds itself, None if there is none in `node`."""
    if id(node) in above:
        return node
    if node is None or node.id == "scalar" or id(node) in known:
        return None
    known.add(id(node))
    above |= {id(node)}
    for part in itertools.chain.from_iterable(node.value) if node.id == "mapping" else node.value:
        circle = _circle(part, above, known)
        if circle is not None:
            return circle
    return None


def _expanded(node: Any, sizes: dict[int, int]) -> int:
    """The characters of a node, with its aliases replaced; one for each that is not a scalar. `sizes` are those known
    already, by the identity of the nodes.
    """
    if node is None or node.id == "scalar":
        return 1 + len(node.value) if node is not None else 0
    if id(node) not in sizes:
        parts = itertools.chain.from_iterable(node.value) if node.id == "mapping" else node.value
        sizes[id(node)] = 1 + sum(_expanded(part, sizes) for part in parts)
    return sizes[id(node)]


def _reader(kind: str) -> Any:
    from ruamel.yaml import YAML

    reader = YAML(typ=kind, pure=True)
    # An anchor may be given again, and Python's warning of it would stand among our remarks.
    reader.composer.warn_double_anchors = False
    return reader


def _guarded(read: Any, text: str) -> Any:
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return read(text)
    except MarkedYAMLError as cause:
        mark = cause.problem_mark or cause.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        raise TextProblemError(f"not YAML: {cause.problem or cause.context}", line=line, column=column) from cause
    except YAMLError as cause:
        raise TextProblemError(f"not YAML: {str(cause).splitlines()[0]}") from cause
    except RecursionError as cause:
        raise TextProblemError("is nested too deeply") from cause
    except ValueError as cause:  # A date that does not exist, a number with more digits than Python reads.
        raise TextProblemError(f"not YAML: {cause}") from cause


def _name_of(item: Any) -> str | None:
    if item.id != "mapping":
        return None
    return next((value.value for key, value in item.value if key.value == "name"), None)


def _end(text: str, node: Any) -> int:
    """Where a node's own text ends: not the comments and blank lines behind it, which the reader counts in."""
    while node.id != "scalar" and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if node.id == "mapping" else last
    return len(text[: node.end_mark.index].rstrip())


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Where the next line begins."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _indent_of(text: str, node: Any) -> str:
    line = text[_line_start(text, node.start_mark.index) : node.start_mark.index]
    return line[: len(line) - len(line.lstrip(" "))]


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _mapping(value: dict[str, Any], indent: str) -> Iterator[str]:
    for key, held in value.items():
        if isinstance(held, dict) and held:
            yield f"{indent}{_scalar(key)}:"
            yield from _mapping(held, indent + "  ")
        elif isinstance(held, list) and held:
            yield f"{indent}{_scalar(key)}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in held)
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(held)}"


def _listed(value: dict[str, Any], indent: str) -> Iterator[str]:
    for number, line in enumerate(_mapping(value, "")):
        yield f"{indent}{'  ' if number else '- '}{line}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value):
        return value
    if isinstance(value, date):
        return value.isoformat()
    # JSON is YAML too, and an escape never wrong. What JSON has no word for becomes text, which the caller notices.
    return "".join(
        character if character.isprintable() else _escaped(character)
        for character in json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
