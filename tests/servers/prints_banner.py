"""Prints text on stdout, before it begins and around every answer."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    _wire.say(f"handling {message.get('method')}")
    return _wire.handshake(message)


_wire.say("Welcome to the server!")
_wire.say("")
_wire.serve(answer)
