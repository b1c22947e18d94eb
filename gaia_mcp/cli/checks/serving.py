"""The features that an agent or handlers would serve, and all their problems: `gaia mcp serve TARGET --check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.asking import Call
from gaia_mcp.checking import check_schema
from gaia_mcp.cli.screen.inventory import INDENT, description_lines, signature_lines
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.core.content import NotJSONError
from gaia_mcp.core.errors import AgentError, HandlerError
from gaia_mcp.server.provider import RequestError, ResultError
from gaia_mcp.text import one_line
from gaia_mcp.toolspec.describe import signature
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.serving.gate import Gate
    from gaia_mcp.server.agent import AgentProvider
    from gaia_mcp.server.provider import CheckedProvider, Provider


class _List(NamedTuple):
    """A list of an agent: its member in the result of `method`, the member that identifies an item, and the noun for an
    item.
    """

    name: str
    method: str
    key: str
    item: str


_LISTS = (
    _List("tools", "tools/list", "name", "tool"),
    _List("prompts", "prompts/list", "name", "prompt"),
    _List("resources", "resources/list", "uri", "resource"),
    _List("resourceTemplates", "resources/templates/list", "uriTemplate", "resource template"),
)


def check_serving(screen: Screen, target: str, order: Mapping[str, Any], gate: Gate) -> None:
    """Load an agent or handlers, configured by `order`, and print what `gate` lets through. Output of their code goes
    to stderr.

    Raises `AgentError`, `HandlerError`, `ContractError`, and `Exit` with the exit code of these if there are problems.
    """
    gate.check_locked(target)
    with _printing_to_stderr():
        provider, error = _loaded(screen, target, order)
        served = gate.of_one(target, provider)
        info = served.describe().info
        lists = {one.name: _items(served, one) for one in _LISTS}
        unreadable = _resource_problems(target, provider, lists["resources"]) if lists["resources"] else []
        served.close()
    problems = [*provider.problems, *_schema_problems(lists["tools"]), *unreadable]
    if screen.as_json:
        screen.print_json({"server": info, **lists, "problems": problems})
    else:
        _show(screen, info, lists)
    screen.fail_with(error(target, f"has a problem: {problem}", case="agent-problem") for problem in problems)


def _loaded(
    screen: Screen, target: str, order: Mapping[str, Any]
) -> tuple[AgentProvider | CheckedProvider, type[AgentError | HandlerError]]:
    """The provider of `target`, and the class for errors about it."""
    from gaia_mcp.cli.entries.targets import kind_to_serve
    from gaia_mcp.cli.serving import agent_provider, code_provider

    if (kind := kind_to_serve(target, order)) is not None:
        return code_provider(screen, kind, target, order), HandlerError
    from gaia_mcp.agents import load_agent

    agent = load_agent(target, dict(order["settings"]))
    return agent_provider(screen, target, agent, lambda _: None), AgentError


def _items(provider: Provider, one: _List) -> list[dict[str, Any]]:
    """The items of all pages of a list."""
    items: list[dict[str, Any]] = []
    params: dict[str, Any] | None = {}
    try:
        while params is not None:
            page = provider.answer(one.method, params, Call())
            items += page[one.name]
            params = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    except RequestError:
        return []  # Handlers have only tools; the reason why there are none is among the problems.
    return items


def _schema_problems(tools: list[dict[str, Any]]) -> list[str]:
    problems = []
    for tool in tools:
        for member in ("inputSchema", "outputSchema"):
            try:
                if member in tool:
                    check_schema(tool[member])
            except SchemaError as unusable:
                problems.append(f"the {member} of {tool['name']!r} cannot be used: {unusable}")
    return problems


def _resource_problems(
    target: str, provider: AgentProvider | CheckedProvider, resources: list[dict[str, Any]]
) -> list[str]:
    """The resources that cannot be read. The agent is opened for that, as it is when it is served."""
    from gaia_mcp.cli.serving import open_agent
    from gaia_mcp.server.agent import AgentProvider as Agent
    from gaia_mcp.server.outcomes import placed, raised

    if isinstance(provider, Agent):
        open_agent(target, provider)
    problems = []
    for resource in resources:
        try:
            provider.answer("resources/read", {"uri": resource["uri"]}, Call())
        except RequestError as problem:
            problems.append(f"resource {resource['uri']!r} cannot be read: {problem}")
        except (ResultError, NotJSONError) as problem:
            what = "a value that is not JSON: " if isinstance(problem, NotJSONError) else ""
            problems.append(f"resource {resource['uri']!r} cannot be read: it returned {what}{problem}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 (the agent's own code)
            problems.append(placed(f"resource {resource['uri']!r} cannot be read: {raised(error)}", error))
    return problems


def _show(screen: Screen, info: dict[str, Any], lists: dict[str, list[dict[str, Any]]]) -> None:
    counts = ", ".join(counted(len(lists[one.name]), one.item) for one in _LISTS if lists[one.name]) or "nothing"
    screen.print_line(f"{one_line(' '.join(str(info[key]) for key in ('name', 'version') if info.get(key)))}: {counts}")
    for one in _LISTS:
        for item in lists[one.name]:
            name = item[one.key]
            shown = signature(name, item["inputSchema"]) if one.name == "tools" else f"{one.item} {name}"
            for line in [*signature_lines(shown), *description_lines(item.get("description"))]:
                screen.print_line(" " * INDENT + line)


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Redirect stdout to stderr, for the agent's code and its child processes."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
