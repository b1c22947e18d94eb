"""Gives ids back as strings."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    made = _wire.handshake(message)
    return made and {**made, "id": str(made["id"])}


_wire.serve(answer)
