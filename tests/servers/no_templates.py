"""Has resources, and does not know of templates."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        return _wire.initialized(message, resources={})
    if message.get("method") == "resources/list":
        return _wire.result(message, {"resources": [{"name": "good", "uri": "file:///good"}]})
    return _wire.handshake(message)


_wire.serve(answer)
