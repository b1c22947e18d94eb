"""The agents of the hub: the known programs, and those that the configuration defines under `agents`; and what bounds a
request to one: number at once, number in a minute, deadline, cancellation.

Excess requests fail without waiting.

An entry contains the values as written in the file. Variables in them are expanded when the agent is used.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gaia_mcp.config.command import Command, expanded
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.contrib.hub.drivers import DRIVERS, endpoint
from gaia_mcp.contrib.hub.drivers.base import CAPABILITIES
from gaia_mcp.core.errors import ConfigFileError, DeadlineError, EntryError
from gaia_mcp.core.names import did_you_mean, is_server_name
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.deadline import Deadline

# The top-level key in the configuration file.
SECTION = "agents"
DEFAULT_TIMEOUT_SECONDS = 30
# Coding agents work for a long time, but clients do not wait longer than this.
MAX_TIMEOUT_SECONDS = 3600
# Each run of an agent is a process of several hundred megabytes.
DEFAULT_CONCURRENT = 4
MAX_CONCURRENT = 1000
DEFAULT_PER_MINUTE = 60
MAX_PER_MINUTE = 100_000
_COMMAND = ("command", "args", "env", "cwd")
MINUTE_SECONDS = 60.0
T = TypeVar("T")
# The interval at which cancellation is checked.
LOOK_SECONDS = 0.1
# The interval of progress notifications. Some clients give up on a request after a minute without one.
PROGRESS_SECONDS = 2.0
# Aborted work ends at once, unless it is blocked in the operating system, such as in a DNS lookup.
GIVE_UP_SECONDS = 5.0


class Endpoint(NamedTuple):
    """An OpenAI-compatible endpoint. `api_key` is a string, or `{"$keyring": …}` until it is resolved."""

    url: str
    api_key: Any = ""

    def resolved(self, agent: str, environ: Mapping[str, str]) -> Endpoint:
        """The endpoint with its variables expanded and its key fetched from the keyring.

        Raises `VariableUnsetError`, and `EntryError` for a key that cannot be fetched or a URL that is not HTTP.
        """
        url = expanded(self.url, environ, server=agent, field="endpoint")
        if not url.startswith(URL_SCHEMES):
            raise EntryError(agent, "'endpoint' must begin with http:// or https://, also after its variables")
        if isinstance(self.api_key, str):
            return Endpoint(url, expanded(self.api_key, environ, server=agent, field="api_key"))
        from gaia_mcp.config.command import secret_from_keyring

        return Endpoint(url, secret_from_keyring(agent, "api_key", self.api_key["$keyring"]))


class AgentEntry(NamedTuple):
    """An agent. `kind` is the key of its driver, or "endpoint"; `timeout` is in seconds."""

    name: str
    kind: str
    target: Command | Endpoint
    description: str
    capabilities: tuple[str, ...]
    model: str = ""
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    max_concurrent: int = DEFAULT_CONCURRENT
    per_minute: int = DEFAULT_PER_MINUTE


def read_agents(store: ConfigStore) -> dict[str, AgentEntry]:
    """The enabled agents by name: first those that have a driver, then the others in the configuration.

    Raises `ConfigFileError`, which names the file, the agent and the invalid member.
    """
    configured = store.section(SECTION)
    found: dict[str, AgentEntry] = {}
    for name in dict.fromkeys((*DRIVERS, *configured)):
        raw, source = configured.get(name, ({}, store.path))
        try:
            entry = read_agent(name, raw)
        except EntryError as error:
            raise ConfigFileError(source, of_agent(str(error), name)) from error
        if entry is not None:
            found[name] = entry
    return found


def of_agent(problem: str, name: str) -> str:
    """The text of an error about server `name`, rewritten for the agent of that name."""
    rest = problem.removeprefix(f"server {name!r}")
    return problem if rest == problem else f"agent {name!r}{rest}"


def read_agent(name: str, raw: Any) -> AgentEntry | None:
    """The agent that `raw` describes, or None if it is disabled.

    Raises `EntryError`, which names the invalid member.
    """
    if not is_server_name(name):
        raise EntryError(name, "is not a name: use letters, digits, '_', '.', '@' and '-', at most 64")
    if not isinstance(raw, dict):
        raise EntryError(name, f"needs an object, not {type(raw).__name__}")
    disabled = raw.get("disabled", False)
    if not isinstance(disabled, bool):
        raise EntryError(name, "'disabled' must be true or false")
    kind = _kind(name, raw)
    driver = DRIVERS.get(kind)
    entry = AgentEntry(
        name,
        kind,
        _endpoint(name, raw) if driver is None else _command(name, raw, driver.program),
        _text(name, raw, "description") or (endpoint.DESCRIPTION if driver is None else driver.description),
        _capabilities(name, raw, endpoint.CAPABILITIES if driver is None else driver.capabilities),
        _model(name, raw),
        _number(name, raw, "timeout", DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS),
        int(_number(name, raw, "max_concurrent", DEFAULT_CONCURRENT, MAX_CONCURRENT, is_count=True)),
        int(_number(name, raw, "per_minute", DEFAULT_PER_MINUTE, MAX_PER_MINUTE, is_count=True)),
    )
    return None if disabled else entry


def _kind(name: str, raw: Mapping[str, Any]) -> str:
    kind = raw.get("kind")
    if kind is None:
        kind = endpoint.KIND if "endpoint" in raw else name
        if kind == endpoint.KIND and "endpoint" in raw:
            return kind
        if kind not in DRIVERS:
            raise EntryError(name, f"needs an 'endpoint', or a 'kind': {', '.join(DRIVERS)}")
    if not isinstance(kind, str) or kind not in (*DRIVERS, endpoint.KIND):
        raise EntryError(name, f"'kind' must be one of {', '.join((*DRIVERS, endpoint.KIND))}, not {kind!r}")
    if kind != endpoint.KIND and "endpoint" in raw:
        raise EntryError(name, f"'endpoint' cannot stand beside the 'kind' {kind!r}")
    return kind


def _endpoint(name: str, raw: Mapping[str, Any]) -> Endpoint:
    url, key = raw.get("endpoint"), raw.get("api_key", "")
    if not isinstance(url, str) or not url.startswith((*URL_SCHEMES, "${")) or not url.isprintable() or " " in url:
        raise EntryError(name, "'endpoint' must begin with http:// or https://")
    is_reference = isinstance(key, dict) and isinstance(key.get("$keyring"), str)
    if not is_reference and not (isinstance(key, str) and key.isascii() and (key.isprintable() or not key)):
        raise EntryError(name, "'api_key' must be a string, such as ${API_KEY}")
    for member in _COMMAND:
        if member in raw:
            raise EntryError(name, f"{member!r} cannot stand beside 'endpoint'")
    return Endpoint(url, key)


def _command(name: str, raw: Mapping[str, Any], program: str) -> Command:
    given = {key: raw[key] for key in _COMMAND if key in raw}
    if "command" not in given:
        given = {"args": [], **given, "command": program}
    target = read_entry(name, given).target
    assert isinstance(target, Command)  # noqa: S101 (it has a command)
    # It inherits all variables, as from a shell, since its key and settings may be in variables of any name.
    return target._replace(inherit=True)


def _text(name: str, raw: Mapping[str, Any], key: str) -> str:
    text = raw.get(key, "")
    if not isinstance(text, str):
        raise EntryError(name, f"{key!r} must be a string")
    return text


def _model(name: str, raw: Mapping[str, Any]) -> str:
    model = _text(name, raw, "model")
    if model and (problem := model_problem(model)):
        raise EntryError(name, f"'model' {problem}")
    return model


def model_problem(model: Any) -> str:
    """Why `model` is not a valid model name; empty if it is. A name with a leading dash would be taken as an option."""
    is_name = isinstance(model, str) and model.isprintable() and 0 < len(model) <= 200
    if not is_name or model[0] == "-" or model.split() != [model]:
        return "must be the name of a model: without blanks, and not beginning with '-'"
    return ""


def _capabilities(name: str, raw: Mapping[str, Any], default: tuple[str, ...]) -> tuple[str, ...]:
    given = raw.get("capabilities", list(default))
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise EntryError(name, "'capabilities' must be a list of strings")
    for each in given:
        if each not in CAPABILITIES:
            hint = did_you_mean(each, CAPABILITIES)
            raise EntryError(name, f"'capabilities' holds {each!r}, which is unknown" + (f"; {hint}" if hint else ""))
    return tuple(dict.fromkeys(given))


def _number(name: str, raw: Mapping[str, Any], key: str, default: float, most: int, *, is_count: bool = False) -> float:
    number = raw.get(key, default)
    is_number = isinstance(number, int) or (isinstance(number, float) and not is_count)
    if not is_number or isinstance(number, bool) or not (1 if is_count else 0) <= number <= most or number == 0:
        kind = f"a whole number from 1 to {most}" if is_count else f"a number of seconds above 0 and up to {most}"
        raise EntryError(name, f"{key!r} must be {kind}")
    return float(number)


class Limits:
    """Counts the running requests, at most `most`, and the requests of the last minute. May be used from several
    threads.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}
        self._begun: dict[str, deque[float]] = {}

    @contextmanager
    def running(self, agent: AgentEntry) -> Iterator[None]:
        """Count one request of `agent` as running. Raises `HubError` at once if it exceeds a limit."""
        self._begin(agent)
        try:
            yield
        finally:
            with self._lock:
                self._running[agent.name] -= 1

    def _begin(self, agent: AgentEntry) -> None:
        with self._lock:
            if sum(self._running.values()) >= self._most:
                raise HubError(f"{self._most} agents are running, which is the limit of the hub; try again later")
            if self._running.get(agent.name, 0) >= agent.max_concurrent:
                limit = f"{agent.max_concurrent} requests of agent {agent.name!r} are running"
                raise HubError(f"{limit}, which is its max_concurrent; try again later")
            now = self._clock()
            begun = self._begun.setdefault(agent.name, deque())
            while begun and begun[0] <= now - MINUTE_SECONDS:
                begun.popleft()
            if len(begun) >= agent.per_minute:
                # There may be more than `per_minute`, if the configuration was changed to a smaller number.
                seconds = max(1, round(begun[-agent.per_minute] + MINUTE_SECONDS - now))
                limit = f"agent {agent.name!r} has had {agent.per_minute} requests in a minute"
                raise HubError(f"{limit}, which is its per_minute; try again in {seconds} s")
            begun.append(now)
            self._running[agent.name] = self._running.get(agent.name, 0) + 1


