"""Answers every read of a resource with the error whose code and text are its arguments."""

from __future__ import annotations

import sys

import _wire

CODE, TEXT = int(sys.argv[1]), sys.argv[2]


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "resources/read":
        return _wire.error(message, CODE, TEXT)
    if message.get("method") == "initialize":
        return _wire.initialized(message, resources={})
    return _wire.handshake(message)


_wire.serve(answer)
