"""Writes megabytes to stderr before it reads anything, and again with each answer."""

from __future__ import annotations

import sys

import _wire

LINE = "a warning that nobody reads, again and again\n"


def answer(message: _wire.Message) -> _wire.Message | None:
    sys.stderr.write(LINE * 5000)
    return _wire.handshake(message)


sys.stderr.write(LINE * 100_000)
sys.stderr.write("that was all\n")
sys.stderr.flush()
_wire.serve(answer)
