"""Writes its log to stdout, as JSON objects."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    _wire.send({"level": "info", "msg": f"got {message.get('method')}", "id": message.get("id")})
    return _wire.handshake(message)


_wire.send({"level": "info", "msg": "starting"})
_wire.serve(answer)
