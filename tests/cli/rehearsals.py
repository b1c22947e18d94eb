"""Every line that a story's program advises is typed, in a copy of the story's home and working folder, so that the
story goes on as if nothing had happened.

Lines of one shape are typed once in a run of the tests, however many workers it has: the one that is first to put its
name into a folder that all share. Each line is parsed, each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import select
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.typed_lines import advised, filled, refusal
from tests.forking.client import Command
from tests.forking.server import BIN
from tests.processes import end_all_with
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.forking.client import ForkServer

# A line that leads to a server without an end has been understood by then.
UNDERSTOOD_SECONDS = 2
# What is pasted where nothing was piped into the story's own command.
SNIPPET = b'{"mcpServers": {"pasted": {"command": "gaia", "args": ["mcp", "serve", "demo"]}}}'
# What is told before a line that is to be typed once more, after something else was done.
_REPEATS = re.compile(r"\b(?:again|repeat|retry)\b")
# Exit codes: a bug of ours, and a command line that is wrong.
BUG, WRONG = 1, 2


class Rehearsals:
    """`folder` holds the home and the working folder of the story, `shared` is that of all workers."""

    def __init__(self, fork_server: ForkServer, folder: Path, shared: Path) -> None:
        self._fork_server = fork_server
        self._folder = folder
        self._shared = shared

    def rehearse(
        self, printed: str, typed: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes = b""
    ) -> None:
        """Type what the output of `typed` advises. A line must be right, not end in a bug, and not lead in a circle."""
        for shape, words, cured in advised(printed, typed):
            line = filled(words, _servers(_config(words, cwd, environ)))
            problem = "" if cured else refusal(line)
            assert not problem, f"advised: {words}; {problem}"
            assert words != list(typed) or _REPEATS.search(shape[0]), f"advised after itself: {words}"
            if not self._is_first(shape):
                continue
            with tempfile.TemporaryDirectory() as place:
                _copy(self._folder, Path(place))
                here, there = str(self._folder), place
                line = [word.replace(here, there) for word in line]
                code, shown = self._run(
                    line,
                    Path(str(cwd).replace(here, there)),
                    {**{name: value.replace(here, there) for name, value in environ.items()}, "EDITOR": "true"},
                    stdin or SNIPPET,
                )
                # What it holds would outlive the copy.
                end_all_with(f"HOME={place}")
            if "a bug in gaia mcp" not in printed:  # It stays one.
                is_well = code != BUG and cured not in shown if cured else code not in (BUG, WRONG)
                assert is_well, f"advised: {words}; {code}: {shown}"
            if code:
                before = [line, [word.replace(here, there) for word in typed]]
                after = [each.words for each in advised(shown, line) if not _REPEATS.search(each.shape[0])]
                assert not [each for each in after if each in before], f"advised: {words}, after which: {shown}"

    def _is_first(self, shape: tuple[str, ...]) -> bool:
        name = hashlib.sha256(json.dumps(shape).encode()).hexdigest()
        try:
            (self._shared / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _run(self, words: list[str], cwd: Path, environ: Mapping[str, str], stdin: bytes) -> tuple[int, str]:
        """The exit code and the output of a line that is typed at a terminal, or fed if it reads `-`."""
        command = [BIN / "gaia", "mcp", *words]
        if "-" in words:
            ran = self._fork_server.run(command, cwd=cwd, env=environ, input=stdin, timeout=ENOUGH_SECONDS)
            return ran.returncode, (ran.stdout + ran.stderr).decode()
        ours, theirs = pty.openpty()
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        process = Command(self._fork_server, command, cwd=cwd, env=environ, **streams)
        os.close(theirs)
        try:
            return _ended(process, ours)
        finally:
            os.close(ours)


def _ended(process: Command, terminal: int) -> tuple[int, str]:
    """The exit code of a program, which is asked to end after a while, and what it wrote to its terminal."""
    shown = b""
    end = time.monotonic() + UNDERSTOOD_SECONDS
    while True:
        if time.monotonic() > end:
            process.terminate()
        assert time.monotonic() < end + ENOUGH_SECONDS, shown
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # The other side has been closed.
                break
    return process.wait(ENOUGH_SECONDS), shown.decode(errors="replace")


def _config(words: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Path:
    """The file of servers that a line is about."""
    if "--config" in words:
        return cwd / words[words.index("--config") + 1]
    return Path(environ["HOME"]) / ".gaia" / "mcp_servers.json"


def _servers(config: Path) -> list[str]:
    with suppress(OSError, ValueError, KeyError, TypeError):
        return list(json.loads(config.read_text())["mcpServers"])
    return []


def _copy(folder: Path, place: Path) -> None:
    """Copy regular files, in which paths lead to the copy."""
    for path in folder.rglob("*"):
        if path.parent.name == "__pycache__":
            continue  # Of the length of its paths.
        copy = place / path.relative_to(folder)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        elif path.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            with suppress(PermissionError, FileNotFoundError):  # A story is about such a file, or a server removes it.
                copy.write_bytes(path.read_bytes().replace(bytes(folder), bytes(place)))
                copy.chmod(path.stat().st_mode)
