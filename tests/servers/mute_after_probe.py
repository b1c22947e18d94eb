"""Reads everything, and answers nothing more once it has heard `server/discover`."""

import _wire

is_mute = False


def answer(message: _wire.Message) -> _wire.Message | None:
    global is_mute
    is_mute = is_mute or message.get("method") == "server/discover"
    return None if is_mute else _wire.handshake(message)


_wire.serve(answer)
