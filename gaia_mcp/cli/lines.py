"""Command lines of ours that can be typed as they are printed, and the one that was typed.

Every hint and remark that advises a line has it from here, so that it names the program as it was called, is about the
same configuration file, and is quoted where a shell needs that.
"""

from __future__ import annotations

import shlex
import sys
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gaia_mcp.cli.launchers import may_start_server
from gaia_mcp.names import is_server_name, typeable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.config.entries import ServerEntry

# What `init` writes, unless a name is given.
AGENT_FILE = "agent.py"
# A longer command line is not repeated.
AGAIN_CHARS = 200
# Nor is one with these: what follows them may be a token.
_SECRET_OPTIONS = ("--env", "-e", "--header", "-H", "--entry", "--json")


class Typed:
    """The command that runs: the program as it was typed, the command's name, the words that it was typed with, the
    file that its `--config` names, the servers that it uses although no file holds them, and whether it is to save
    several.
    """

    program = "gaia mcp"
    command = ""
    words: Sequence[str] = ()
    config: Path | None = None
    unsaved: ClassVar[list[ServerEntry]] = []
    has_several = False

    @classmethod
    def enter(cls, words: Sequence[str]) -> None:
        """The program runs this command line."""
        cls.words, cls.program = words, _program()

    @classmethod
    def begin(cls, command: str, config: Path | None) -> None:
        """This command begins to run."""
        cls.command, cls.config, cls.unsaved, cls.has_several = command, config, [], False

    @classmethod
    def uses(cls, entry: ServerEntry) -> None:
        """The command is about this server."""
        if entry.source is None and entry not in cls.unsaved:
            cls.unsaved.append(entry)

    @classmethod
    def is_saved(cls, server: str) -> bool:
        """Whether a server is in a file, as far as the command uses it."""
        return all(entry.name != server for entry in cls.unsaved)


def _program() -> str:
    """The program as it was typed."""
    name = Path(sys.argv[0]).stem
    if name == "__main__":
        return f"{typeable(sys.executable)} -m gaia_mcp"
    return "gmcp" if name == "gmcp" else "gaia mcp"


def to_type(command: str, *names: str, more: str = "") -> str:
    """A command line of ours that can be typed as it is, about the same configuration file.

    `names` are quoted where a shell needs it, `more` is taken as it is.
    """
    config = [f"--config {shlex.quote(str(Typed.config))}"] if Typed.config is not None else []
    programs = [f"-- {name}" for name in names if _is_program(name)]
    words = [typeable(name) for name in names if not _is_program(name)]
    return " ".join([Typed.program, command, *config, *words, *([more] if more else []), *programs])


def _is_program(name: str) -> bool:
    """Whether it is a server that is not saved, and a command of one word, which would be taken for a name."""
    if not Typed.unsaved or not is_server_name(name):
        return False
    from gaia_mcp.config.command import Command

    targets = [entry.target for entry in Typed.unsaved if entry.name == name]
    return any(isinstance(target, Command) and not target.args for target in targets)


def again(what: str, *option: str, server: str = "") -> str:
    """`what` can be done, and how: with the line that was typed, and one more option. If the line gave several servers,
    it is about `server` then.

    Only the option is named if the line is too long to be read, or may hold a secret.
    """
    from gaia_mcp.redaction import masked_arguments

    _, *words = Typed.words or [""]
    is_secret = masked_arguments(words) != words or any(word.partition("=")[0] in _SECRET_OPTIONS for word in words)
    # Options do not stand after two dashes.
    at = words.index("--") if "--" in words else len(words)
    name = [server] if server and Typed.has_several else []
    line = shlex.join([*words[:1], *name, *words[1:at], *option, *words[at:]])
    if not words or is_secret or len(line) > AGAIN_CHARS:
        named = f"the name {typeable(server)} and " if name else ""
        return f"{what} with {named}{shlex.join(option)}"
    # What was piped into it is gone.
    how = f"{what}, with the same input" if "-" in words[:at] else f"{what} with"
    return f"{how}: {Typed.program} {line}"


def command_after(word: str) -> str:
    """`-- COMMAND [ARG...]` of `word` and what was typed after it, as of a command line without quotes; empty if `word`
    does not look like a program that starts a server. Secrets are masked.
    """
    from shutil import which

    from gaia_mcp.redaction import masked_arguments
    from gaia_mcp.safetext import MASK

    if not may_start_server(word) or which(word) is None:
        return ""
    words = list(Typed.words)
    # The words after these are their own.
    is_whole = word in words and Typed.command not in ("call", "prompt", "read")
    command = masked_arguments(words[words.index(word) :] if is_whole else [word])
    return " ".join(["--", *(part if part == MASK else shlex.quote(part) for part in command)])


def how_to_add() -> str:
    """How a first server is added."""
    return f"add one with: {to_type('add', more='NAME -- COMMAND')}"


def how_to_begin() -> str:
    """How an example of an agent is written, into a file that does not exist."""
    if not Path(AGENT_FILE).exists():
        return to_type("init")
    names = chain(["example.py"], (f"example{number}.py" for number in count(2)))
    return to_type("init", next(name for name in names if not Path(name).exists()))
