"""Checks content blocks and resource contents. Anything that MCP does not allow is a `ResultError`, because clients
drop the whole result for one invalid member.
"""

from __future__ import annotations

from typing import Any

from gaia_mcp.server.definitions import member_problem
from gaia_mcp.server.provider import ResultError
from gaia_mcp.uri_templates import uri_problem

Wire = dict[str, Any]

# The required members of each type of block, all of them strings. Unknown types are passed on unchecked.
_REQUIRED = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}


def checked_blocks(content: Any) -> list[Wire]:
    """The content blocks of a result; a string becomes a text block. Raises `ResultError`."""
    if not isinstance(content, list):
        raise ResultError("an invalid result: content is not a list of blocks")
    return [checked_block(block, f"content[{number}]") for number, block in enumerate(content)]


def checked_block(block: Any, where: str) -> Wire:
    """The block at `where`, without members that are None; a string becomes a text block. Raises `ResultError`."""
    if isinstance(block, str):
        return {"type": "text", "text": str(block)}
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        raise ResultError(f"an invalid result: {where} is not a content block, which has a type")
    for member in _REQUIRED.get(kind, ()):
        if not isinstance(block.get(member), str):
            raise ResultError(f"an invalid result: {where}, of the type {kind}, has no {member}, a text")
    if kind == "resource_link":
        _check_uri(block["uri"], where)
    if kind != "resource":
        return checked_members(block, where)
    members = {key: value for key, value in block.items() if key != "resource"}
    return {**checked_members(members, where), "resource": checked_contents(block.get("resource"), f"{where}.resource")}


def checked_contents(contents: Any, where: str) -> Wire:
    """The contents of a resource, without members that are None. Raises `ResultError`."""
    if not isinstance(contents, dict):
        raise ResultError(f"an invalid result: {where} is not an object")
    if not isinstance(contents.get("uri"), str):
        raise ResultError(f"an invalid result: {where} has no uri, a text")
    _check_uri(contents["uri"], where)
    held = [contents[member] for member in ("text", "blob") if contents.get(member) is not None]
    if not held or not all(isinstance(value, str) for value in held):
        raise ResultError(f"an invalid result: {where} has neither a text nor a blob, a text in base64")
    return checked_members(contents, where)


def _check_uri(uri: str, where: str) -> None:
    # Clients drop a result with a relative URI, the official SDK for Python among them.
    if (problem := uri_problem(uri)) is not None:
        raise ResultError(f"an invalid result: {where}.uri is {uri!r}, which {problem}")


def checked_members(members: Wire, where: str) -> Wire:
    """The members of a part of a result, without those that are None: MCP does not allow null for an absent member.

    Raises `ResultError` for an optional member of a wrong type, and for one that is not JSON-serializable.
    """
    complete = {key: value for key, value in members.items() if value is not None}
    for key, value in complete.items():
        if (problem := member_problem(key, value)) is not None:
            raise ResultError(f"an invalid result: {where}.{key} {problem}")
    if "annotations" in complete:
        complete["annotations"] = checked_members(complete["annotations"], f"{where}.annotations")
    return complete
