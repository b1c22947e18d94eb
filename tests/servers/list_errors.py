"""Declares tools, prompts and resources, and refuses to list them, with the error CODE and TEXT of its arguments.

A third argument goes to stderr with each refusal.
"""

from __future__ import annotations

import sys

import _wire

CODE, TEXT, *LOG = sys.argv[1:]


def answer(message: _wire.Message) -> _wire.Message | None:
    method = message.get("method", "")
    if method == "initialize":
        return _wire.initialized(message, prompts={}, resources={})
    if method.endswith("/list"):
        for line in LOG:
            print(line, file=sys.stderr, flush=True)
        return _wire.error(message, int(CODE), TEXT)
    return _wire.handshake(message)


_wire.serve(answer)
