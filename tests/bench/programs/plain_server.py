"""A stateless server of one tool that answers as fast as Python can: what remains of a call is the client's own."""

from __future__ import annotations

import json
import os

INFO = {"io.modelcontextprotocol/serverInfo": {"name": "plain", "version": "1"}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
RESULTS = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {"tools": [{"name": "greet", "description": "Say hello.", "inputSchema": SCHEMA}]},
    "tools/call": {"content": [{"type": "text", "text": "Hello, Ada!"}], "isError": False},
}
ANSWERS = {
    method: json.dumps({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": INFO, **result})
    for method, result in RESULTS.items()
}

pending = b""
while data := os.read(0, 65536):
    *lines, pending = (pending + data).split(b"\n")
    for line in lines:
        message = json.loads(line)
        if "id" in message:
            identifier = json.dumps(message["id"])
            answer = f'{{"jsonrpc":"2.0","id":{identifier},"result":{ANSWERS[message["method"]]}}}\n'
            os.write(1, answer.encode())
