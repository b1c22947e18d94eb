"""Starts a process of its own and ends without it. Notes the process id."""

import subprocess
import sys

import _wire

LINGER = "import signal; signal.pause()"
nothing = subprocess.DEVNULL
grandchild = subprocess.Popen([sys.executable, "-c", LINGER], stdin=nothing, stdout=nothing, stderr=nothing)
_wire.note(str(grandchild.pid))
_wire.serve()
