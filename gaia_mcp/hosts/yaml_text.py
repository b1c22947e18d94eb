"""YAML: read, and changed in one item, every other character kept.

The reader knows where the items are, and the lines of one are replaced. An item within braces is refused.
"""

from __future__ import annotations

from typing import Any

from gaia_mcp.jsontext import TextProblemError
from gaia_mcp.yamltext.editing import item_lines, mapping_lines, on_one_line
from gaia_mcp.yamltext.reading import composed, end_of, indent_of, line_end, line_start, with_newline


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
