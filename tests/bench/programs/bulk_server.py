"""A stateless server with little in it: a text of so many megabytes (`big`), or so many tools on so many pages.

Writes the text piece by piece, so that its own memory stays far below that of its reader.
"""

from __future__ import annotations

import json
import sys

MEGABYTES, TOOLS, PAGES = (int(word) for word in sys.argv[1:])
PIECE = "0123456789abcde " * 65536
assert len(PIECE) == 1 << 20


def tool(number: int) -> dict:
    """One of many tools."""
    properties = {
        name: {"type": kind, "description": f"The {name} of number {number}"}
        for name, kind in (("path", "string"), ("limit", "integer"), ("deep", "boolean"))
    }
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    return {"name": f"tool_{number}", "description": f"Does what number {number} does", "inputSchema": schema}


def answer(method: str, params: dict) -> dict:
    """The result of a request that is not for the text."""
    if method == "server/discover":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list" and TOOLS == 0:
        tools = [{"name": "big", "description": "A long text", "inputSchema": {"type": "object"}}]
        return {"tools": tools, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/list":
        page, each = int(params.get("cursor") or 0), TOOLS // PAGES
        more = {"nextCursor": str(page + 1)} if page + 1 < PAGES else {}
        tools = [tool(number) for number in range(page * each, (page + 1) * each)]
        return {"tools": tools, "ttlMs": 0, "cacheScope": "private", **more}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    if request["method"] == "tools/call":
        head, tail = json.dumps(
            {"jsonrpc": "2.0", "id": request["id"],
             "result": {"resultType": "complete", "content": [{"type": "text", "text": "<here>"}]}}
        ).split("<here>")  # fmt: skip
        sys.stdout.write(head)
        for _ in range(MEGABYTES):
            sys.stdout.write(PIECE)
        sys.stdout.write(tail + "\n")
    else:
        result = {"resultType": "complete", **answer(request["method"], request["params"])}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
    sys.stdout.flush()
