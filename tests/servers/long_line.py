"""Writes a megabyte of text on one line before it works."""

import _wire

_wire.say("x" * 1024 * 1024)
_wire.serve()
