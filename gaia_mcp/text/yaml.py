"""YAML as text: reads it as a plain value, or as nodes with their positions, and sets or removes single values; every
other line is unchanged, to the last byte.

The expansion of aliases is limited. A new value is written in block style, a list in a list as JSON. A value keeps its
form, on one line or on lines of its own. Every result is read back, and must differ only in the requested changes;
otherwise the change is refused.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import pairwise
from typing import Any, Final, NamedTuple

from gaia_mcp.text.strict_json import TextProblemError

# Texts that every YAML parser reads as the same string without quotes.
_PLAIN = re.compile(r"[A-Za-z_/@.][\w./@+-]*(?: [A-Za-z][\w./@+-]*)*", re.ASCII)
_NOT_PLAIN = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|\.nan|\.inf|@.*|\.+|[.\d_]+(?:e\d*)?)", re.IGNORECASE)
# A few lines with nested aliases can expand to more than fits into memory. Aliases that only avoid repetition expand to
# little.
MAX_EXPANDED_CHARS = 1_000_000
# A quoted value with the white space before it; the group is its content if that is a single character or a token.
_QUOTED = r"""(?<!\s)\s*+(["'])(?:(.|\\.|<[^>"']*+>)|.*?)(?:\1|$)"""


class _Removed:
    """The value of a removed item."""

    def __repr__(self) -> str:
        return "REMOVED"


class Change(NamedTuple):
    """The new value at a path, or `REMOVED`. In a path, a string is a key of a mapping, a number an index of a list;
    the index after the last one adds an item.
    """

    path: tuple[str | int, ...]
    value: Any


def edited(text: str, changes: Iterable[Change]) -> str:
    """`text` with these changes, applied in order. Missing mappings and lists along a path are created.

    Raises `TextProblemError` for a text that cannot be read, or if a change would affect other values.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    new = before = text
    made: list[str] = []
    try:
        held = {"": plain(parse(text))}
        for change in changes:
            made.append(".".join(str(step) for step in change.path))
            before = new
            new = _changed(before, change, newline)
            _apply(held, change)
    except TextProblemError as problem:
        if before != text and problem.at is None:
            raise _refused(made[:-1]) from problem  # The text that was made cannot be read.
        raise problem.placed(before) from problem.__cause__
    # A text may have a form that we cannot change correctly, so the result is read back.
    try:
        is_as_expected = (parse(new) or {}) == (held[""] or {})
    except TextProblemError as problem:
        raise _refused(made) from problem
    if not is_as_expected:
        raise _refused(made)
    return new


def _refused(paths: list[str]) -> TextProblemError:
    named = ", ".join(repr(path) for path in paths)
    return TextProblemError(f"{named}: written in a form in which nothing can be changed without changing more")


def plain(value: Any) -> Any:
    """A deep copy, in which values that are shared by aliases are separate."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    return [plain(held) for held in value] if isinstance(value, list) else value


class _Slot(NamedTuple):
    """A node and its position: at `number` in the node of `holder`, with the node of its key if that is a mapping."""

    node: Any
    holder: _Slot | None = None
    number: int = 0
    key: Any = None


def _changed(text: str, change: Change, newline: str) -> str:
    document = composed(text)
    is_removed = isinstance(change.value, _Removed)
    if document is None:
        return text if is_removed else with_newline(text, newline) + _block(_nested(*change), 0, newline)
    slot = _Slot(document)
    for depth, step in enumerate(change.path):
        inner = _child(slot, step)
        if inner is None:
            return text if is_removed else _with_new(text, slot, change.path[depth:], change.value, newline)
        slot = inner
    return _without(text, slot, newline) if is_removed else _with(text, slot, change.value, newline)


def _child(slot: _Slot, step: str | int) -> _Slot | None:
    node = slot.node
    if node.id == "mapping" and isinstance(step, str):
        for number, (key, value) in enumerate(node.value):
            if key.id == "scalar" and key.value == step:
                return _Slot(value, slot, number, key)
    elif node.id == "sequence" and isinstance(step, int) and step < len(node.value):
        return _Slot(node.value[step], slot, step)
    return None


def _with_new(text: str, slot: _Slot, path: tuple[str | int, ...], value: Any, newline: str) -> str:
    """`text` with a new member or item in the node of `slot`."""
    node, step = slot.node, path[0]
    new = _nested(path, value)
    if is_empty(node) or (node.id != "scalar" and node.flow_style and not node.value):
        return _with(text, slot, new, newline)
    if node.id != ("mapping" if isinstance(step, str) else "sequence"):
        kind = "mapping" if isinstance(step, str) else "list"
        raise TextProblemError(f"is not a {kind}, which is needed here", at=node.start_mark.index)
    if node.flow_style:
        last = node.value[-1][1] if isinstance(step, str) else node.value[-1]
        added = on_one_line(new)[1:-1]
        return f"{text[: last.end_mark.index]}, {added}{text[last.end_mark.index :]}"
    first = node.value[0][0] if isinstance(step, str) else node
    at = line_end(text, end_of(text, node))
    return with_newline(text[:at], newline) + _block(new, first.start_mark.column, newline) + text[at:]


def _with(text: str, slot: _Slot, value: Any, newline: str) -> str:
    """`text` with the node of `slot` replaced by another value."""
    node, holder, key = slot.node, slot.holder, slot.key
    is_block = node.id != "scalar" and not node.flow_style
    begin, end = node.start_mark.index, end_of(text, node)
    if holder is None or (key is None and is_block):
        raise TextProblemError("is written in a form that cannot be changed", at=begin)
    if node.id != "scalar" and not is_block:
        _refuse_comments(text, begin, end)
    if key is None or holder.node.flow_style:
        return text[:begin] + on_one_line(value) + text[end:]
    colon = _after_colon(text, key)
    if is_empty(node) and not node.value:
        behind = text[colon:]
    elif not is_block:
        behind = text[end:]
    elif (lines := line_start(text, begin)) > colon:
        behind = text[colon:lines] + text[line_end(text, end) :]
    else:
        raise TextProblemError("has an anchor or a tag, which would be lost", at=begin)
    if not _needs_lines(value):
        return f"{text[:colon]} {on_one_line(value)}{behind}"
    rest = behind[: line_end(behind, 0)]
    block = _block(value, key.start_mark.column + 2, newline)
    return text[:colon] + rest.rstrip() + newline + block + behind[len(rest) :]


def _without(text: str, slot: _Slot, newline: str) -> str:
    """`text` without the node of `slot`, and its key."""
    holder = slot.holder
    assert holder is not None  # noqa: S101 (a path has a step)
    held = holder.node.value
    if len(held) == 1 and holder.holder is not None:
        return _with(text, holder, {} if slot.key is not None else [], newline)
    begins = [(each[0] if slot.key is not None else each).start_mark.index for each in held]
    begin, end = begins[slot.number], end_of(text, slot.node)
    if slot.key is not None:
        end = end_of_pair(text, slot.key, slot.node)
    is_last = slot.number == len(held) - 1
    if holder.node.flow_style:
        before = held[slot.number - 1][1] if slot.key is not None else held[slot.number - 1]
        start, stop = (before.end_mark.index, end) if is_last else (begin, begins[slot.number + 1])
        _refuse_comments(text, start, stop)
        return text[:start] + text[stop:]
    if slot.key is None:
        begin = _dash_of(text, begin, holder.node.start_mark.column)
    start = line_start(text, begin)
    if not text[start:begin].strip(" "):
        return text[:start] + text[line_end(text, end) :]
    # The first member of an item follows its dash; the next member takes its place.
    if not is_last and not text[line_end(text, end) : begins[slot.number + 1]].strip():
        return text[:begin] + text[begins[slot.number + 1] :]
    return text[:begin].rstrip() + newline + text[line_end(text, end) :]


def _refuse_comments(text: str, begin: int, end: int) -> None:
    """Raise `TextProblemError` if this part of a flow value may contain a comment."""
    if "\n" in text[begin:end] and "#" in text[begin:end]:
        raise TextProblemError("has comments within its brackets, which would be lost", at=begin)


def _dash_of(text: str, begin: int, column: int) -> int:
    """The position of the dash of an item whose value begins at `begin`."""
    start = line_start(text, begin)
    while text[start : start + column + 1] != " " * column + "-":
        if start == 0:
            raise TextProblemError("is written in a form that cannot be changed", at=begin)
        start = line_start(text, start - 1)
    return start + column


def _nested(path: tuple[str | int, ...], value: Any) -> Any:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _needs_lines(value: Any) -> bool:
    """Whether a value is written on several lines. A list of scalars is written on one, as in `stages: ["build"]`."""
    if isinstance(value, list):
        return any(isinstance(held, (dict, list)) and held for held in value)
    return isinstance(value, dict) and bool(value)


def _block(value: Any, column: int, newline: str) -> str:
    return "".join(line + newline for line in lines_of(value, " " * column))


def _apply(holder: dict[str, Any], change: Change) -> None:
    """Apply the change to the value of a text, which is the only member of `holder`."""
    held: Any = holder
    steps: tuple[str | int, ...] = ("", *change.path)
    if isinstance(change.value, _Removed):
        for step in steps[:-1]:
            held = held[step] if _holds(held, step) else None
        if _holds(held, steps[-1]):
            del held[steps[-1]]
        return
    for step, inner in pairwise(steps):
        if isinstance(step, str) and not held.get(step):
            held[step] = {} if isinstance(inner, str) else []
        elif isinstance(step, int) and step == len(held):
            held.append({} if isinstance(inner, str) else [])
        held = held[step]
    last = steps[-1]
    if isinstance(last, int) and last == len(held):
        held.append(plain(change.value))
    else:
        held[last] = plain(change.value)


def _holds(held: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(held, list) and step < len(held)
    return isinstance(held, dict) and step in held


def mapping_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping in block style, without line endings."""
    for key, held in value.items():
        if isinstance(held, dict) and held:
            yield f"{indent}{on_one_line(key)}:"
            yield from mapping_lines(held, indent + "  ")
        elif isinstance(held, list) and held:
            yield f"{indent}{on_one_line(key)}:"
            yield from list_lines(held, indent + "  ")
        else:
            yield f"{indent}{on_one_line(key)}: {on_one_line(held)}"


def list_lines(value: list[Any], indent: str) -> Iterator[str]:
    """The lines of a list in block style, without line endings."""
    for held in value:
        if isinstance(held, dict) and held:
            yield from item_lines(held, indent)
        else:
            yield f"{indent}- {on_one_line(held)}"


def lines_of(value: dict[str, Any] | list[Any], indent: str) -> Iterator[str]:
    """The lines of a mapping or a list in block style, without line endings."""
    return mapping_lines(value, indent) if isinstance(value, dict) else list_lines(value, indent)


def item_lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    """The lines of a mapping as an item of a list in block style, without line endings."""
    for number, line in enumerate(mapping_lines(value, "")):
        yield f"{indent}{'  ' if number else '- '}{line}"


def on_one_line(value: Any) -> str:
    """Any value on one line: unquoted if every parser reads it as that string, else as JSON."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_PLAIN.fullmatch(value):
        return value
    if isinstance(value, date):
        return value.isoformat()
    # JSON is valid YAML, and escapes are always correct. A value that JSON lacks becomes text; the caller detects it.
    return "".join(
        character if character.isprintable() else _escaped(character)
        for character in json.dumps(value, ensure_ascii=False, default=str)
    )


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def with_item(text: str, root: str, name: str, value: dict[str, Any], *, listed: bool) -> str:
    """`text` with `value` as the item `name` of `root`, in place of the one that is there, else behind the others.
    The caller checks the result by reading it again.

    With `listed`, `root` is a list whose items have their names as a member. Raises `TextProblemError`.
    """
    newline = "\r\n" if "\r\n" in text else "\n"

    def lines(indent: str) -> str:
        item = item_lines(value, indent) if listed else mapping_lines({name: value}, indent)
        return "".join(line + newline for line in item)

    document = composed(text)
    pairs = document.value if document is not None else []
    if document is not None and document.id != "mapping":
        raise TextProblemError("does not hold a mapping", at=document.start_mark.index)
    held = next((pair for pair in pairs if pair[0].value == root), None)
    if held is None:
        return f"{with_newline(text, newline)}{on_one_line(root)}:{newline}{lines('' if listed else '  ')}"
    key, servers = held
    if not servers.value or servers.value in ("null", "~"):
        # An empty value's place is wherever the reader got to; it has no text to be taken away.
        end = servers.end_mark.index if servers.value or servers.id != "scalar" else key.end_mark.index + 1
        empty = text[: key.end_mark.index + 1] + text[end:]
        at = line_end(empty, key.end_mark.index)
        return with_newline(empty[:at], newline) + lines("" if listed else indent_of(text, key) + "  ") + empty[at:]
    if servers.id == "scalar" or (servers.id == "sequence") is not listed:
        raise TextProblemError(f"{root!r} is not a {'list' if listed else 'mapping'}", at=servers.start_mark.index)
    if servers.flow_style:
        problem = f"{root!r} is written within brackets, where nothing can be changed without changing its form"
        raise TextProblemError(problem, at=servers.start_mark.index)
    for item in servers.value:
        first, last = (item, item) if listed else item
        if (_name_of(item) if listed else first.value) == name:
            start, end = line_start(text, first.start_mark.index), line_end(text, end_of(text, last))
            return text[:start] + lines(indent_of(text, first)) + text[end:]
    item = servers.value[-1]
    first, last = (item, item) if listed else item
    end = line_end(text, end_of(text, last))
    return with_newline(text[:end], newline) + lines(indent_of(text, first)) + text[end:]


def _name_of(item: Any) -> str | None:
    if item.id != "mapping":
        return None
    return next((value.value for key, value in item.value if key.value == "name"), None)


def parse(text: str) -> Any:
    """The document, None if there is none. Raises `TextProblemError`."""
    if "*" in text:
        composed(text)  # Only an alias can create a cycle, or a value that is much larger than its text.
    return _guarded(_reader("safe").load, text)


def composed(text: str) -> Any:
    """The document as nodes with their positions, None if there is none. No node contains itself, and the expansion of
    all aliases adds at most `MAX_EXPANDED_CHARS`.
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
    """A node in `node` that contains itself, None if there is none."""
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
    """The number of characters of a node with its aliases expanded; a node that is not a scalar adds one. `sizes` are
    the known numbers, by the identity of the nodes.
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
    # A document may redefine an anchor, and Python's warning would appear among our remarks.
    reader.composer.warn_double_anchors = False
    return reader


def _guarded(read: Any, text: str) -> Any:
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return read(text)
    except MarkedYAMLError as cause:
        mark = cause.problem_mark or cause.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
        problem = _without_values(str(cause.problem or cause.context))
        raise TextProblemError(f"not YAML: {problem}", line=line, column=column) from cause
    except YAMLError as cause:
        raise TextProblemError(f"not YAML: {_without_values(str(cause).splitlines()[0])}") from cause
    except RecursionError as cause:
        raise TextProblemError("is nested too deeply") from cause
    except ValueError as cause:  # A date that does not exist, a number with more digits than Python reads.
        raise TextProblemError(f"not YAML: {_without_values(str(cause))}") from cause
    except (ArithmeticError, AttributeError, LookupError, TypeError) as cause:  # Invalid content of a tag like !!bool.
        raise TextProblemError("not YAML: a value is not of the type that its tag tells") from cause


def _without_values(problem: str) -> str:
    """The parser's message without the values that it quotes, since one may be a secret."""
    problem = problem.partition(" with value ")[0]
    if problem.startswith("found duplicate key "):
        return problem
    # A single character is kept, also as `\\t`, and so is the name of a token, such as `<block end>`.
    return re.sub(_QUOTED, lambda match: match[0] if match[2] else "", problem)


def offset_of(text: str, path: tuple[str | int, ...]) -> int:
    """The position of the value at a path of a document, or of the deepest existing value along the path."""
    return offset_in(composed(text), path)


def offset_in(node: Any, path: tuple[str | int, ...]) -> int:
    """As `offset_of`, in a document that has been `composed`."""
    for step in path:
        if node.id == "mapping":
            inner = next((value for key, value in node.value if key.value == step), None)
        else:
            inner = node.value[step] if isinstance(step, int) and step < len(node.value) else None
        if inner is None:
            break
        node = inner
    return int(node.start_mark.index)


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
        return _after_colon(text, key)
    return end_of(text, value)


def _after_colon(text: str, key: Any) -> int:
    """The position after the colon of a key. Raises `TextProblemError` for one without a colon, such as `? key`."""
    colon = text.find(":", key.end_mark.index)
    if colon < 0:
        raise TextProblemError("has a key without a colon, and cannot be changed", at=key.start_mark.index)
    return colon + 1


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


REMOVED: Final = _Removed()
