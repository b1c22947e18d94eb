"""Handler files with side effects while they are imported: each runs in a process that is ended for certain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

HANDLER = """
from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult

class WordHandler(MCPHandler):
    def connect(self): self._connected = True
    def list_tools(self): return [MCPToolDefinition("word", "A word.", {"type": "object"}, self.name)]
    def call_tool(self, name, arguments): return MCPToolResult(WORD)
    def disconnect(self): self._connected = False
WORD = "hello"
"""
ODD = {
    "prints": "print('noise')",
    "prints without a newline": "print('{', end='', flush=True)",
    "prints to the original stream": "import sys\nsys.__stdout__.write('noise\\n')\nsys.__stdout__.flush()",
    "writes to the descriptor": 'import os\nos.write(1, b\'{"jsonrpc": "2.0", "id": 1, "result": {}}\\n\')',
    "starts what prints": "import os\nos.system('echo noise')",
    "prints from C": "import ctypes\nctypes.CDLL(None).puts(b'noise')\nctypes.CDLL(None).fflush(None)",
    "logs to stdout": "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=0)",
    "prints much": "for _ in range(2000): print('x' * 1000)",
    "prints for ever": (
        "import threading\ndef run():\n    while True: print('noise')\n"
        "threading.Thread(target=run, daemon=True).start()"
    ),
    "reads": "import os, sys\nsys.stdin.read()\nos.read(0, 100)",
    "starts what reads": "import os\nos.system('cat')",
    "closes its streams": "import sys\nsys.stdin.close()\nsys.stdout.close()",
    "closes its descriptors": "import os\nos.close(0)\nos.close(1)",
    "changes the folder": "import os\nos.chdir('/')",
    "changes to a folder that goes": "import os, tempfile\nwith tempfile.TemporaryDirectory() as f: os.chdir(f)",
    "forks": "import os\nos.fork()",
    "forks a child that stays": "import os, time\nif os.fork() == 0: time.sleep(60)",
    "leaves a process": "import subprocess\nsubprocess.Popen(['sleep', '60'])",
    "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()",
    "ignores signals": "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)",
    "does not end": "import atexit, time\natexit.register(time.sleep, 60)",
    "clears the environment": "import os\nos.environ.clear()",
    "is slow": "import time\ntime.sleep(4)",
}
BROKEN = {
    "hangs": ("import signal\nwhile True: signal.pause()", 5, "at its start"),
    "exits": ("raise SystemExit(3)", 3, "cannot be imported: SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", 4, ""),
    "ends at once": ("import os\nos._exit(3)", 4, "exited with status 3"),
    "crashes": ("import ctypes\nctypes.string_at(0)", 4, "SIGSEGV"),
    "kills itself": ("import os\nos.kill(os.getpid(), 9)", 4, "SIGKILL"),
    "recurses": ("def f(): f()\nf()", 3, "RecursionError"),
    "has two errors in one": ("raise ValueError('one\\ntwo\\x1b[31m')", 3, r"ValueError: one two\x1b[31m"),
    "has another base": ("class MCPHandler: pass", 3, "No MCPHandler subclass"),
}


@pytest.mark.parametrize("what", ODD)
def test_a_handler_with_side_effects_at_import_works(gaia: Gaia, what: str) -> None:
    """Ours, bad input: nothing that it prints is taken for an answer, and nothing of it is left."""
    (gaia.cwd / "word_handler.py").write_text(ODD[what] + HANDLER)

    ran = gaia("call", "./word_handler.py", "word", "--timeout", "20")

    assert (ran.code, ran.stdout) == (0, "hello\n"), ran


@pytest.mark.parametrize("what", BROKEN)
def test_a_handler_that_breaks_its_process_is_an_error(gaia: Gaia, what: str) -> None:
    """Ours, bad input: an exit code, two lines, and nothing is left."""
    source, code, problem = BROKEN[what]
    text = HANDLER.replace("import MCPHandler, ", "import ") if what == "has another base" else HANDLER
    (gaia.cwd / "word_handler.py").write_text(source + text)

    ran = gaia("call", "./word_handler.py", "word", "--timeout", "3" if code == 5 else "20")

    assert ran.code == code, ran
    assert len(ran.errors) == 2
    assert problem in ran.errors[0]
    assert ran.stdout == ""
