"""Completers for the parameters of commands. They read files only, never connect, and never raise.

Each public function whose only parameter is a context is the `autocompletion` of parameters. The table of `cli/grammar`
contains their names; Typer never calls them. The caller drops candidates that do not begin with the typed word.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.cli.completion.file_names import Candidate, file_names
from gaia_mcp.core.files import read_file

# A hundred times the size of a long module, and still fast to read.
MAX_SOURCE_BYTES = 4 << 20
# A person does not wait longer for a server at a TAB.
SUGGESTING_SECONDS = 3.0
# Compiled on use, because most lines need neither. An agent is a class at the top level of its file.
_CLASS = r"(?m)^class (\w+)"
_VARIABLES = r"\{[+#./;?&]?([^{}]+)\}"


def server_names(ctx: CompletionContext) -> list[Candidate]:
    """The configured servers, each described by its command or URL."""
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.core.errors import EntryError

    named = ctx.params.get("names") or ()
    found = []
    for name, raw in ctx.servers.items():
        if not name.startswith(ctx.word) or name in named:
            continue
        try:
            entry = read_entry(name, raw)
            text = entry.described()
            found.append(Candidate(name, f"disabled: {text}" if entry.disabled else text))
        except EntryError as error:
            found.append(Candidate(name, f"invalid: {error.message}"))
    return found


def held_servers(ctx: CompletionContext) -> list[Candidate]:
    """The servers that are held, each by the name of its socket."""
    from gaia_mcp.fleet.keeper import socket_path

    named = ctx.params.get("names") or ()
    try:
        found = sorted(path.stem for path in socket_path().parent.glob("*.sock"))
    except OSError:
        return []
    return [Candidate(name) for name in found if name not in named]


def servers(ctx: CompletionContext) -> list[Candidate]:
    """The configured servers, after an `@` their instances that are held, and other targets: after two dashes programs
    and their files, elsewhere agents and programs if the word begins like a path.
    """
    found = server_names(ctx)
    if ctx.is_command:
        return [*found, *file_names(ctx.word)]
    if "@" in ctx.word:
        found += [one for one in held_servers(ctx) if one.value.partition("@")[0] in ctx.servers]
    return [*found, *(_paths(ctx.word) if ctx.word.startswith((".", "/", "~")) else ())]


def only_server(ctx: CompletionContext) -> list[Candidate]:
    """As `servers`, for a command that takes exactly one server."""
    return servers(ctx) if ctx.is_command or not ctx.params.get("words") else []


def call_targets(ctx: CompletionContext) -> list[Candidate]:
    """Servers, and after `SERVER.` its tools."""
    found = servers(ctx)
    for name in ctx.servers if "." in ctx.word else ():
        if ctx.word.startswith(f"{name}."):
            found += [Candidate(f"{name}.{tool}", text) for tool, text in _described(ctx.known(name, "tools"))]
    return found


def tool_targets(ctx: CompletionContext) -> list[Candidate]:
    """Servers that are not yet on the line, the tools of the last named server, and `SERVER.` with its tools."""
    found = call_targets(ctx)
    named = [name for name in ctx.params.get("names") or () if ctx.entry(name) is not None]
    return [*found, *_described(ctx.known(named[-1], "tools"))] if named else found


def call_words(ctx: CompletionContext) -> list[Candidate]:
    """The tools of the named server, and then the arguments of the tool."""
    server, tool, given = called(ctx)
    tools = ctx.known(server, "tools")
    if ctx.is_command and not tools:
        return file_names(ctx.word)
    if not tool:
        return _described(tools)
    from gaia_mcp.cli.completion.argument_words import argument_words

    schema = next((known.get("inputSchema") for known in tools if known["name"] == tool), None)
    return argument_words(schema, given, ctx.word, ctx.folder_of(server))


def listed_tools(ctx: CompletionContext) -> list[Candidate]:
    """All tools of the named server, including those that its entry excludes."""
    return _described(ctx.listed_tools(ctx.params.get("name", "")))


def tool_patterns(ctx: CompletionContext) -> list[Candidate]:
    """`SERVER/` of the servers that are served, and after the slash its tools and a pattern for all of them."""
    server, slash, _ = ctx.word.partition("/")
    if slash:
        tools = [Candidate(f"{server}/{tool}", text) for tool, text in _described(ctx.known(server, "tools"))]
        return [Candidate(f"{server}/*", "all of its tools"), *tools]
    named = [*(ctx.params.get("server") or ()), *(ctx.params.get("targets") or ())]
    return [Candidate(f"{name}/", text) for name, text in server_names(ctx) if not named or name in named]


def check_tools(ctx: CompletionContext) -> list[Candidate]:
    """The tools of the servers to be tested."""
    return [tool for name in ctx.params.get("words") or () for tool in _described(ctx.known(name, "tools"))]


def check_words(ctx: CompletionContext) -> list[Candidate]:
    """The servers that are not yet on the line, and the arguments of the tool to be called."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    words, tool = ctx.params.get("words") or [], next(reversed(ctx.params.get("call_tool") or []), None)
    found = []
    for name in words if tool else ():
        schema = next((known.get("inputSchema") for known in ctx.known(name, "tools") if known["name"] == tool), None)
        found += argument_words(schema, words, ctx.word, ctx.folder_of(name))
    return [*found, *(server for server in servers(ctx) if server.value not in words)]