class HubError(Exception):
    """The request failed. The text becomes the `error` of its result."""


class Attendant:
    """Supervises the request of `call` until `deadline`. Progress messages consist of `doing`, such as "claude is
    working", and `latest`, the agent's own latest report.
    """

    def __init__(self, doing: str, deadline: Deadline, call: Call) -> None:
        self._doing = doing
        self._deadline = deadline
        self._call = call
        self._began = self._reported = time.monotonic()
        self.latest = ""

    def note(self, report: str) -> None:
        """Store a report of the agent as one line, unless it is empty. May be called from any thread."""
        self.latest = one_line(report) or self.latest

    def pause(self) -> float:
        """The seconds to wait before the next `look`."""
        return min(LOOK_SECONDS, self._deadline.remaining())

    def look(self) -> None:
        """Report progress if it is due. Raises `CallCancelledError`, `DeadlineError`."""
        self._call.raise_if_cancelled()
        if self._deadline.expired:
            raise DeadlineError(self._doing, "before it answered", self._deadline.seconds)
        now = time.monotonic()
        if now - self._reported >= PROGRESS_SECONDS:
            self._reported = now
            seconds = round(now - self._began, 1)
            text = f"{self._doing} ({seconds:.0f} s)"
            self._call.progress(seconds, self._deadline.seconds, f"{text}: {self.latest}" if self.latest else text)


def attended(work: Callable[[], T], attendant: Attendant, give_up: Callable[[], object]) -> T:
    """Run `work` in a separate thread, supervised from this one. Returns or raises what `work` does.

    If the request is cancelled or its deadline expires, `give_up` is called repeatedly until `work` has ended, for at
    most `GIVE_UP_SECONDS`: `work` may start something new in the meantime. Raises `DeadlineError`,
    `CallCancelledError`.
    """
    done = threading.Event()
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:  # noqa: BLE001 (raised in the waiting thread)
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=run, name="attended", daemon=True).start()
    try:
        while not done.wait(attendant.pause()):
            attendant.look()
    except BaseException:
        end = time.monotonic() + GIVE_UP_SECONDS
        give_up()
        while not done.wait(LOOK_SECONDS) and time.monotonic() < end:
            give_up()
        raise
    if problems:
        raise problems[0]
    return results[0]
