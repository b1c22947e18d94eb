"""Repeats a text, which stands in the file that it is given, in whatever a server can say: its log, its descriptions,
its refusals, what a tool fails with, and the last words before its end.
"""

from __future__ import annotations

import sys
from pathlib import Path

import _wire

TEXT = Path(sys.argv[1]).read_text("utf-8")
LAST_LINE = TEXT.rpartition("\n")[2]


def described(name: str) -> _wire.Message:
    schema = {"type": "object", "properties": {"key": {"type": "string", "description": TEXT, "default": TEXT}}}
    return {"name": name, "title": TEXT, "description": TEXT, "inputSchema": schema}


def answer(message: _wire.Message) -> _wire.Message | None:
    method, name = message.get("method"), message.get("params", {}).get("name")
    if method == "initialize":
        opened = _wire.initialized(message, logging={}, prompts={}, resources={})
        opened["result"]["instructions"] = TEXT
        opened["result"]["serverInfo"]["title"] = TEXT
        return opened
    if method == "tools/list":
        return _wire.result(message, {"tools": [described(each) for each in ("refuse", "fail", "die", "stray")]})
    if method == "prompts/list":
        return _wire.result(message, {"prompts": [{"name": "prompt", "description": TEXT}]})
    if method == "resources/list":
        return _wire.result(message, {"resources": [{"name": "file", "uri": "file:///file", "description": TEXT}]})
    if method == "resources/templates/list":
        return _wire.result(message, {"resourceTemplates": []})
    if method == "logging/setLevel":
        return _wire.result(message, {})
    if method == "tools/call":
        params = {"level": "error", "logger": TEXT, "data": {"text": TEXT}}
        _wire.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        if name == "refuse":
            return _wire.error(message, -32000, TEXT, {"text": TEXT, "texts": [TEXT]})
        if name == "fail":
            return _wire.result(message, {**_wire.text(TEXT), "isError": True})
        if name == "stray":
            _wire.say(LAST_LINE)
            return _wire.result(message, _wire.text("done"))
        sys.stderr.write(f"{LAST_LINE}\n")
        sys.stderr.flush()
        raise SystemExit(3)
    return _wire.handshake(message)


sys.stderr.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
sys.stderr.write(f"{TEXT}\n")
sys.stderr.flush()
_wire.serve(answer)
