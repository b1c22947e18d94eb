"""The entry of a server that was typed where a name could stand. It is in no file, and nothing saves it.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from gaia_mcp.config.command import Command, on_one_line
from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.names import UNSAVED_MARK
from gaia_mcp.safetext import encodable


class ServedAgent(Command):
    """An agent that a child of this program serves. The last of `args` is the agent, with an absolute path."""

    @property
    def agent(self) -> str:
        """The agent."""
        assert self.args is not None  # noqa: S101 (`of` gave them)
        return self.args[-1]

    @classmethod
    def of(cls, program: Sequence[str], agent: str, cwd: str | None = None) -> "ServedAgent":
        """`agent`, served by the command line `program`; `cwd` is the folder that a module is imported from.

        It inherits all variables, as it does where a person serves it.
        """
        return cls(program[0], [*program[1:], agent], cwd=cwd, inherit=True)

    def resolved(self, server: str, environ: Mapping[str, str]) -> Command:  # noqa: ARG002
        """The command as it is: a path may contain what looks like a variable."""
        return Command(*self)

    def summary(self) -> dict[str, Any]:
        """The agent, for a file that others read: a path relative to the working folder."""
        return {"agent": os.path.relpath(self.agent) if os.path.isabs(self.agent) else self.agent}  # noqa: PTH117

    def described(self) -> str:
        """The agent, on one line."""
        return on_one_line(self.agent)

    def identity(self) -> list[Any]:
        """What distinguishes this agent from others, as JSON; the same whichever script of ours serves it."""
        return ["agent", self.agent, self.cwd]


class TypedEntry(ServerEntry):
    """The entry of a typed server. Its name is what was typed, without secrets."""

    @property
    def key(self) -> str:
        """The same however it was typed, and another one for a file of another folder."""
        return f"{UNSAVED_MARK}{self.identity():08x}-{encodable(self.described())}"

    def identifying(self) -> list[Any]:
        """What the target is, and the working folder if a word of the command names something in it."""
        target = self.target
        words = [target.command, *(target.args or [])] if isinstance(target, Command) else []
        is_local = any(not os.path.isabs(word) and os.path.exists(word) for word in words)  # noqa: PTH110, PTH117
        return [*target.identity(), *([_working_folder()] if is_local else [])]


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""  # It has been removed.
