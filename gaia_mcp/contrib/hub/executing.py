"""Executes one request to an agent, once and with a deadline: runs its program, over a replacement for the user's
settings, or asks its endpoint in a loop of completions and calls; then masks the secrets in the result.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.asking import Call, enter_call
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.exit_reasons import last_words
from gaia_mcp.client.transports.stdio.launch import child_environment, command_words, secrets_given
from gaia_mcp.config.command import Command
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.handlers.adapters import AgentHandler
from gaia_mcp.contrib.handlers.base import MCPHandlerConfig, MCPRegistry
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from gaia_mcp.contrib.handlers.tool_loop import run_tool_loop
from gaia_mcp.contrib.hub.drivers import DRIVERS, endpoint
from gaia_mcp.contrib.hub.drivers.base import CAPABILITIES, Answer, Invocation, Overlay, Request, UnreadableOutputError
from gaia_mcp.contrib.hub.entries import (
    MAX_TIMEOUT_SECONDS,
    AgentEntry,
    Attendant,
    Endpoint,
    HubError,
    Limits,
    attended,
    model_problem,
    of_agent,
)
from gaia_mcp.contrib.hub.tool_server import MAX_RESULT_BYTES, RegisteredTools, Routes, Tools
from gaia_mcp.contrib.programs import Collected, drain_stdout, end_program, feed, private_folder
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CompletionError, ConfigError, DeadlineError, SpawnError
from gaia_mcp.core.files import read_file
from gaia_mcp.text import cut
from gaia_mcp.text.redaction.masker import Masker
from gaia_mcp.text.strict_json import TextProblemError, kind_of

if TYPE_CHECKING:
    from gaia_mcp.client.transports.stdio.child_pipes import Drain


# In the names of the folders of its runs.
_KIND = "agents"
# An agent's error text is cut to this length.
MAX_ERROR_CHARS = 4000
# The value of a variable whose name contains one of these is always a secret.
WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
# A running server accepts a connection sooner, even a distant one.
CONNECT_SECONDS = 10.0
# More than any answer, and small enough for the memory of sixteen runs.
MAX_OUTPUT_BYTES = 8 << 20
# Only the end of a longer line is read, since agents report progress in short lines.
MAX_LINE_BYTES = 1 << 20
# Output written before the program ended is already in the pipes.
SETTLE_SECONDS = 0.5
# More than a settings file written by hand.
MAX_SETTINGS_BYTES = 4 << 20


def execute(
    agent: AgentEntry,
    arguments: Mapping[str, Any],
    tools: Tools,
    limits: Limits,
    call: Call,
) -> dict[str, Any]:
    """The result of `execute_agent_request`; the agent may call `tools`. Raises `CallCancelledError`."""
    began = time.monotonic()
    metadata: dict[str, Any] = {"agent": agent.name, "kind": agent.kind}
    warnings: list[str] = []
    masker: Masker = own_masker(os.environ)
    try:
        request = read_request(agent, arguments, warnings)
        with limits.running(agent):
            target = agent.target.resolved(agent.name, os.environ)
            masker = masker_for(target, os.environ)
            deadline = Deadline(arguments.get("timeout", agent.timeout))
            answer = _answer(agent, target, request, tools, deadline, call, masker)
    except HubError as problem:
        answer = Answer("", str(problem))
    except ConfigError as problem:
        answer = Answer("", of_agent(str(problem), agent.name))
    if warnings:
        metadata["warnings"] = warnings
    return result(answer, time.monotonic() - began, metadata, masker)


def result(answer: Answer, seconds: float, metadata: Mapping[str, Any], masker: Masker) -> dict[str, Any]:
    """The result of `execute_agent_request` for an answer, without secrets."""
    shown: dict[str, Any] = {
        "status": "error" if answer.error else "success",
        "content": answer.content,
        "error": answer.error or None,
        "execution_time": round(seconds, 3),
        "tokens_used": answer.tokens,
        "metadata": {**metadata, **answer.metadata},
    }
    for key in ("content", "error"):
        shown[key] = masker.value(shown[key])
    # Masked before it is cut: a secret that is cut in the middle would not be recognized.
    shown["error"] = cut(shown["error"] or "", MAX_ERROR_CHARS) or None
    shown["metadata"] = {key: masker.value(value) for key, value in shown["metadata"].items()}
    return shown


def read_request(agent: AgentEntry, arguments: Mapping[str, Any], warnings: list[str]) -> Request:
    """The request that the arguments describe, which are valid by the schema. What it ignores is added to `warnings`.

    Raises `HubError`.
    """
    prompt, context = arguments["prompt"], arguments.get("context") or {}
    if not prompt.strip():
        raise HubError("the prompt is empty")
    for capability in arguments.get("capabilities") or ():
        if capability not in CAPABILITIES:
            warnings.append(f"capability {capability!r} is unknown")
        elif capability not in agent.capabilities:
            warnings.append(f"agent {agent.name!r} does not support the capability {capability!r}")
    known = endpoint.SETTINGS if agent.kind == endpoint.KIND else DRIVERS[agent.kind].settings
    config = arguments.get("config") or {}
    unknown = [key for key in config if key not in known and key != "model"]
    warnings += [f"config member {key!r} is unknown to agent {agent.name!r}, and is ignored" for key in unknown]
    model = config.get("model", agent.model)
    if "model" in config and (problem := model_problem(model)):
        raise HubError(f"config member 'model' {problem}")
    temperature = config.get("temperature", 0)
    # A string could contain the name of a variable, which Gemini expands in its settings.
    if "temperature" in known and (isinstance(temperature, bool) or not isinstance(temperature, (int, float))):
        raise HubError(f"config member 'temperature' must be a number, not {kind_of(temperature)}")
    request = Request(prompt, context, model, {key: config[key] for key in config if key in known})
    try:
        f"{prompt}{context}{request.settings}".encode()
    except UnicodeEncodeError:
        raise HubError("the prompt or its context is not Unicode text") from None
    return request


def _answer(
    agent: AgentEntry,
    target: Command | Endpoint,
    request: Request,
    tools: Tools,
    deadline: Deadline,
    call: Call,
    masker: Masker,
) -> Answer:
    attendant = Attendant(f"{agent.name} is working", deadline, call)
    with _failures(agent, attendant):
        if isinstance(target, Endpoint):
            return complete(target, request, tools, deadline, attendant)
        driver = DRIVERS[agent.kind]
        with private_folder(_KIND) as folder:
            ran = run_program(
                agent.name,
                target,
                driver.invocation(request._replace(tools=tools.server(folder))),
                folder=folder,
                on_line=lambda line: attendant.note(masker.text(driver.reported(line))),
                deadline=deadline,
                attendant=attendant,
                masker=masker,
            )
        return driver.answer(ran.stdout, ran.exit_status, ran.last_words)


@contextmanager
def _failures(agent: AgentEntry, attendant: Attendant) -> Iterator[None]:
    """Convert an agent's failures to `HubError`, whose text becomes the result's error."""
    try:
        yield
    except SpawnError as problem:
        raise HubError(f"agent {agent.name!r} cannot be started: {problem.command!r} {problem.reason}") from problem
    except DeadlineError as problem:
        text = f"agent {agent.name!r} did not answer within {problem.seconds:g} s, and was ended"
        raise HubError(f"{text}; it last reported: {attendant.latest}" if attendant.latest else text) from problem
    except UnreadableOutputError as problem:
        raise HubError(f"agent {agent.name!r} {problem}") from problem
    except CompletionError as problem:
        raise HubError(f"agent {agent.name!r} answered with a completion that {problem.problem}") from problem
    except EndpointError as problem:
        raise HubError(f"agent {agent.name!r} cannot be reached: {problem}") from problem


def own_masker(environ: Mapping[str, str]) -> Masker:
    """A masker for the secrets in the hub's own environment."""
    return Masker(dict.fromkeys(secrets_in(environ)))


