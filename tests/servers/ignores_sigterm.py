"""Goes on running when its input has ended, and also on SIGTERM."""

import signal

import _wire

signal.signal(signal.SIGTERM, signal.SIG_IGN)
_wire.serve()
while True:
    signal.pause()
