"""Command lines of this program that can be typed as printed, the line that was typed, and the programs with which the
command line of a server begins.

Every hint and remark gets its command lines from the line of the running command, so that they use the typed program
name and the same configuration file, and are quoted for a shell.
"""

from __future__ import annotations

import shlex
import sys
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.core.names import is_server_name, typeable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.targets import Target

# The file that `init` writes by default.
AGENT_FILE = "agent.py"
# A hint does not repeat a longer command line.
AGAIN_CHARS = 200
# Nor one with these options: their values may be tokens.
_SECRET_OPTIONS = ("--env", "-e", "--header", "-H", "--entry", "--json")
# Programs that start other programs.
LAUNCHERS = frozenset(
    ("npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "deno", "node", "tsx", "ts-node", "uvx", "uv", "pipx",
     "python", "python3", "py", "docker", "podman", "cmd", "sh", "bash", "zsh", "env", "java", "dotnet", "go", "cargo",
     "gaia", "gmcp")
)  # fmt: skip
# Programs that without arguments are a server, or print their help.
_OURS = frozenset(("gaia", "gmcp"))


class CommandLine:
    """The line of a command: the program and the words as typed, the command's name, the file of its `--config`, the
    servers in use, those of them that are not saved, and whether it adds several servers. With `is_fresh` it uses no
    server that is held.

    Every line of a hint or a remark is made by it.
    """

    def __init__(
        self,
        words: Sequence[str] = (),
        command: str = "",
        config: Path | None = None,
        program: str = "gaia mcp",
        *,
        is_fresh: bool = False,
    ) -> None:
        self.words = words
        self.command = command
        self.config = config
        self.program = program
        self.is_fresh = is_fresh
        self.used: list[ServerEntry] = []
        self.unsaved: list[ServerEntry] = []
        self.has_several = False

    def for_command(self, command: str, config: Path | None, *, is_fresh: bool = False) -> CommandLine:
        """The same line, known to run `command` with this configuration file."""
        return CommandLine(self.words, command, config, self.program, is_fresh=is_fresh)

    def uses(self, entry: ServerEntry) -> None:
        """Record that the command uses this server."""
        self.used.append(entry)
        if entry.source is None:
            # It may have been recorded before its headers and variables were read.
            self.unsaved = [*(each for each in self.unsaved if each.name != entry.name), entry]

    def is_saved(self, server: str) -> bool:
        """Whether a server is saved in a file; true for every server that the command has not recorded as unsaved."""
        return all(entry.name != server for entry in self.unsaved)

    def headers(self, server: str) -> dict[str, str]:
        """The headers of the entry of a server in use, as they are written there."""
        return dict(getattr(self.target(server), "headers", {}))

    def sets(self, server: str, variable: str) -> bool:
        """Whether the entry of a server in use sets this environment variable."""
        return variable in getattr(self.target(server), "env", ())

    def target(self, server: str) -> Target | None:
        """What the entry of a server in use leads to; None for a server that is not in use."""
        return next((entry.target for entry in self.used if entry.name == server), None)

    def to_type(self, command: str, *names: str, more: str = "") -> str:
        """A command line of this program that can be typed as is, for the same configuration file.

        `names` are quoted for a shell, `more` is used unchanged.
        """
        config = [f"--config {shlex.quote(str(self.config))}"] if self.config is not None else []
        programs = [f"-- {name}" for name in names if self._is_program(name)]
        words = [typeable(name) for name in names if not self._is_program(name)]
        passed = [option for entry in self.unsaved if entry.name in names for option in entry_options(entry, command)]
        return " ".join([self.program, command, *config, *passed, *words, *([more] if more else []), *programs])

    def _is_program(self, name: str) -> bool:
        """Whether `name` is a one-word command of an unsaved server, which would be mistaken for a server's name."""
        if not self.unsaved or not is_server_name(name):
            return False
        from gaia_mcp.config.command import Command

        targets = [entry.target for entry in self.unsaved if entry.name == name]
        return any(isinstance(target, Command) and not target.args for target in targets)

    def again(self, what: str, *option: str, server: str = "") -> str:
        """`what`, followed by the typed line with one more option, or with another value of it. If the line adds
        several servers, the new line names `server`.

        Only the option is named if the line is too long to read, or may contain a secret.
        """
        from gaia_mcp.cli.grammar.parsing import with_option
        from gaia_mcp.text.redaction import masked_arguments

        _, *words = self.words or [""]
        is_secret = masked_arguments(words) != words or any(word.partition("=")[0] in _SECRET_OPTIONS for word in words)
        at = words.index("--") if "--" in words else len(words)
        name = [server] if server and self.has_several else []
        line = shlex.join(with_option([*words[:1], *name, *words[1:]], option))
        if not words or is_secret or len(line) > AGAIN_CHARS:
            named = f"the name {typeable(server)} and " if name else ""
            return f"{what} with {named}{shlex.join(option)}"
        # The input from a pipe was consumed.
        how = f"{what}, with the same input" if "-" in words[:at] else f"{what} with"
        return f"{how}: {self.program} {line}"

    def unsaved_hint(self) -> str:
        """The hint for a server that was not saved, since it does not work; empty for a command that saves none."""
        if self.command in ("add", "edit"):
            return f"correct the command, or {self.again('save it as it is', '--no-check')}"
        return ""

    def command_after(self, word: str, start: int = 0) -> str:
        """`-- COMMAND [ARG...]` from `word` and the words typed after it, for a command line without quotes; empty if
        `word` does not look like a program that starts a server. `start` is the number of typed words before which
        `word` is something else. Secrets are masked.
        """
        from shutil import which

        from gaia_mcp.text import MASK
        from gaia_mcp.text.redaction import masked_arguments

        if not may_start_server(word) or which(word) is None:
            return ""
        words = list(self.words)[start:]
        # For these commands, the words after the server are their own arguments.
        is_whole = word in words and self.command not in ("call", "prompt", "read")
        command = masked_arguments(words[words.index(word) :] if is_whole else [word])
        return " ".join(["--", *(part if part == MASK else shlex.quote(part) for part in command)])

    def how_to_add(self) -> str:
        """How to add a first server."""
        return f"add one with: {self.to_type('add', more='NAME -- COMMAND')}"

    def how_to_begin(self) -> str:
        """How to write an example of an agent, to a file that does not exist yet."""
        if not Path(AGENT_FILE).exists():
            return self.to_type("init")
        names = chain(["example.py"], (f"example{number}.py" for number in count(2)))
        return self.to_type("init", next(name for name in names if not Path(name).exists()))


