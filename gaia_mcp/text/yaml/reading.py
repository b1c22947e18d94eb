"""Reads YAML as a plain value, or as nodes with their positions, and finds the lines of a node.

The expansion of aliases is limited.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

from gaia_mcp.text.strict_json import TextProblemError

# A few lines with nested aliases can expand to more than fits into memory. Aliases that only avoid repetition expand to
# little.
MAX_EXPANDED_CHARS = 1_000_000
# A quoted value with the white space before it; the group is its content if that is a single character or a token.
_QUOTED = r"""(?<!\s)\s*+(["'])(?:(.|\\.|<[^>"']*+>)|.*?)(?:\1|$)"""


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
    node = composed(text)
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
