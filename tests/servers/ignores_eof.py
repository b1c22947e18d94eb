"""Goes on running when its input has ended."""

import signal

import _wire

_wire.serve()
while True:
    signal.pause()
