"""`gaia mcp call SERVER TOOL --help`: the arguments of that tool, from its cached definition. Never connects.

An unknown tool is an error, rather than a page about something else.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.completion.argument_words import argument_words, needs_json, value_words
from gaia_mcp.cli.completion.completers import known_tool
from gaia_mcp.cli.completion.context import CompletionContext
from gaia_mcp.cli.grammar import ServerWords
from gaia_mcp.cli.grammar.parsing import parse_line
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.text import clean, encodable, one_line
from gaia_mcp.toolspec.describe import type_in_words
from gaia_mcp.toolspec.schema import default_of, description_of, needed_members, needed_of, parts_of, properties_of
from gaia_mcp.toolspec.tool_filter import hints_in_words

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine

EXPLANATION_CHARS = 1000
# The limit for the printed members of an object argument; more would hide the other arguments.
MAX_DEPTH = 2
MAX_MEMBERS = 40
# Two sample values for the example, for types whose schema lists no values.
_SAMPLES = {"integer": ["1", "2"], "number": ["1.5", "2.5"], "boolean": ["true", "false"]}


def called_line(words: Sequence[str]) -> CompletionContext:
    """The context of the words after `call`."""
    parsed = parse_line(["mcp", "call", *words])
    ctx = CompletionContext(parsed.values, may_be_pipe=True)
    target, given = ctx.params.get("target"), ctx.params.get("words") or []
    typed = ServerWords.of([target, *given] if target is not None else [], parsed.after)
    if typed.has_command(ctx.servers):
        ctx = CompletionContext({**ctx.params, "target": shlex.join(typed.after), "words": list(typed.before)})
    return ctx


def write_tool(line: CommandLine, ctx: CompletionContext, command: Any, context: Any, formatter: Any) -> bool:
    """Write the help page of the tool that the line names. Returns False if the tool's definition is not cached."""
    server, name, tool = known_tool(ctx)
    if tool is None:
        return False
    server = ctx.shown_name(server)
    schema = tool.get("inputSchema")
    known, needed = properties_of(schema), needed_of(schema)
    words = [word for word, _ in argument_words(schema, [], "")]
    usage = [
        one_line(word, 80) if word.rstrip("=").removesuffix(":") in needed else f"[{one_line(word, 80)}]"
        for word in words
    ]
    formatter.write_usage(f"gaia mcp call {_shown(server)} {_shown(name)}", " ".join([*usage, "[OPTIONS]"]))
    description = tool.get("description") or tool.get("title")
    if isinstance(description, str) and description.strip():
        formatter.write_paragraph()
        with formatter.indentation():
            # Written line by line: a paragraph would be refilled, and lists would lose their line breaks.
            for text in encodable(clean(description.strip())).splitlines():
                formatter.write_text(text)
    annotations = tool.get("annotations")
    if hints := hints_in_words(annotations if isinstance(annotations, dict) else {}):
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Its server marks it as {' and '.join(hints)}.")
    if words:
        with formatter.section("Arguments"):
            rows: list[tuple[str, str]] = []
            for word in words:
                if (key := word.rstrip("=").removesuffix(":")) in known:
                    rows.append((one_line(word, 80), _explained(known[key], schema, is_needed=key in needed)))
                    rows += islice(_members(known[key], schema, 1), MAX_MEMBERS)
            formatter.write_dl(rows)
    options = [each for each in command.get_params(context) if each.param_type_name == "option"]
    with formatter.section("Options"):
        formatter.write_dl([record for each in options if (record := each.get_help_record(context)) is not None])
    formatter.write_paragraph()
    example = [_sample(key, known.get(key), schema) for key in needed]
    # Written without line breaks, so that it can be copied.
    formatter.write(" ".join([f"Example: {line.to_type('call')}", _typed(server), _typed(name), *example]) + "\n")
    return True


def check_known(line: CommandLine, ctx: CompletionContext) -> None:
    """Check that help is available for the server and the tool that the line names; it may name neither.

    Raises `ServerUnknownError`, `ToolUnknownError`, `ToolExcludedError`, `ToolError` if the server was never asked for
    its tools, and as `ConfigStore.entry` does.
    """
    from gaia_mcp.core.errors import ToolError, ToolExcludedError, ToolUnknownError

    server, name, tool = known_tool(ctx)
    if tool is not None or not server:
        return
    if ctx.entry(server) is None:
        store = ctx.store
        # For `SERVER.TOOL` whose server does not exist.
        store.entry(server if name or server in store.names() else server.partition(".")[0])
    tools, server = ctx.seen(server, "tools"), ctx.shown_name(server)
    if name in [each["name"] for each in ctx.listed_tools(server)]:
        entry = ctx.entry(server)
        if entry is not None and entry.tool_filter is not None:
            member = entry.tool_filter.excluded_by(name)
            raise ToolExcludedError(server, name, member, entry.tool_filter.patterns(member))
    if name and tools is not None:
        raise ToolUnknownError(server, name, suggestion=did_you_mean(name, [each["name"] for each in tools]))
    if name:
        hint = f"list its tools first: {line.to_type('tools', server)}"
        raise ToolError(f"the parameters of {name!r} of {server!r} are not known yet", hint=hint, server=server)


def _explained(described: Any, schema: Any, *, is_needed: bool) -> str:
    text, default = description_of(described, schema), default_of(described, schema)
    parts_shown = [type_in_words(described, schema, limits=True) + (f". {text}" if text else "")]
    if is_needed:
        parts_shown.append("[required]")
    elif default is not None:
        parts_shown.append(f"[default: {json.dumps(default, ensure_ascii=False)}]")
    return "  ".join(one_line(encodable(part), EXPLANATION_CHARS) for part in parts_shown)


def _members(described: Any, root: Any, depth: int) -> Iterator[tuple[str, str]]:
    """A row for each member of an object, or of the objects in a list, indented by its depth."""
    parts = parts_of(described, root)
    parts += [inner for part in parts if "items" in part for inner in parts_of(part["items"], root)]
    for part in parts:
        members, needed = part.get("properties"), needed_members(part, root)
        for name, member in members.items() if isinstance(members, dict) else ():
            yield "  " * depth + one_line(encodable(name), 60), _explained(member, root, is_needed=name in needed)
            if depth < MAX_DEPTH:
                yield from _members(member, root, depth + 1)


def _sample(name: str, described: Any, schema: Any) -> str:
    """An example of an argument; of a list with two values, because a repeated key makes a list."""
    kind = type_in_words(described, schema)
    is_list = kind.lstrip("(").startswith("array")
    words = [word for word, _ in value_words(name, schema)]
    if not words and needs_json(described, schema):
        return f"{_shown(name)}:=" + ("'[]'" if is_list else "'{}'")
    samples = _SAMPLES.get(kind.removeprefix("array of "), ["VALUE", "VALUE"])
    words = words or [f"{name}={value}" for value in samples]
    return " ".join(map(_shown, words[: 2 if is_list else 1]))


def _typed(word: str) -> str:
    """A name in full, however long: a shortened name would be a different one."""
    return clean(encodable(shlex.quote(word)))


def _shown(word: str) -> str:
    return one_line(encodable(shlex.quote(word)), 80)
