"""A server's contract: the definitions of its tools in canonical form, their hashes, the differences of two contracts.

A contract contains the parts of a tool that a model or a user sees. The order of keys, `1` or `1.0`, null members,
icons and `_meta` are not part of it. Knows no file and no server.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from gaia_mcp.text import clean, cut
from gaia_mcp.text.strict_json import canonical, canonical_text, is_same
from gaia_mcp.toolspec.poisoning import visible

# Canonical definitions by the tools' names.
Contract: TypeAlias = dict[str, dict[str, Any]]

# In the order in which differences are shown.
PARTS = ("title", "description", "inputSchema", "outputSchema", "annotations")
TEXTS = ("title", "description")
# Deeper than usual schemas; below this level, two values are compared as a whole.
MAX_DEPTH = 40
# Longer texts are compared as a whole too: comparing so many lines would take minutes.
MAX_TEXT_LINES = 500
# The maximum length of a value on its own line, and the minimum of one that is compared word by word.
SHOWN_CHARS, SHORT_CHARS = 120, 60


class Undefinable(ValueError):  # noqa: N818 (it is caught where it is raised from, and never shown as an error)
    """A definition that has no canonical form: nested too deeply, or not JSON."""


class PartChange(NamedTuple):
    """The changes of one part of a tool, as lines of text."""

    part: str
    lines: tuple[str, ...]


class ToolChange(NamedTuple):
    """The difference of one tool between two contracts: `kind` is "added", "removed" or "changed". `breaks` are the
    reasons why it may break a caller, if it was judged by them.
    """

    tool: str
    kind: str
    parts: tuple[PartChange, ...] = ()
    breaks: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.breaks:
            more = f" and {len(self.breaks) - 1} more" if len(self.breaks) > 1 else ""
            return f"'{_plain(self.tool)}' is breaking ({self.breaks[0]}{more})"
        if self.kind != "changed":
            return f"'{_plain(self.tool)}' {self.kind}"
        return f"'{_plain(self.tool)}' changed ({', '.join(change.part for change in self.parts)})"


def canonical_tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a definition that belong to the contract, in canonical form. Raises `Undefinable`."""
    kept = {part: definition[part] for part in ("name", *PARTS) if definition.get(part) is not None}
    try:
        found: dict[str, Any] = canonical(kept)
    except (RecursionError, TypeError, ValueError) as cause:
        raise Undefinable(str(cause) or "nested too deeply") from cause
    return found


def contract_of(definitions: Iterable[Mapping[str, Any]]) -> Contract:
    """The contract of a server with these tools. Raises `Undefinable`."""
    return {definition["name"]: canonical_tool(definition) for definition in definitions}


def fingerprint(tool: Mapping[str, Any]) -> str:
    """The hash of a canonical definition."""
    return f"sha256:{hashlib.sha256(canonical_text(tool).encode('ascii')).hexdigest()}"


def differences(then: Contract, now: Contract) -> list[ToolChange]:
    """The differences of `now` from `then`, by the tools' names."""
    found = (tool_difference(name, then.get(name), now.get(name)) for name in sorted({*then, *now}))
    return [change for change in found if change is not None]


def tool_difference(name: str, then: dict[str, Any] | None, now: dict[str, Any] | None) -> ToolChange | None:
    """The difference of one tool, None if there is none. A missing tool has the definition None."""
    if then is None or now is None:
        return None if then is now else ToolChange(name, "added" if then is None else "removed")
    parts = tuple(
        PartChange(part, tuple(_part_lines(part, then.get(part), now.get(part))))
        for part in PARTS
        if not is_same(_promised(part, then), _promised(part, now))
    )
    return ToolChange(name, "changed", parts) if parts else None


def _promised(part: str, tool: Mapping[str, Any]) -> Any:
    """A part of a canonical definition without meaningless members: an input schema's empty properties."""
    value = tool.get(part)
    if part == "inputSchema" and isinstance(value, dict) and value.get("properties") == {}:
        return {key: item for key, item in value.items() if key != "properties"}
    return value


