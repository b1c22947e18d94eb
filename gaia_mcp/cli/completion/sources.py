"""What the parameters of commands may become at a TAB. From files alone, never by connecting, and never with an error.

Each function is a parameter's `autocompletion`: given the context, in which stands what the line says already, and the
word so far, it returns whole words, or pairs of word and description.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.completion.file_names import Offers, file_names
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.config.store import ConfigStore

# An agent is a class of its own, not one that is hidden in another.
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_VARIABLES = re.compile(r"\{[+#./;?&]?([^{}]+)\}")


def server_names(ctx: Any, incomplete: str) -> Offers:
    """The configured servers whose names begin so, with how each is reached."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import EntryError

    named = ctx.params.get("names") or ()
    found = []
    for name, raw in configured(ctx).items():
        if not name.startswith(incomplete) or name in named:
            continue
        try:
            entry = read_entry(name, raw)
            text = entry.described()
            found.append((name, f"disabled: {text}" if entry.disabled else text))
        except EntryError as error:
            found.append((name, f"invalid: {error.message}"))
    return found


def call_targets(ctx: Any, incomplete: str) -> Offers:
    """Servers, and after the dot of `SERVER.` its tools."""
    found = server_names(ctx, incomplete)
    for name in configured(ctx) if "." in incomplete else ():
        if incomplete.startswith(f"{name}."):
            found += [(f"{name}.{tool}", text) for tool, text in _described(_known(ctx, name, "tools"))]
    return found


def call_words(ctx: Any, incomplete: str) -> Offers:
    """The tools of the server that the line names, and then the arguments of the tool."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    server, tool, given = called(ctx)
    tools = _known(ctx, server, "tools")
    if not tool:
        return _described(tools)
    schema = next((known.get("inputSchema") for known in tools if known["name"] == tool), None)
    return argument_words(schema, given, incomplete)


def check_tools(ctx: Any, incomplete: str) -> Offers:  # noqa: ARG001 (Typer asks with both)
    """The tools of the servers that the line names to be tested."""
    return [offer for name in ctx.params.get("words") or () for offer in _described(_known(ctx, name, "tools"))]


def check_words(ctx: Any, incomplete: str) -> Offers:
    """The servers that are not named yet, and the arguments of the tool that is to be called."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    words, tool = ctx.params.get("words") or [], ctx.params.get("call_tool")
    found = []
    for name in words if tool else ():
        schema = next((known.get("inputSchema") for known in _known(ctx, name, "tools") if known["name"] == tool), None)
        found += argument_words(schema, words, incomplete)
    return [*found, *(offer for offer in server_names(ctx, incomplete) if offer[0] not in words)]


def prompt_names(ctx: Any, incomplete: str) -> Offers:  # noqa: ARG001
    """The prompts of the server that the line names."""
    return _described(_known(ctx, ctx.params.get("name", ""), "prompts"))


def prompt_words(ctx: Any, incomplete: str) -> Offers:
    """The arguments of the prompt that the line names."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    known = _known(ctx, ctx.params.get("name", ""), "prompts")
    listed = next((prompt.get("arguments") for prompt in known if prompt["name"] == ctx.params.get("prompt")), None)
    arguments = [
        argument
        for argument in (listed if isinstance(listed, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    schema = {
        "properties": {each["name"]: {"type": "string", "description": each.get("description")} for each in arguments},
        "required": [each["name"] for each in arguments if each.get("required") is True],
    }
    return argument_words(schema, ctx.params.get("words") or [], incomplete)


def resource_uris(ctx: Any, incomplete: str) -> Offers:  # noqa: ARG001
    """The resources and templates of the server that the line names."""
    found = _known(ctx, ctx.params.get("name", ""), "resources")
    offers = [(each.get("uri") or each.get("uriTemplate"), each) for each in found]
    return [(uri, _description(each)) for uri, each in offers if isinstance(uri, str)]


def template_words(ctx: Any, incomplete: str) -> Offers:
    """The variables of the template that the line names."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    names = [
        name.partition(":")[0].rstrip("*")
        for group in _VARIABLES.findall(str(ctx.params.get("uri", "")))
        for name in group.split(",")
    ]
    schema = {"properties": {name: {"type": "string"} for name in names}}
    return argument_words(schema, ctx.params.get("words") or [], incomplete)


def agent_names(incomplete: str) -> Offers:
    """The built-in agents, Python files, and after the colon of `FILE.py:` the classes in it."""
    from gaia_mcp.agents.loader import BUILT_IN

    name, colon, _ = incomplete.rpartition(":")
    if colon and name.endswith(".py"):
        try:
            classes = _CLASS.findall(Path(name).expanduser().read_text("utf-8"))
        except (OSError, ValueError):
            return []
        return [(f"{name}:{found}", "") for found in classes]
    found = [(agent, "built in") for agent in BUILT_IN if agent.startswith(incomplete)]
    for path, _ in file_names(incomplete):
        if path.endswith("/"):
            found.append((path, ""))
        elif path.endswith(".py"):
            found.append((f"{path}:", ""))
    return found


def shell_names(incomplete: str) -> Offers:  # noqa: ARG001 (Typer filters)
    """The shells that there is a script for."""
    from gaia_mcp.cli.completion.scripts import SHELLS

    return [(shell, "") for shell in SHELLS]


def log_levels(incomplete: str) -> Offers:  # noqa: ARG001
    """The levels of log messages, the least first."""
    from gaia_mcp.protocol.envelope import LOG_LEVELS

    return [(level, "") for level in LOG_LEVELS]


def host_names(incomplete: str) -> Offers:
    """The hosts that we know, and files."""
    from gaia_mcp.hosts.known import HOSTS

    return [*((host.key, host.title) for host in HOSTS.values()), *file_names(incomplete)]


def configured(ctx: Any) -> dict[str, Any]:
    """The entries of the configuration that the line names, as they are written; none of one that cannot be read."""
    try:
        return _store(ctx).servers()
    except (MCPError, OSError):
        return {}


def called(ctx: Any) -> tuple[str, str, list[str]]:
    """Server, tool and arguments of the call that the line says so far; empty where it says nothing."""
    from gaia_mcp.names import split_tool_name

    target, words, servers = ctx.params.get("target") or "", list(ctx.params.get("words") or []), configured(ctx)
    if target not in servers and (parts := split_tool_name(target, servers)) is not None:
        return *parts, words
    return target, words[0] if words else "", words[1:]


def known_tool(ctx: Any) -> tuple[str, str, dict[str, Any] | None]:
    """Server and tool that the line calls, and how the server described that tool when it was last seen."""
    server, name, _ = called(ctx)
    return server, name, next((tool for tool in _known(ctx, server, "tools") if tool["name"] == name), None)


def _store(ctx: Any) -> ConfigStore:
    from gaia_mcp.config.store import ConfigStore

    config = ctx.params.get("config")
    return ConfigStore.locate(Path(config) if config else None)


def seen(ctx: Any, server: str, kind: str) -> list[dict[str, Any]] | None:
    """What a server had of some kind when it was last seen, None if that is not known."""
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    try:
        return ServerCache(cache_folder(), _store(ctx).entry(server)).seen(kind)
    except (MCPError, OSError):
        return None


def _known(ctx: Any, server: str, kind: str) -> list[dict[str, Any]]:
    return seen(ctx, server, kind) or []


def _described(items: list[dict[str, Any]]) -> Offers:
    return [(item["name"], _description(item)) for item in items]


def _description(item: dict[str, Any]) -> str:
    text = item.get("description") or item.get("title")
    return text.strip().partition("\n")[0] if isinstance(text, str) else ""
