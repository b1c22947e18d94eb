"""The base class of drivers for command-line programs: the values that they take and return, how failure is detected,
and how an agent starts our own program, the stdio server of the registered tools.

Every program is run in its streaming JSON format, an event in each line. So a client learns the progress of a long run,
and the last event before a deadline expired. In its output any member may be missing or of another type.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.stdio.processes import VARIABLE
from gaia_mcp.config.served import own_module
from gaia_mcp.text.strict_json import JSONTextError, parse_json

if TYPE_CHECKING:
    from pathlib import Path

# Reads the file at a path, which may begin with `~`; returns None if it cannot be read.
ReadFile = Callable[[str], bytes | None]
NOTHING: Mapping[str, Any] = MappingProxyType({})
# All capabilities of agents, as named in the hub's specification.
CAPABILITIES = (
    "code_generation", "code_editing", "code_analysis", "text_completion", "streaming", "multi_turn", "code_execution",
    "vision", "tool_use", "extended_thinking", "file_operations",
)  # fmt: skip
_OF_EVERY_CODER = {
    "code_generation", "code_editing", "code_analysis", "text_completion", "tool_use", "file_operations",
}  # fmt: skip
# The name of the registered tools' server in an agent's configuration.
SERVER = "gaia"
# A longer event does not report progress: it contains, for example, a file that the agent has read.
MAX_EVENT_BYTES = 1 << 16
# The loader's name for the server, which users do not type.
TARGET = "agents-tools"
# Excludes functions that a shell exported, which are not passed on.
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"


class ToolServer(NamedTuple):
    """Our stdio server of the registered tools: how an agent starts it, the names of the environment variables that it
    needs, and the names of its tools.
    """

    command: str
    arguments: list[str]
    variables: list[str]
    tools: list[str]


class Request(NamedTuple):
    """A request to an agent. An empty `model` stands for the agent's default. `settings` are the members of the
    request's `config` that the driver supports, without `model`.
    """

    prompt: str
    context: Mapping[str, Any] = NOTHING
    model: str = ""
    settings: Mapping[str, Any] = NOTHING
    tools: ToolServer | None = None


class Overlay(NamedTuple):
    """A folder of a run that replaces `folder` in the user's home, with the same entries. In the JSON object of its
    file `file`, `members` replace the members of the same names, and the lists of `added`, by the path of each, are
    appended to those that are there. The variable `variable` contains the path of the home.
    """

    variable: str
    folder: str
    file: str
    members: Mapping[str, Any]
    added: Mapping[tuple[str, ...], Sequence[Any]] = MappingProxyType({})


class Invocation(NamedTuple):
    """The program's arguments, its stdin, and the variables that it gets in addition to the hub's environment. The
    variables in `temporary` are set to the path of a folder that is removed after the run.
    """

    arguments: list[str]
    stdin: bytes
    environment: Mapping[str, str] = NOTHING
    overlay: Overlay | None = None
    temporary: tuple[str, ...] = ()


class Answer(NamedTuple):
    """The answer of an agent. `error` is empty on success; `tokens` is None if the agent does not report them."""

    content: str
    error: str = ""
    tokens: int | None = None
    metadata: Mapping[str, Any] = NOTHING


class UnreadableOutputError(ValueError):
    """The output of an agent is not in the format that its driver expects."""


class Driver(ABC):
    """One kind of agent that is a program. Has no state, and may be used from several threads.

    `program` is looked up on PATH, and run with `arguments`; `model_option` is its option for a model. `capabilities`
    are those that it has when run like this; `settings` are the members of a request's `config` that it supports in
    addition to `model`.
    """

    kind: str
    program: str
    description: str
    capabilities: tuple[str, ...]
    arguments: tuple[str, ...]
    model_option = "-m"
    settings: frozenset[str] = frozenset()

    def arguments_of(self, request: Request) -> list[str]:
        """The arguments of every run, and the model of this request."""
        return [*self.arguments, *((self.model_option, request.model) if request.model else ())]

    @abstractmethod
    def invocation(self, request: Request) -> Invocation:
        """The invocation for a request."""

    @abstractmethod
    def read(self, stdout: bytes) -> Answer:
        """The answer in the program's output. Raises `UnreadableOutputError`."""

    @abstractmethod
    def progress(self, event: Mapping[str, Any]) -> str:
        """The progress that an event of the output reports; empty if none."""

    @abstractmethod
    def has_key(self, environ: Mapping[str, str], read: ReadFile) -> bool:
        """Whether the agent has credentials."""

    def reported(self, line: bytes) -> str:
        """The progress that a line of the output reports; empty if none."""
        if len(line) > MAX_EVENT_BYTES:
            return ""
        return "".join(self.progress(event) for event in events(line))

    def answer(self, stdout: bytes, exit_status: int | None, last_words: str) -> Answer:
        """The answer of a run. `exit_status` is the negative signal number if a signal ended it; `last_words` is the
        end of stderr. An exit status other than 0 is a failure, regardless of the output.
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
    """The capabilities that all coding agents have, and `more`."""
    return tuple(each for each in CAPABILITIES if each in _OF_EVERY_CODER or each in more)


def prompt_bytes(request: Request, before: str = "") -> bytes:
    """`before`, the unchanged prompt, and the context, if any. Raises `UnicodeEncodeError`."""
    return f"{before}{request.prompt}{context_text(request.context)}".encode()


def no_command(request: Request) -> str:
    """The prefix that prevents a program from taking the prompt as one of its commands, such as `/help`."""
    return "\n" if request.prompt.startswith("/") else ""


def context_text(context: Mapping[str, Any]) -> str:
    """The context as text to append to a prompt; empty without a context."""
    return f"\n\nContext (JSON):\n{json.dumps(context, ensure_ascii=False, indent=2)}\n" if context else ""


def _ended(program: str, exit_status: int) -> str:
    return f"{program} ended with exit status {exit_status}" if exit_status > 0 else f"signal {-exit_status}"


def events(output: bytes) -> list[dict[str, Any]]:
    """The JSON objects among the lines. Other lines are skipped, such as an incomplete last one."""
    found = []
    for line in output.split(b"\n"):
        try:
            event = parse_json(line.decode("utf-8", "replace"))
        except JSONTextError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def unwrapped(error: str) -> str:
    """The message in an API's error response, if `error` is such a response; otherwise `error` itself."""
    try:
        return text_in(parse_json(error), "error", "message") or error
    except JSONTextError:
        return error


def count_of(*values: Any) -> int | None:
    """The sum of the values that are token counts; None if none is."""
    counts = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= 0]
    return sum(counts) if counts else None


def text_in(value: Any, *keys: str) -> str:
    """The string at the path `keys` in nested objects; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def tool_server(file: Path, tools: Sequence[str], variables: Iterable[str]) -> ToolServer:
    """How agents start the server of the tools in `file`. It needs all our `variables`, since server entries refer to
    them, and the variable by which its process is found when a run ends, since some agents start it in a separate
    process group.
    """
    program, *words = own_module()
    arguments = [*words, "serve", TARGET, "--kwarg", f"file={file}"]
    names = sorted({VARIABLE, *(name for name in variables if re.fullmatch(_VARIABLE, name))})
    return ToolServer(program, arguments, names, list(tools))
