"""What drivers of command lines have in common: the values that they take and return, and how a run is judged.

Every program is asked for a JSON object in each line, as it works: so a client learns what a long run does, and why one
that found no end in its time went on.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gaia_mcp.agents.hub.drivers.reading import events

# Reads the file of a path, which may begin with `~`; returns None if it cannot.
ReadFile = Callable[[str], bytes | None]
NOTHING: Mapping[str, Any] = MappingProxyType({})
# What an agent may be able to do: the words of the hub's document.
CAPABILITIES = (
    "code_generation", "code_editing", "code_analysis", "text_completion", "streaming", "multi_turn", "code_execution",
    "vision", "tool_use", "extended_thinking", "file_operations",
)  # fmt: skip
_OF_EVERY_CODER = {
    "code_generation", "code_editing", "code_analysis", "text_completion", "tool_use", "file_operations",
}  # fmt: skip
# The name under which an agent finds the server of the registered tools.
SERVER = "gaia"
# More than this is no event to report, but a file that an agent has read.
MAX_EVENT_BYTES = 1 << 16


class ToolServer(NamedTuple):
    """Our own stdio server of the registered tools: how an agent starts it, the names of the environment variables that
    it needs, and the names of its tools.
    """

    command: str
    arguments: list[str]
    variables: list[str]
    tools: list[str]


class Request(NamedTuple):
    """What an agent is asked. An empty `model` stands for the agent's own choice. `settings` are the members of the
    request's `config` that the driver knows, without `model`.
    """

    prompt: str
    context: Mapping[str, Any] = NOTHING
    model: str = ""
    settings: Mapping[str, Any] = NOTHING
    tools: ToolServer | None = None


class Overlay(NamedTuple):
    """A folder of a run that stands in for `folder` in the user's home, and holds all that this one holds. The members
    of the JSON object in its file `file` are replaced by `members`. The variable `variable` names the home.
    """

    variable: str
    folder: str
    file: str
    members: Mapping[str, Any]


class Invocation(NamedTuple):
    """What is run: the program's arguments and its standard input, over the environment of the hub these variables. The
    variables `temporary` hold the path of a folder that is removed after the run.
    """

    arguments: list[str]
    stdin: bytes
    environment: Mapping[str, str] = NOTHING
    overlay: Overlay | None = None
    temporary: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What an agent answered. `error` is empty for a success; `tokens` is None where the agent does not report them."""

    content: str
    error: str = ""
    tokens: int | None = None
    metadata: Mapping[str, Any] = NOTHING


class UnreadableOutputError(ValueError):
    """The output of an agent is not in the format that its driver asked for."""


class Driver(ABC):
    """One kind of agent that is a program. It has no state, and may be used from several threads.

    `program` is looked for on PATH, and run with `arguments`; `model_option` is its option for a model. `capabilities`
    are those of this way to run it; `settings` are the members of a request's `config` that it understands beside
    `model`.
    """

    kind: str
    program: str
    description: str
    capabilities: tuple[str, ...]
    arguments: tuple[str, ...]
    model_option = "-m"
    settings: frozenset[str] = frozenset()

    def arguments_of(self, request: Request) -> list[str]:
        """The arguments of every run, with the model of this one."""
        return [*self.arguments, *((self.model_option, request.model) if request.model else ())]

    @abstractmethod
    def invocation(self, request: Request) -> Invocation:
        """What is run for a request."""

    @abstractmethod
    def read(self, stdout: bytes) -> Answer:
        """What the program wrote. Raises `UnreadableOutputError`."""

    @abstractmethod
    def progress(self, event: Mapping[str, Any]) -> str:
        """What an event of its output reports about a run that goes on; an empty string for nothing."""

    @abstractmethod
    def has_key(self, environ: Mapping[str, str], read: ReadFile) -> bool:
        """Whether the agent can authenticate itself."""

    def reported(self, line: bytes) -> str:
        """What a line of its output reports about a run that goes on; an empty string for nothing."""
        if len(line) > MAX_EVENT_BYTES:
            return ""
        return "".join(self.progress(event) for event in events(line))

    def answer(self, stdout: bytes, exit_status: int | None, last_words: str) -> Answer:
        """What came of a run. `exit_status` is negative for the number of a signal; `last_words` is what the program
        last wrote to stderr. An exit status other than 0 is a failure, whatever was written.
        """
        try:
            answer = self.read(stdout)
        except UnreadableOutputError as problem:
            if exit_status:
                answer = Answer("", last_words or stdout.decode("utf-8", "replace").strip())
            else:
                answer = Answer("", f"{self.program} {problem}")
        if exit_status and not answer.error:
            answer = answer._replace(error=last_words or answer.content or f"{self.program} wrote nothing")
        if answer.error and exit_status:
            answer = answer._replace(error=f"{answer.error} ({_ended(self.program, exit_status)})")
        return answer


def coder(*more: str) -> tuple[str, ...]:
    """The capabilities that every coding agent has, and `more`."""
    return tuple(each for each in CAPABILITIES if each in _OF_EVERY_CODER or each in more)


def prompt_bytes(request: Request, before: str = "") -> bytes:
    """The prompt as it is, between `before` and the context, if there is one. Raises `UnicodeEncodeError`."""
    return f"{before}{request.prompt}{context_text(request.context)}".encode()


def no_command(request: Request) -> str:
    """What stands before a prompt so that a program does not take it for a command of its own, such as `/help`."""
    return "\n" if request.prompt.startswith("/") else ""


def context_text(context: Mapping[str, Any]) -> str:
    """The context as a text that follows a prompt; empty without one."""
    return f"\n\nContext (JSON):\n{json.dumps(context, ensure_ascii=False, indent=2)}\n" if context else ""


def _ended(program: str, exit_status: int) -> str:
    return f"{program} ended with exit status {exit_status}" if exit_status > 0 else f"signal {-exit_status}"
