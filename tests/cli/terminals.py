"""Pseudo-terminals: a person at one, and real interactive shells, whose TAB is pressed and whose line is read back."""

from __future__ import annotations

import os
import pty
import select
import time
from typing import TYPE_CHECKING

from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# A shell that starts, or asks a Python that starts, on a busy machine.
ANSWER_SECONDS = 30

READY = "READY>"
# In each start file: a prompt to wait for, and Ctrl-O, which writes the line as it stands to a file.
BASH = r"""
PS1='READY>'
dump() { printf %s "$READLINE_LINE" >"$DUMP.new"; mv "$DUMP.new" "$DUMP"; }
bind -x '"\C-o": dump'
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
"""
ZSH = r"""
PROMPT='READY>'
unset zle_bracketed_paste
dump() { print -rn -- "$BUFFER" >"$DUMP.new"; mv "$DUMP.new" "$DUMP"; }
zle -N dump
bindkey -e
bindkey '^O' dump
"""
FISH = r"""
function fish_prompt; echo -n 'READY>'; end
function fish_right_prompt; end
set -g fish_greeting
function dump; commandline | string collect >"$DUMP.new"; mv "$DUMP.new" "$DUMP"; end
bind \co dump
"""
START_FILES = {"bash": (".bashrc", BASH), "zsh": (".zshrc", ZSH), "fish": (".config/fish/config.fish", FISH)}


def write_start_file(shell: str, home: Path) -> Path:
    """The start file of a shell, in an otherwise empty home."""
    name, text = START_FILES[shell]
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    # Without this folder fish begins to read all manual pages, and goes on when it has been left.
    (home / ".local" / "share" / "fish" / "generated_completions").mkdir(parents=True, exist_ok=True)
    return path


class Terminal:
    """An interactive shell at its prompt."""

    def __init__(self, program: str, cwd: Path, environ: Mapping[str, str]) -> None:
        self._dump = cwd / ".line"
        self._seen = b""
        variables = {**environ, "TERM": "xterm", "DUMP": str(self._dump), "COLUMNS": "100", "LINES": "40"}
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execve(program, [program, "-i"], variables)
        import termios

        termios.tcsetwinsize(self._terminal, (40, 100))
        self._wait_for(lambda: READY.encode() in self._seen)

    def line_after(self, keys: str) -> str:
        """The line, once `keys` have been typed at an empty prompt; it is then cleared."""
        self._dump.unlink(missing_ok=True)
        os.write(self._terminal, keys.encode() + b"\x0f")
        self._wait_for(self._dump.exists)
        line = self._dump.read_text()
        os.write(self._terminal, b"\x05\x15")
        return line.removesuffix("\n")

    def shown_after(self, keys: str, last: str) -> str:
        """What the shell shows below the line when `keys` have been typed, as soon as that holds `last`."""
        self._seen = b""
        os.write(self._terminal, keys.encode())
        self._wait_for(lambda: last.encode() in self._seen)
        os.write(self._terminal, b"\x05\x15")
        return self._seen.decode(errors="replace")

    @property
    def seen(self) -> str:
        """Everything that it has shown since it was asked last."""
        return self._seen.decode(errors="replace")

    def close(self) -> None:
        """Leave the shell, with whatever it has begun."""
        os.write(self._terminal, b"\x05\x15exit\n")
        self._wait_for(lambda: os.waitpid(self._pid, os.WNOHANG)[0])
        os.close(self._terminal)

    def _wait_for(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + ANSWER_SECONDS
        while not condition():
            assert time.monotonic() < end, self._seen.decode(errors="replace")
            if select.select([self._terminal], [], [], 0.02)[0]:
                try:
                    self._seen += os.read(self._terminal, 4096)
                except OSError:  # it has left
                    continue


class Person:
    """Sits at a terminal."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._read = self._before = b""

    @property
    def seen(self) -> str:
        """Everything that has appeared."""
        return (self._before + self.has_read().encode()).decode(errors="replace")

    def waits_for(self, words: str) -> None:
        """Until these words have appeared, once more if they had been waited for before."""
        while words.encode() not in self._read:
            assert select.select([self._terminal], [], [], PATIENCE_SECONDS)[0], self._read
            self._read += os.read(self._terminal, 4096)
        before, found, self._read = self._read.partition(words.encode())
        self._before += before + found

    def has_read(self) -> str:
        """What has appeared since."""
        while select.select([self._terminal], [], [], 0)[0]:
            try:
                self._read += os.read(self._terminal, 4096)
            except OSError:  # The other side has been closed.
                break
        return self._read.decode()

    def types(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)
