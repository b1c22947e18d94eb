"""Repairs the results of a server behind a gateway, since a strict client drops a whole result for one invalid member,
although the tool has run.

Null counts as an empty list, one block as a list of one, a text as a text block. An invalid block becomes its JSON as
text, an optional member of a wrong type is left out. Unknown types and members are passed on unchanged.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.server.blocks import checked_block, checked_contents
from gaia_mcp.server.definitions import well_typed
from gaia_mcp.server.provider import ResultError

if TYPE_CHECKING:
    from gaia_mcp.server.definitions import Note

Wire = dict[str, Any]

# The content of a result of a tool that has none.
NO_CONTENT: list[Wire] = []
# The types of content blocks. Those of a later revision are not known here, and not judged.
_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})


def repaired_result(method: str, params: Wire, result: Wire, note: Note) -> Wire:
    """The complete result of a request in valid form; `result` itself if it is. Repairs are reported to `note`, in the
    same words for each result of the same tool.
    """
    name = params.get("name") if isinstance(params.get("name"), str) else method
    owner = f"a result of {name!r}"
    found = {**result}
    if not isinstance(found.get("_meta", {}), dict):
        note(f"{owner}: _meta is not an object, and is left out")
        del found["_meta"]
    if method == "tools/call":
        found["content"] = _blocks(result["content"], owner, note) if "content" in result else NO_CONTENT
        if not isinstance(failed := found.get("isError", False), bool):
            # A failure must not be shown as a success.
            found["isError"] = failed in (1, "true")
    elif method == "prompts/get":
        found["messages"] = [
            message for each in _as_list(result.get("messages")) for message in _messages(each, owner, note)
        ]
    elif method == "resources/read":
        contents = [_contents(each, params.get("uri"), owner, note) for each in _as_list(result.get("contents"))]
        found["contents"] = [each for each in contents if each is not None]
    elif method == "completion/complete":
        completion = result.get("completion")
        completion = completion if isinstance(completion, dict) else {}
        values = [value for value in _as_list(completion.get("values")) if isinstance(value, str)]
        found["completion"] = {**completion, "values": values}
    return result if found == result else found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _blocks(content: Any, owner: str, note: Note) -> list[Wire]:
    return [_block(block, owner, note) for block in _as_list(content) if block is not None]


def _block(block: Any, owner: str, note: Note) -> Wire:
    """A content block in valid form."""
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type") if isinstance(block, dict) else None
    if isinstance(kind, str) and kind not in _BLOCKS:
        return block  # type: ignore[no-any-return]
    try:
        if isinstance(kind, str):
            block = well_typed(owner, block, note)
            if kind == "resource" and isinstance(inner := block.get("resource"), dict):
                block["resource"] = well_typed(owner, inner, note)
            elif kind == "resource_link" and block.get("uri"):
                block.setdefault("name", block["uri"])
        return checked_block(block, owner)
    except ResultError:
        note(
            f"{owner}: a block {f'of the type {kind}' if kind else 'without a type'} is invalid, and is passed as text"
        )
        return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}


def _messages(message: Any, owner: str, note: Note) -> list[Wire]:
    """A prompt's message in valid form: one for each of its blocks. Empty, with a note, if it is not a message."""
    if isinstance(message, str):
        message = {"role": "user", "content": message}
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        note(f"{owner}: a message is not of the user or the assistant, and is left out")
        return []
    return [{**message, "content": block} for block in _blocks(message.get("content"), owner, note)]


def _contents(contents: Any, uri: Any, owner: str, note: Note) -> Wire | None:
    """The contents of a resource in valid form; None, with a note, if they cannot be."""
    if isinstance(contents, str):
        contents = {"text": contents}
    try:
        if isinstance(contents, dict):
            contents = {"uri": uri, **well_typed(owner, contents, note)}
        return checked_contents(contents, owner)
    except ResultError:
        note(f"{owner}: contents without a uri, or a text or a blob, are left out")
        return None