def masker_for(target: Command | Endpoint, environ: Mapping[str, str]) -> Masker:
    """A masker for the secrets that an agent gets; `target` is resolved."""
    found = secrets_in(environ)
    if isinstance(target, Command):
        found += secrets_in(target.env)
        found += secrets_given(target.command, target.args, target.env, inherits_all=target.inherit)
    else:
        found += secrets_given(target.url, [], {"api_key": target.api_key})
    return Masker(dict.fromkeys(found))


def secrets_in(variables: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names indicate a secret, except paths that exist."""
    return [
        value
        for name, value in variables.items()
        if any(word in name.upper() for word in WORDS) and not (os.path.isabs(value) and os.path.exists(value))  # noqa: PTH110, PTH117
    ]


def complete(target: Endpoint, request: Request, tools: Tools, deadline: Deadline, attendant: Attendant) -> Answer:
    """The answer of an endpoint's model, which may call `tools`. Each completion is requested only once.

    Raises `HubError`, `EndpointError`, `UnreadableOutputError`, `CompletionError`, `DeadlineError`,
    `CallCancelledError`.
    """
    caller, url = Caller(target), endpoint.completions_url(target.url)
    # The call in which all tools run; it is cancelled with the request.
    calling = Call()
    model = request.model

    def ask(messages: list[dict[str, Any]], functions: list[dict[str, Any]] | None) -> dict[str, Any]:
        nonlocal model
        response = caller.request(url, endpoint.body(request, messages, functions), deadline)
        found = endpoint.completion(response.status, response.data)
        model = endpoint.model_of(found) or model
        return found

    routes = Routes(ConfigStore.locate(tools.config))
    registry = MCPRegistry()
    if tools.tools:
        agent = RegisteredTools(tools.agent, tools.tools, routes)
        # Each call has its server's timeout, and ends with the request; the handler needs no other limit.
        config = MCPHandlerConfig("tools", timeout=MAX_TIMEOUT_SECONDS, max_result_bytes=MAX_RESULT_BYTES)
        registry.register_builtin(AgentHandler(agent, config))

    def run() -> Answer:
        enter_call(calling)
        result = run_tool_loop(ask, endpoint.messages(request), manager)
        if not result.is_complete:
            raise HubError(f"agent {tools.agent!r} called tools {result.iterations} times, and gave no answer")
        return endpoint.answer(result.content, result.usage, model)

    def give_up() -> None:
        calling.cancel()
        caller.give_up()
        routes.close()

    with closing(routes), MCPManager(registry) as manager:
        return attended(run, attendant, give_up)


class EndpointError(Exception):
    """The endpoint could not be reached, broke the connection, or sent too much."""


class Response(NamedTuple):
    """An HTTP response."""

    status: int
    data: bytes


class Caller:
    """Sends requests to one endpoint. Another thread may abort them with `give_up`."""

    def __init__(self, target: Endpoint) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[Any] = []
        self._has_given_up = False

    def give_up(self) -> None:
        """Abort the current request and every later one."""
        with self._lock:
            self._has_given_up = True
            for each in self._sockets:
                # Closing the socket would not wake the thread that reads from it.
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def request(self, url: str, body: Mapping[str, Any] | None, deadline: Deadline) -> Response:
        """The response to one request, a POST if there is a body, otherwise a GET.

        Raises `EndpointError`, `DeadlineError`.
        """
        import httpx2

        parts: list[bytes] = []
        size = 0
        seconds = max(deadline.remaining(), 0.001)
        try:
            # Redirects are not followed, since the key must only be sent to this endpoint.
            with (
                httpx2.Client(
                    timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)), follow_redirects=False
                ) as client,
                client.stream(
                    "GET" if body is None else "POST",
                    url,
                    json=body,
                    headers=endpoint.headers(self._target.api_key),
                    extensions={"trace": self._trace},
                ) as response,
            ):
                for part in response.iter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_OUTPUT_BYTES:
                        raise EndpointError(f"its response has more than {MAX_OUTPUT_BYTES >> 20} MiB")
                    if deadline.expired:
                        raise DeadlineError(url, "in the middle of its response", deadline.seconds)
                return Response(response.status_code, b"".join(parts))
        except (httpx2.ReadTimeout, httpx2.WriteTimeout) as cause:
            raise DeadlineError(url, "before it answered", deadline.seconds) from cause
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as cause:
            raise EndpointError(str(cause) or type(cause).__name__) from cause

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Store the connection's socket, which httpx2 passes in its trace events."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        with self._lock:
            if self._has_given_up:
                raise EndpointError("the request was given up")
            self._sockets.append(info["return_value"].get_extra_info("socket"))


class Ran(NamedTuple):
    """The result of a run. `exit_status` is the negative signal number if a signal ended it."""

    stdout: bytes
    last_words: str
    exit_status: int


def run_program(
    agent: str,
    command: Command,
    invocation: Invocation,
    *,
    folder: Path,
    on_line: Callable[[bytes], None],
    deadline: Deadline,
    attendant: Attendant,
    masker: Masker,
) -> Ran:
    """Run the program of `command`, which is resolved, once. The program and the processes that it started have ended
    on return and on every exception. `folder` is private to the run. `on_line` is called with each line of stdout as it
    arrives, in another thread, and with the last lines of stderr if the deadline expires.

    Raises `SpawnError`, `DeadlineError`, `EntryError` for an invalid command line, `CallCancelledError`, and `HubError`
    if the program writes too much.
    """
    program, words = command_words(agent, command.command, command.args)
    own = {**command.env, **invocation.environment, **_variables(invocation, folder, {**os.environ, **command.env})}
    environment = child_environment(own, os.environ, inherits_all=command.inherit)
    child = Child(agent, program, [*words, *invocation.arguments], environment=environment, cwd=command.cwd)
    output, lines = Collected(MAX_OUTPUT_BYTES), _Lines(on_line)

    def take(data: bytes) -> None:
        output.take(data)
        if not output.is_flood:
            lines.take(data)

    drain: Drain | None = None
    try:
        child.start()
        drain = drain_stdout(child, agent, take)
        feed(child, agent, invocation.stdin, deadline)
        status = _wait(agent, child, output, attendant)
        drain.settle(SETTLE_SECONDS)
    except DeadlineError:
        # Some agents report a failed attempt only on stderr.
        for line in child.stderr_tail(masker).encode().splitlines():
            on_line(line)
        raise
    finally:
        end_program(child)
        if drain is not None:
            drain.stop(SETTLE_SECONDS)
    return Ran(output.data(), last_words(child.stderr_tail(masker)), status)


def _variables(invocation: Invocation, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Create the folders that an invocation needs. Returns the variables that contain their paths."""
    found = {}
    if invocation.temporary:
        temporary = folder / "tmp"
        temporary.mkdir(mode=0o700)
        found = dict.fromkeys(invocation.temporary, str(temporary))
    if invocation.overlay is not None:
        lay_over(folder, invocation.overlay, environ)
        found[invocation.overlay.variable] = str(folder)
    return found


class _Lines:
    """Splits chunks of output into lines."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._line = b""

    def take(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._on_line(line)
        if len(self._line) > MAX_LINE_BYTES:
            self._line = b""


def _wait(agent: str, child: Child, output: Collected, attendant: Attendant) -> int:
    while (status := child.wait(attendant.pause())) is None:
        if output.is_flood:
            break
        attendant.look()
    if status is None or output.is_flood:
        raise HubError(f"agent {agent!r} wrote more than {MAX_OUTPUT_BYTES >> 20} MiB, and was ended")
    return status


def lay_over(home: Path, overlay: Overlay, environ: Mapping[str, str]) -> None:
    """Create the folder of `overlay` in the new home `home`, as a replacement for that of the home in `environ`."""
    # Not `Path.home`, which raises for a user without a home folder.
    original = Path(environ.get(overlay.variable) or os.path.expanduser("~"), overlay.folder)  # noqa: PTH111
    folder = home / overlay.folder
    folder.mkdir(mode=0o700, parents=True)
    with contextlib.suppress(OSError):  # The user has no such folder.
        for path in original.iterdir():
            if path.name != overlay.file:
                (folder / path.name).symlink_to(path.absolute())
    members = {**_members_of(original / overlay.file), **overlay.members}
    for names, items in overlay.added.items():
        members = _with_items(members, names, items)
    (folder / overlay.file).write_text(json.dumps(members), "utf-8")


def _with_items(value: Any, names: Sequence[str], items: Sequence[Any]) -> Any:
    """`value` with `items` at the end of the list at the path of `names`, in place of what cannot hold them."""
    if not names:
        return [*(value if isinstance(value, list) else ()), *items]
    held = value if isinstance(value, dict) else {}
    return {**held, names[0]: _with_items(held.get(names[0]), names[1:], items)}


def _members_of(path: Path) -> dict[str, Any]:
    """The members of a JSON object in a file that may have comments; empty if it cannot be read."""
    from gaia_mcp.hosts import parsed

    try:
        value = parsed(read_file(path, MAX_SETTINGS_BYTES).decode("utf-8", "replace"), "json")
    except (OSError, TextProblemError):
        return {}
    return value if isinstance(value, dict) else {}
