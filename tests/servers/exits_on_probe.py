"""Exits when the first thing it hears is not `initialize`."""

import sys

import _wire

first = True
for message in _wire.messages():
    if first and message["method"] != "initialize":
        print("expected initialize", file=sys.stderr)
        sys.exit(1)
    first = False
    answer = _wire.handshake(message)
    if answer is not None:
        _wire.send(answer)
