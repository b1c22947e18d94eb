"""Starts a process that leaves its group and keeps its output open. Notes the process id."""

import subprocess
import sys

import _wire

LINGER = "import signal; signal.pause()"
daemon = subprocess.Popen([sys.executable, "-c", LINGER], stdin=subprocess.DEVNULL, start_new_session=True)
_wire.note(f"daemon {daemon.pid}")
_wire.serve()