def program_name(program: str | None = None) -> str:
    """The program's name as typed, by default this one's."""
    name = Path(sys.argv[0] if program is None else program).stem
    if name == "__main__":
        return f"{typeable(sys.executable)} -m gaia_mcp"
    return "gmcp" if name == "gmcp" else "gaia mcp"


def entry_options(entry: ServerEntry, command: str) -> list[str]:
    """The options of `command` for the headers and variables of a typed server, quoted for a shell, with secrets
    masked.
    """
    headers, env = getattr(entry.target, "headers", {}), getattr(entry.target, "env", {})
    if not headers and not env:
        return []
    from gaia_mcp.cli.grammar.parsing import PROGRAM
    from gaia_mcp.text.redaction import masked_value

    if not any("--header" in option.names for option in PROGRAM.commands["mcp"].commands[command].options):
        return []
    found = []
    for name, value in headers.items():
        scheme, _, reference = value.partition("${")
        if (name, scheme) == ("Authorization", "Bearer ") and reference.removesuffix("}").isidentifier():
            found.append(f"--token-env {reference.removesuffix('}')}")
        else:
            found.append(f"--header {shlex.quote(f'{name}: {masked_value(name, value)}')}")
    for name, value in env.items():
        is_own = value == f"${{{name}}}"
        found.append(f"--env {name if is_own else shlex.quote(f'{name}={masked_value(name, value)}')}")
    return found


def needs_arguments(program: str) -> bool:
    """Whether a program without arguments cannot be a server: it reads a script from stdin, or exits."""
    name = program.replace("\\", "/").rpartition("/")[2]
    return name.removesuffix(".exe").removesuffix(".cmd") in LAUNCHERS - _OURS


def may_start_server(program: str) -> bool:
    """Whether a program is known to start servers, or has `mcp` in its name. Other words may be programs as well, such
    as `time`.
    """
    return program in LAUNCHERS or "mcp" in program.lower()
