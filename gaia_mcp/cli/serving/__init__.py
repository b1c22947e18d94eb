"""The targets of `gaia mcp serve`: an agent, handlers, or configured servers, over stdio or HTTP.

They are loaded, opened and watched here, for any transport: an agent is checked, and reloaded when its files change.
Several targets each have a unique name.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import AgentError
from gaia_mcp.core.names import handler_name, is_server_name, tidy_name
from gaia_mcp.core.systems import imported

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.core.systems import CodeKind
    from gaia_mcp.server.agent import AgentProvider
    from gaia_mcp.server.http.app import Front
    from gaia_mcp.server.http.gateway_marks import GatewayMarks
    from gaia_mcp.server.outcomes import OnFailure
    from gaia_mcp.server.provider import CheckedProvider, Provider

# Python's default thresholds for garbage collection.
COLLECTION = (700, 10, 10)
# Each call has a thread; a larger value is a typing error.
MAX_CALLS = 10_000
# The groups of the options of `serve`. They come in the order of its parameters.
SERVED = "What is served"
WHERE = "Where it is served"
ACCESS = "Who may use it over HTTP"
LIMITS = "Limits and logs"


class Loaded(NamedTuple):
    """A provider, and its limit for concurrent calls; None if no limit is set. `marks` identify a
    gateway, which `fronts` serve as well.
    """

    provider: Provider
    limit: int | None
    marks: GatewayMarks | None = None
    fronts: Sequence[Front] = ()


class LoadCode(Protocol):
    """Loads code of a kind, as the target with the settings of `order`. `remark` prints what a person has to know,
    `log` what the code prints.
    """

    def __call__(
        self,
        target: str,
        order: Mapping[str, Any],
        *,
        remark: Callable[[str], object],
        log: Callable[[str], object],
        on_failure: OnFailure,
    ) -> CheckedProvider: ...


def code_provider(screen: Screen, kind: CodeKind, target: str, order: Mapping[str, Any]) -> CheckedProvider:
    """The provider of code that is not an agent, or of a folder of it.

    Raises `HandlerError`, and `UsageError` for settings that are given for a folder.
    """
    if order.get("settings") and os.path.isdir(target):  # noqa: PTH112
        raise UsageError("--kwarg is for one handler", hint="name the file of one: path/to/NAME_handler.py")
    load: LoadCode = imported(kind.provider)
    return load(target, order, remark=screen.remark, log=screen.to_stderr, on_failure=screen.report_failure)


def load_provider(
    screen: Screen,
    target: str,
    order: Mapping[str, Any],
    keywords: dict[str, Any],
    *,
    max_calls: int | None,
    reload: bool,
) -> Loaded:
    """The provider of an agent or of handlers, configured by `order`.

    Raises `AgentError`, `HandlerError`, and `UsageError` for options that do not apply to the target.
    """
    from gaia_mcp.cli.entries.targets import kind_to_serve

    if screen.debug:
        import logging

        # The built-in agents log their tracebacks only at this level.
        logging.getLogger("gaia_mcp").setLevel(logging.DEBUG)
    provider: Provider
    if (kind := kind_to_serve(target, order)) is not None:
        if reload:
            raise UsageError("--reload is for an agent", hint="leave it out, and start it again")
        provider = code_provider(screen, kind, target, {**order, "settings": keywords})
        limit = max_calls
    else:
        agent = sound_agent(target, keywords)
        limit = max_calls or own_limit(target, agent)
        provider = served = agent_provider(
            screen, target, agent, lambda text: screen.remark(f"{target}: {text}"), list_changes=reload
        )
        open_agent(target, served)
        if (max_bytes := order.get("max_result_bytes")) is not None:
            from gaia_mcp.server.capping import CappedProvider

            provider = CappedProvider(served, max_bytes)
        if reload:
            watch_agent(screen, target, keywords, served)
    # The server may run for weeks, so garbage is collected as often as in any program, without scanning the loaded
    # modules.
    gc.freeze()
    gc.set_threshold(*COLLECTION)
    return Loaded(provider, limit)


def own_limit(target: str, agent: Any) -> int | None:
    """The agent's own limit for concurrent calls; None if it has none. Raises `AgentError` for an invalid limit."""
    limit = getattr(agent, "max_calls", None)
    if limit is not None and (type(limit) is not int or not 1 <= limit <= MAX_CALLS):
        raise AgentError(
            target, f"has the max_calls {limit!r}, not a number from 1 to {MAX_CALLS}", case="agent-problem"
        )
    return limit


