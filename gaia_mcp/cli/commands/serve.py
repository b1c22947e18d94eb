"""`gaia mcp serve`: serve an agent or handlers as an MCP server over stdio."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import agent_names, host_names
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import Form, remark, report_failure
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.serving.agents import MAX_CALLS
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from gaia_mcp.server.provider import Provider

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="path/to/file.py[:Class], package.module:Class, a folder of handlers, or: demo, agents.",
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
    """Serve an agent or handlers as an MCP server over stdin and stdout.

    The tools of an agent are the methods of an MCPAgent that are marked with @tool; any class with
    get_mcp_tool_definitions() and execute_mcp_tool() will do as well. A handler is an MCPHandler, and --kwarg gives it
    its settings; of a folder, all of its handlers are served. What the code prints goes to stderr.

    Example: gaia mcp serve demo
    """
    from gaia_mcp.config.serving_order import take_order

    # Before any code is imported, which starts programs of its own.
    order = take_order(os.environ)
    keywords = order.get("settings", {})
    if kwarg:
        from gaia_mcp.cli.entries.building import keywords as keywords_of

        keywords = {**keywords, **keywords_of("--kwarg", kwarg)}
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
        from gaia_mcp.cli.checks.serving import check_serving

        check_serving(target, {**order, "settings": keywords})
        return
    if on_terminal(sys.stdin):
        remark(f"serving {target} to the MCP client on standard input; Ctrl-C ends it")

    # The pipes are taken before any code of the agent is imported.
    from gaia_mcp.server.stdio.process import StdioServer

    server = StdioServer(
        target,
        on_full=lambda limit: remark(f"{limit} calls of {target} are running, and the next ones wait: see --max-calls"),
        on_failure=report_failure,
    )

    def load() -> Provider:
        from gaia_mcp.cli.serving.kinds import is_handler

        if Form.debug:
            import logging

            # The built-in agents log their tracebacks at this level only.
            logging.getLogger("gaia_mcp").setLevel(logging.DEBUG)
        provider: Provider
        if is_handler(target, order):
            from gaia_mcp.cli.serving.handlers import handlers_provider

            if reload:
                raise UsageError("--reload is for an agent", hint="leave it out, and start it again")
            provider = handlers_provider(target, {**order, "settings": keywords})
            limit = max_calls
        else:
            from gaia_mcp.cli.serving.agents import agent_provider, open_agent, own_limit, sound_agent, watch_agent

            agent = sound_agent(target, keywords)
            limit = max_calls or own_limit(target, agent)
            provider = served = agent_provider(
                target, agent, lambda text: remark(f"{target}: {text}"), list_changes=reload
            )
            open_agent(target, served)
            if (max_bytes := order.get("max_result_bytes")) is not None:
                from gaia_mcp.manager.capped_provider import CappedProvider

                provider = CappedProvider(served, max_bytes)
            if reload:
                watch_agent(target, keywords, served)
        if limit is not None:
            server.allow(limit)
        # It may run for weeks: what it makes is collected as often as in any other program, without looking through
        # what was loaded.
        gc.freeze()
        gc.set_threshold(*COLLECTION)
        return provider

    server.run(load)
