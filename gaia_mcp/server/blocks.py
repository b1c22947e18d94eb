"""Content as MCP defines it: blocks, and the contents of resources. Whatever else an agent returns in their place is a
`ResultError`, for clients drop the whole result for one wrong member.
"""

from __future__ import annotations

from typing import Any

from gaia_mcp.server.provider import ResultError

Wire = dict[str, Any]

# The required members of each kind of block, all of them texts. Other kinds are for the client to judge.
_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}


def checked_blocks(content: Any) -> list[Wire]:
    """The blocks of a result, of which a text may be given as such. Raises `ResultError`."""
    if not isinstance(content, list):
        raise ResultError("an invalid result: content is not a list of blocks")
    return [checked_block(block, f"content[{number}]") for number, block in enumerate(content)]


def checked_block(block: Any, where: str) -> Wire:
    """The block at `where`, without members that are None; a text becomes one. Raises `ResultError`."""
    if isinstance(block, str):
        return {"type": "text", "text": str(block)}
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise ResultError(f"an invalid result: {where} is not a content block, which has a type")
    complete = _given(block)
    for member in _REQUIRED.get(kind, ()):
        if not isinstance(complete.get(member), str):
            raise ResultError(f"an invalid result: {where}, of the type {kind}, has no {member}, a text")
    if kind == "resource":
        complete["resource"] = checked_contents(complete.get("resource"), f"{where}.resource")
    return complete


def checked_contents(contents: Any, where: str) -> Wire:
    """The contents of a resource, without members that are None. Raises `ResultError`."""
    if not isinstance(contents, dict):
        raise ResultError(f"an invalid result: {where} is not an object")
    complete = _given(contents)
    if not isinstance(complete.get("uri"), str):
        raise ResultError(f"an invalid result: {where} has no uri, a text")
    if not isinstance(complete.get("text", complete.get("blob")), str):
        raise ResultError(f"an invalid result: {where} has neither a text nor a blob, a text in base64")
    return complete


def _given(members: Wire) -> Wire:
    """A copy without the members that are None: to write an absent member as null is not MCP."""
    return {key: value for key, value in members.items() if value is not None}