def sound_agent(target: str, keywords: dict[str, Any]) -> Any:
    """Load and check the agent. An agent with a tool whose type hints are wrong is not served at all, because without
    an error its author would search for the missing tool. Raises `AgentError`.
    """
    from gaia_mcp.agents import load_agent

    agent = load_agent(target, keywords)
    with _describing(target):
        problems = agent.get_mcp_tool_problems() if hasattr(agent, "get_mcp_tool_problems") else ()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise AgentError(target, f"has a problem: {problems[0]}{more}", case="agent-problem")
    return agent


def agent_provider(
    screen: Screen, target: str, agent: Any, tell: Callable[[str], None], *, list_changes: bool = False
) -> AgentProvider:
    from gaia_mcp.server.agent import AgentProvider

    with _describing(target):
        provider = AgentProvider(agent, list_changes=list_changes, report=tell, on_failure=screen.report_failure)
        provider.describe()
    return provider


def open_agent(target: str, provider: AgentProvider) -> None:
    """Open the agent's resources, which live as long as the server. Raises `AgentError`."""
    from gaia_mcp.importing import failure_in_words

    try:
        provider.open()
    except (Exception, SystemExit) as cause:
        problem = f"cannot be opened: {failure_in_words(cause)}"
        raise AgentError(target, problem, hint="see the traceback with --debug") from cause


def watch_agent(screen: Screen, target: str, keywords: dict[str, Any], provider: AgentProvider) -> None:
    """Reload the agent whenever its files change."""
    from gaia_mcp.agents import source_folder

    if (folder := source_folder(target)) is None:
        screen.remark(f"{target} is built in and has no files to watch")
        return

    def load_again() -> None:
        agent = sound_agent(target, keywords)
        with _describing(target):
            provider.replace_agent(agent)
        screen.remark("the agent has changed and was reloaded")

    from gaia_mcp.agents import watch

    watch(folder, load_again, screen.report)


@contextmanager
def _describing(target: str) -> Iterator[None]:
    """Convert an exception of the agent's code, raised while it is described, to an `AgentError` with its name."""
    from gaia_mcp.importing import failure_in_words

    try:
        yield
    except (Exception, SystemExit) as cause:
        problem = f"cannot describe itself: {failure_in_words(cause)}"
        raise AgentError(target, problem, hint="see the traceback with --debug") from cause


class Mount(NamedTuple):
    """A target, the path at which it is served, and a function that loads it. `name` is used in clients' entries."""

    name: str
    target: str
    path: str
    load: Callable[[], Loaded]


def target_name(target: str) -> str:
    """The default name for a server of this target."""
    place, _, kind = target.rpartition(":")
    if place:
        return kind.lower()
    found = os.path.abspath(os.path.expanduser(target))  # noqa: PTH100, PTH111 (never raise)
    is_place = target.endswith(".py") or os.path.isdir(found)  # noqa: PTH112
    return (handler_name(Path(found).stem) if is_place else target).lower()


def named_targets(words: Sequence[str]) -> dict[str, str]:
    """The targets by name, which `NAME=TARGET` sets. Raises `UsageError` for a duplicate or missing name."""
    found: dict[str, str] = {}
    for word in words:
        given, is_named, target = word.partition("=")
        if not is_named or not is_server_name(given) or Path(word).exists():
            given, target = tidy_name(target_name(word)), word
        if not given or given in found:
            problem = f"{target!r} has no name for its URL" if not given else f"two targets are named {given!r}"
            raise UsageError(problem, hint=f"give each a name of its own, such as first={target}")
        found[given] = target
    return found
