"""Writes megabytes of text lines to stdout before it reads anything."""

import _wire

_wire.say("not for you\n" * 20_000)
_wire.serve()
