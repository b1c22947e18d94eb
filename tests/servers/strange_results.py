"""Answers with what few servers send: blocks of unknown kinds, members that no revision has, errors with data."""

from __future__ import annotations

import sys

import _wire

RESULT = {
    "content": [
        {"type": "hologram", "size": [1, 2], "_meta": {"x.example/a": 1}},
        {"type": "text", "text": "\u2028 \ud83d\ude00", "annotations": {"priority": 0.5}},
    ],
    "structuredContent": {"kept": {"z": 1, "a": [None, 1.50, "x"]}},
    "isError": True,
    "_meta": {"x.example/trace": {"deep": ["as", "it", "is"]}},
    "extra": {"unknown": True},
}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [_wire.tool(name) for name in ("strange", "refuse", "told", "inner")]})
    if message.get("method") != "tools/call":
        return _wire.handshake(message)
    params = message["params"]
    if params["name"] == "refuse":
        return _wire.error(message, -31999, "not today", {"why": ["a", {"b": None}]})
    if params["name"] == "told":
        return _wire.result(message, {"content": [], "structuredContent": params})
    if params["name"] == "inner":
        print("the disk is full", file=sys.stderr, flush=True)
        text = "MCP error -32603: Internal error"
        return _wire.result(message, {"content": [{"type": "text", "text": text}], "isError": True})
    return _wire.result(message, RESULT)


_wire.serve(answer)