def prompt_names(ctx: CompletionContext) -> list[Candidate]:
    """The prompts of the named server."""
    return _described(ctx.known(ctx.params.get("name", ""), "prompts"))


def prompt_words(ctx: CompletionContext) -> list[Candidate]:
    """The arguments of the named prompt."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    known = ctx.known(ctx.params.get("name", ""), "prompts")
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
    given = ctx.params.get("words") or []
    reference = {"type": "ref/prompt", "name": ctx.params.get("prompt")}
    return [*argument_words(schema, given, ctx.word), *_suggested(ctx, reference, given)]


def resource_uris(ctx: CompletionContext) -> list[Candidate]:
    """The resources and templates of the named server."""
    found = ctx.known(ctx.params.get("name", ""), "resources")
    uris = [(each.get("uri") or each.get("uriTemplate"), each) for each in found]
    return [Candidate(uri, _description(each)) for uri, each in uris if isinstance(uri, str)]


def template_words(ctx: CompletionContext) -> list[Candidate]:
    """The variables of the named template."""
    from gaia_mcp.cli.completion.argument_words import argument_words

    names = [
        name.partition(":")[0].rstrip("*")
        for group in re.findall(_VARIABLES, str(ctx.params.get("uri", "")))
        for name in group.split(",")
    ]
    schema = {"properties": {name: {"type": "string"} for name in names}}
    given = ctx.params.get("words") or []
    reference = {"type": "ref/resource", "uri": ctx.params.get("uri")}
    return [*argument_words(schema, given, ctx.word), *_suggested(ctx, reference, given)]


def _suggested(ctx: CompletionContext, reference: Mapping[str, Any], given: Sequence[str]) -> list[Candidate]:
    """The values that the named server suggests for the argument being typed, if a keeper holds it: no server is
    started at a TAB.
    """
    name, equals, value = ctx.word.partition("=")
    entry = ctx.entry(ctx.params.get("name", "")) if equals else None
    if entry is None:
        return []
    from gaia_mcp.cli.keeping import address_of, keeper_in_use

    keeper, address = keeper_in_use(), address_of(entry, ctx.config)
    if keeper is None or address is None:
        return []
    from gaia_mcp.core.deadline import Deadline

    known = dict(word.split("=", 1) for word in given if "=" in word)
    argument = {"name": name, "value": value}
    completion = {"ref": reference, "argument": argument, "context": {"arguments": known}}
    values = keeper.completed(address, completion, Deadline(SUGGESTING_SECONDS))
    return [Candidate(f"{name}={each}") for each in values]


def agent_names(ctx: CompletionContext) -> list[Candidate]:
    """The built-in agents, Python files, and after the colon of `FILE.py:` the classes in it."""
    from gaia_mcp.agents import built_in

    found = [Candidate(agent, "built in") for agent in built_in() if agent.startswith(ctx.word)]
    return [*found, *(each for each in _paths(ctx.word) if each.value.endswith("/") or ".py:" in each.value)]


def stage_names(ctx: CompletionContext) -> list[Candidate]:
    """The stages to which configured entries are restricted."""
    return _restrictions(ctx, "stages")


def scope_agents(ctx: CompletionContext) -> list[Candidate]:
    """The agents to which configured entries are restricted."""
    return _restrictions(ctx, "agents")


def revisions(ctx: CompletionContext) -> list[Candidate]:
    """The revisions of MCP, the newest first."""
    from gaia_mcp.protocol import ALL_VERSIONS

    return [Candidate(version) for version in ALL_VERSIONS if version.startswith(ctx.word)]


def revisions_or_all(ctx: CompletionContext) -> list[Candidate]:
    """The revisions of MCP, and `all`."""
    return [*revisions(ctx), *([Candidate("all")] if "all".startswith(ctx.word) else [])]


def budgets(ctx: CompletionContext) -> list[Candidate]:
    """What a budget of a load may limit, with an example of the limit."""
    examples = {
        "p50": "5ms", "p90": "20ms", "p99": "50ms", "max": "1s", "errors": "1%", "rate": "100", "memory": "200MB",
    }  # fmt: skip
    return [
        Candidate(f"{what}=", f"such as {limit}") for what, limit in examples.items() if f"{what}=".startswith(ctx.word)
    ]


def shell_names(ctx: CompletionContext) -> list[Candidate]:
    """The shells that have a script."""
    from gaia_mcp.cli.completion.installing import SCRIPTS

    return [Candidate(shell) for shell in SCRIPTS if shell.startswith(ctx.word)]


def log_levels(ctx: CompletionContext) -> list[Candidate]:
    """The log levels, the least severe first."""
    from gaia_mcp.protocol.envelope import LOG_LEVELS

    return [Candidate(level) for level in LOG_LEVELS if level.startswith(ctx.word)]


def host_names(ctx: CompletionContext) -> list[Candidate]:
    """The known hosts, and files."""
    from gaia_mcp.hosts.known import HOSTS

    return [*(Candidate(host.key, host.title) for host in HOSTS.values()), *file_names(ctx.word)]


def entry_keys(ctx: CompletionContext) -> list[Candidate]:
    """The members of the named server's entry."""
    from gaia_mcp.cli.entries.remarks import members

    return [Candidate(key) for key in members(ctx.servers.get(ctx.params.get("name", "")))]