def as_objects(changes: Sequence[ToolChange]) -> list[dict[str, Any]]:
    """The changes as JSON objects."""
    return [
        {
            "tool": change.tool,
            "kind": change.kind,
            **({"breaking": list(change.breaks)} if change.breaks else {}),
            "parts": [{"part": part.part, "lines": list(part.lines)} for part in change.parts],
        }
        for change in changes
    ]


def as_lines(changes: Iterable[Mapping[str, Any]]) -> list[str]:
    """The result of `as_objects` as lines of text, indented below their tool and part."""
    lines = []
    for change in changes:
        lines.append(f"{change['kind']} {_plain(change['tool'])}")
        lines += [f"  breaking: {_plain(reason)}" for reason in change.get("breaking", ())]
        for part in change["parts"]:
            lines += [f"  {part['part']}", *(f"    {line}" for line in part["lines"])]
    return lines


def _part_lines(part: str, then: Any, now: Any) -> Iterator[str]:
    if part in TEXTS and isinstance(then, str) and isinstance(now, str):
        return _text_lines(then, now)
    if not (isinstance(then, dict) and isinstance(now, dict)):
        return iter(_whole(then, now))
    return _value_lines("", then, now, 0)


def _value_lines(where: str, then: Any, now: Any, depth: int) -> Iterator[str]:
    """The paths below `where` at which two values differ, each with the old and the new value."""
    if is_same(then, now):
        return
    if depth < MAX_DEPTH and isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}):
            inner = f"{where}.{_plain(key)}" if where else _plain(key)
            if key not in then:
                yield f"+ {inner}: {_shown(now[key])}"
            elif key not in now:
                yield f"- {inner}: {_shown(then[key])}"
            else:
                yield from _value_lines(inner, then[key], now[key], depth + 1)
    elif depth < MAX_DEPTH and isinstance(then, list) and isinstance(now, list) and _is_deep(then, now):
        for number, (old, new) in enumerate(zip(then, now, strict=True)):
            yield from _value_lines(f"{where}[{number}]", old, new, depth + 1)
    elif isinstance(then, str) and isinstance(now, str) and max(len(then), len(now)) > SHORT_CHARS:
        yield f"~ {where}:"
        for line in _text_lines(then, now):
            yield f"  {line}"
    else:
        old, new = (_plain(json.dumps(value, ensure_ascii=False)) for value in (then, now))
        # A common beginning is left out if it would leave no room for the difference.
        shared = max(0, _common(old, new) - SHORT_CHARS)
        yield f"~ {where}: {_cut(old, shared)} → {_cut(new, shared)}"


def _common(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _is_deep(then: list[Any], now: list[Any]) -> bool:
    return len(then) == len(now) and all(isinstance(item, dict) for item in [*then, *now])


def _whole(then: Any, now: Any) -> list[str]:
    lines = [] if then is None else [f"- {line}" for line in _lines(then)]
    return lines + ([] if now is None else [f"+ {line}" for line in _lines(now)])


def _lines(value: Any) -> list[str]:
    return [_plain(line) for line in value.split("\n")] if isinstance(value, str) else [_shown(value)]


def _text_lines(then: str, now: str) -> Iterator[str]:
    """The lines in which two texts differ, each with one line before and after it, as `diff` shows them."""
    old, new = ([_plain(line.rstrip()) for line in text.split("\n")] for text in (then, now))
    if max(len(old), len(new)) > MAX_TEXT_LINES:
        yield f"~ {len(old)} lines → {len(new)} lines, compared as a whole"
        return
    if old == new:
        yield "~ only in invisible characters, such as line ends"
        return
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        if not line.startswith("@@"):
            yield f"{line[0]} {line[1:]}".rstrip()


def _shown(value: Any) -> str:
    return _cut(_plain(json.dumps(value, ensure_ascii=False)))


def _plain(text: str) -> str:
    """`text` in one line, with control characters and invisible ones written as escapes."""
    return clean(visible(text)).replace("\n", "\\n")


def _cut(text: str, start: int = 0) -> str:
    return ("…" if start else "") + cut(text[start:], SHOWN_CHARS)
