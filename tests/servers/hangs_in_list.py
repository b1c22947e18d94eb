"""Answers everything but `tools/list`."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    return None if message.get("method") == "tools/list" else _wire.handshake(message)


_wire.serve(answer)
