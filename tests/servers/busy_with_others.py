"""Answers no call, goes on when its input has ended, also on SIGTERM; and so do a process that it has started in its
group, one in a session of its own, and one of that kind whose parent has ended.
"""

import os
import signal
import threading

import _wire

signal.signal(signal.SIGTERM, signal.SIG_IGN)
_wire.note(f"pid {os.getpid()}")


def linger() -> None:
    _wire.note("lingers")
    while True:
        signal.pause()


for leaves, ends in ((False, False), (True, False), (True, True)):
    if os.fork() == 0:
        if leaves:
            os.setsid()
        if not ends or os.fork() == 0:
            linger()
        os._exit(0)
threading.Thread(
    target=_wire.serve,
    args=(lambda message: None if message.get("method") == "tools/call" else _wire.handshake(message),),
    daemon=True,
).start()
while True:
    signal.pause()
