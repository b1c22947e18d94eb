"""`gaia mcp serve`: serve an agent as an MCP server over stdio."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import agent_names, host_names
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.jsontext import JSONTextError, RepeatedKeyError, parse_json

if TYPE_CHECKING:
    from gaia_mcp.server.agent import AgentProvider

# Each has a thread; more is a slip of the finger.
MAX_CALLS = 10_000

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="path/to/file.py[:Class], package.module:Class, or a built-in agent (demo, agents).",
        autocompletion=agent_names,
    ),
]
KwargOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kwarg", metavar="K=JSON", help="Pass an argument to the class; what is not JSON is passed as text.",
    ),
]  # fmt: skip
ReloadOption = Annotated[
    bool, typer.Option("--reload", help="Reload the agent when its files change; clients stay connected.")
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        "--max-calls", metavar="N", min=1, max=MAX_CALLS, show_default=False,
        help="Run N calls at once; more of them wait. Default: the agent's max_calls, or 32.",
    ),
]  # fmt: skip
CheckOption = Annotated[
    bool, typer.Option("--check", help="List what would be served and every problem, and serve nothing.")
]
PrintConfigOption = Annotated[
    str | None,
    typer.Option(
        "--print-config",
        metavar="HOST",
        help="Print the entry for a host such as cursor, and serve nothing.",
        autocompletion=host_names,
        show_default=False,
    ),
]
COMMON = (JSON,)
# Python's own thresholds of garbage collection.
COLLECTION = (700, 10, 10)


def serve(
    target: Target,
    kwarg: KwargOption = None,
    reload: ReloadOption = False,
    max_calls: MaxCallsOption = None,
    check: CheckOption = False,
    print_config: PrintConfigOption = None,
) -> None:
    """Serve an agent as an MCP server over stdin and stdout.

    Its tools are the methods of an MCPAgent that are marked with @tool; any class with get_mcp_tool_definitions() and
    execute_mcp_tool() will do as well. What it prints goes to stderr.

    Example: gaia mcp serve demo
    """
    import os

    from gaia_mcp.config.served import take_order

    given: dict[str, Any] = {}
    for item in kwarg or []:
        key, value = _keyword(item)
        if key in given:
            raise UsageError(f"--kwarg {key!r} is given twice", hint="write a list as JSON: --kwarg name=[1,2]")
        given[key] = value
    keywords = {**take_order(os.environ).get("settings", {}), **given}
    if print_config is not None:
        from gaia_mcp.cli.transfer.host_entry import home_alone
        from gaia_mcp.cli.transfer.host_files import known_host
        from gaia_mcp.cli.transfer.snippets import own_entry, print_entries

        words = [word for item in kwarg or [] for word in ("--kwarg", item)]
        words += ["--max-calls", str(max_calls)] if max_calls is not None else []
        name, entry = own_entry(target, [*words, *(["--reload"] if reload else [])])
        print_entries(known_host(print_config), {name: entry}, home_alone, show_secrets=True)
        return
    if check:
        from gaia_mcp.agents.loader import load_agent
        from gaia_mcp.cli.checks.serving import check_serving

        check_serving(target, lambda: _provider(target, load_agent(target, keywords), lambda _: None))
        return
    if on_terminal(sys.stdin):
        remark(f"serving {target} to the MCP client on standard input; Ctrl-C ends it")

    # The pipes are taken before any code of the agent is imported.
    from gaia_mcp.server.stdio.process import StdioServer

    server = StdioServer(
        target,
        on_full=lambda limit: remark(f"{limit} calls of {target} are running, and the next ones wait: see --max-calls"),
    )

    def load() -> AgentProvider:
        agent = _sound_agent(target, keywords)
        if (limit := max_calls or _own_limit(target, agent)) is not None:
            server.allow(limit)
        provider = _provider(target, agent, lambda problem: remark(f"{target}: {problem}"), list_changes=reload)
        if reload:
            _watch(target, keywords, provider)
        # An agent may run for weeks: what it makes is collected as often as in any other program, without looking
        # through what was loaded.
        gc.freeze()
        gc.set_threshold(*COLLECTION)
        return provider

    server.run(load)


def _own_limit(target: str, agent: Any) -> int | None:
    """How many calls at once the agent allows; None if it says nothing of it. Raises `AgentError`."""
    from gaia_mcp.errors import AgentError

    limit = getattr(agent, "max_calls", None)
    if limit is not None and (type(limit) is not int or not 1 <= limit <= MAX_CALLS):
        raise AgentError(
            target, f"has the max_calls {limit!r}, not a number from 1 to {MAX_CALLS}", case="agent-problem"
        )
    return limit


def _sound_agent(target: str, keywords: dict[str, Any]) -> Any:
    """The agent. One whose type hints are wrong is not served without the tools in question: its author would look for
    them. Raises `AgentError`.
    """
    from gaia_mcp.agents.loader import load_agent
    from gaia_mcp.errors import AgentError

    agent = load_agent(target, keywords)
    with _describing(target):
        problems = agent.get_mcp_tool_problems() if hasattr(agent, "get_mcp_tool_problems") else ()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise AgentError(target, f"has a problem: {problems[0]}{more}", case="agent-problem")
    return agent


def _provider(target: str, agent: Any, tell: Callable[[str], None], *, list_changes: bool = False) -> AgentProvider:
    from gaia_mcp.server.agent import AgentProvider

    with _describing(target):
        provider = AgentProvider(agent, list_changes=list_changes, report=tell)
        provider.describe()
    return provider


def _watch(target: str, keywords: dict[str, Any], provider: AgentProvider) -> None:
    """Replace the agent whenever its files change."""
    from gaia_mcp.agents.loader import source_folder

    if (folder := source_folder(target)) is None:
        remark(f"{target} is built in and has no files to watch")
        return

    def load_again() -> None:
        agent = _sound_agent(target, keywords)
        with _describing(target):
            provider.replace_agent(agent)
        remark("the agent has changed and was loaded anew")

    from gaia_mcp.agents.reload import watch
    from gaia_mcp.cli.screen.output import report

    watch(folder, load_again, report)


@contextmanager
def _describing(target: str) -> Iterator[None]:
    """Name the agent whose own code fails while it is described."""
    from gaia_mcp.errors import AgentError
    from gaia_mcp.importing.failures import failure_in_words

    try:
        yield
    except (Exception, SystemExit) as cause:
        problem = f"cannot describe itself: {failure_in_words(cause)}"
        raise AgentError(target, problem, hint="see the traceback with --debug") from cause


def _keyword(item: str) -> tuple[str, Any]:
    key, equals, text = item.partition("=")
    if not equals or not key.isidentifier():
        raise UsageError(f"--kwarg {item!r} is not K=JSON", hint="write --kwarg name=value")
    try:
        return key, parse_json(text, unique_keys=True)
    except RepeatedKeyError as problem:
        raise UsageError(f"--kwarg {key!r} {problem}", hint="remove one of them") from None
    except JSONTextError:
        return key, text