def called(ctx: CompletionContext) -> tuple[str, str, list[str]]:
    """Server, tool and arguments of the call on the line; empty where they are not yet typed."""
    from gaia_mcp.core.names import split_tool_name

    target, words, servers = ctx.params.get("target") or "", list(ctx.params.get("words") or []), ctx.servers
    if target not in servers and (parts := split_tool_name(target, servers)) is not None:
        return *parts, words
    return target, words[0] if words else "", words[1:]


def known_tool(ctx: CompletionContext) -> tuple[str, str, dict[str, Any] | None]:
    """The server and the tool of the call on the line, and the tool's cached definition; None if it is not cached."""
    server, name, _ = called(ctx)
    known = {tool["name"]: tool for tool in ctx.known(server, "tools")}
    if "." in name and name not in known:
        from gaia_mcp.cli.entries.targets import listed_name

        return server, name, known.get(listed_name(ctx.entry(server), name, known) or "")
    return server, name, known.get(name)


def _described(items: list[dict[str, Any]]) -> list[Candidate]:
    return [Candidate(item["name"], _description(item)) for item in items]


def _description(item: dict[str, Any]) -> str:
    from gaia_mcp.text import first_line

    return first_line(item.get("description") or item.get("title"))


def _restrictions(ctx: CompletionContext, member: str) -> list[Candidate]:
    listed = [raw.get(member) for raw in ctx.servers.values() if isinstance(raw, dict)]
    names = [name for names in listed if isinstance(names, list) for name in names]
    return [Candidate(name) for name in dict.fromkeys(names) if isinstance(name, str)]


def _paths(begun: str) -> list[Candidate]:
    """Folders, agents and programs whose paths begin with `begun`; after `FILE.py:` the classes in that file."""
    name, colon, _ = begun.rpartition(":")
    if colon and name.endswith(".py"):
        try:
            classes = re.findall(_CLASS, read_file(Path(name).expanduser(), MAX_SOURCE_BYTES).decode())
        except (OSError, ValueError, RuntimeError):
            return []
        return [Candidate(f"{name}:{found}") for found in classes]
    found = []
    for path, _ in file_names(begun):
        if path.endswith(".py"):
            found.append(Candidate(f"{path}:"))
        elif path.endswith("/") or os.access(os.path.expanduser(path), os.X_OK):  # noqa: PTH111
            found.append(Candidate(path))
    return found
