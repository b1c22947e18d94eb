"""Declares prompts and resources, and does not answer when it is asked for them."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    method = message.get("method", "")
    if method.startswith(("prompts/", "resources/")):
        return None
    response = _wire.handshake(message)
    if method == "initialize" and response is not None:
        response["result"]["capabilities"] |= {"prompts": {}, "resources": {}}
    return response


_wire.serve(answer)
