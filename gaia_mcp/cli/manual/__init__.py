"""The manual: pages made from the commands themselves, and from the prose in the text files beside this module.

`gaia-mcp.txt` and `gaia-mcp-servers.txt` are the pages. `commands/NAME.txt` adds to the help of a command. If the
command has `--json`, the file ends with a line `JSON:` and the shape of its output, or `JSON LINES:` and the shape of
each line. A new command needs such a file, and runs in `tests/cli/manual/test_shapes.py`. `markup.py` describes how
prose is written, and the page `gaia-mcp.txt`, under JSON, how shapes are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from gaia_mcp._version import __version__
from gaia_mcp.cli.app import ALIASES, COMMANDS, CommandGroup
from gaia_mcp.cli.manual.markup import (
    Block,
    Definition,
    Heading,
    Paragraph,
    Place,
    Span,
    Title,
    Verbatim,
    link,
    page,
    parsed,
)
from gaia_mcp.cli.status import MEANINGS
from gaia_mcp.cli.typer_command import group_of, in_groups
from gaia_mcp.client.transports.stdio.launch import INHERITED_POSIX, INHERITED_PREFIXES
from gaia_mcp.hosts.known import HOSTS

PROSE = Path(__file__).parent
_OPTIONS = re.compile(r"((?<![\w-])--[a-z][a-z0-9-]*)")
_SHAPES = re.compile(r"^(JSON|JSON LINES):\n", re.MULTILINE)


def pages() -> dict[str, str]:
    """The pages by the names of their files. Raises `OSError` for missing prose."""
    source = f"gaia-mcp {__version__}"
    programs = link("man1/gaia-mcp.1")
    return {
        "gaia-mcp.1": page(Title("GAIA-MCP", 1, source, "User Commands"), _filled("gaia-mcp.txt")),
        "gaia-mcp-servers.5": page(
            Title("GAIA-MCP-SERVERS", 5, source, "File Formats"), _filled("gaia-mcp-servers.txt")
        ),
        # The names of the program itself.
        "gaia.1": programs,
        "gmcp.1": programs,
    }


class Prose(NamedTuple):
    """What the manual adds to the help of a command: text, the shape of its output with `--json`, and the shape of each
    line if that is an object on each line. Parts that it does not have are empty.
    """

    text: str
    json: str = ""
    json_lines: str = ""


def prose_of(command: str) -> Prose:
    """The prose of a command; empty without a file for it."""
    path = PROSE / "commands" / f"{command}.txt"
    text, *shapes = _SHAPES.split(path.read_text("utf-8") if path.is_file() else "")
    said = dict(zip(shapes[::2], shapes[1::2], strict=True))
    return Prose(text, said.get("JSON", ""), said.get("JSON LINES", ""))


def error_shape() -> str:
    """The shape of an error that a command with `--json` prints."""
    return (PROSE / "error.txt").read_text("utf-8")


def audit_shape() -> str:
    """The shape of a line that `serve --audit` adds."""
    return (PROSE / "audit.txt").read_text("utf-8")


def inherited_variables() -> list[str]:
    """The variables that every server gets, `NAME_*` for all whose names begin so."""
    names = [*INHERITED_POSIX, *(f"{prefix}*" for prefix in INHERITED_PREFIXES)]
    return sorted(names, key=lambda name: (name.lower(), name))


def _filled(name: str) -> list[Block]:
    blocks: list[Block] = []
    # Options that a page describes once for all commands.
    common: list[Option] = []
    for block in parsed((PROSE / name).read_text("utf-8")):
        match block:
            case Place("common-options", words):
                common = _common_options(words)
                blocks += map(_defined, common)
            case Place("commands"):
                for command in commands():
                    blocks += _section(command, common)
            case Place("aliases"):
                blocks.append(Paragraph(_listed([f"{alias} ({name})" for alias, name in sorted(ALIASES.items())])))
            case Place("hosts"):
                blocks.append(Paragraph(_listed([f"{host.key} ({host.title})" for host in HOSTS.values()])))
            case Place("exit-codes"):
                blocks += [Definition([Span(str(int(status)), "B")], [Span(MEANINGS[status])]) for status in MEANINGS]
            case Place("error-shape"):
                blocks += parsed(error_shape())
            case Place("audit-shape"):
                blocks += parsed(audit_shape())
            case Place("inherited"):
                blocks.append(Paragraph(_listed(inherited_variables())))
            case _:
                blocks.append(block)
    return blocks


def _common_options(names: Sequence[str]) -> list[Option]:
    held = Counter(option for command in commands() for option in command.options)
    usual = {option.name: option for option, _ in reversed(held.most_common())}
    return [usual[name] for name in names]


def _listed(names: Sequence[str]) -> list[Span]:
    listed = [span for name in names for span in (Span(name, "B"), Span(", "))]
    return [*listed[:-1], Span(".")]


def _section(command: Command, common: Sequence[Option]) -> Iterator[Block]:
    prose = prose_of(command.name)
    yield Heading(command.name, 2)
    yield Paragraph(_synopsis(command, common))
    yield Paragraph(_help_spans(command.summary))
    yield from (Paragraph(_help_spans(text)) for text in command.paragraphs)
    for argument in command.arguments:
        yield Definition([Span(argument.shown, "I")], _help_spans(argument.help))
    own = ((option.group, option) for option in command.options if option not in common)
    for group, options in in_groups(own).items():
        if group:
            yield Paragraph([Span(f"{group}:")])
        yield from map(_defined, options)
    yield from parsed(prose.text)
    for shape, what in ((prose.json, "The output with "), (prose.json_lines, "Each line of the output with ")):
        if shape:
            yield Paragraph([Span(what), Span("--json", "B"), Span(":")])
            yield from parsed(shape)
    yield Paragraph([Span("Example:")])
    yield Verbatim(command.examples)


def _synopsis(command: Command, common: Sequence[Option]) -> list[Span]:
    """The command line: its own options, those that other commands have too, then its arguments."""
    line = [Span(f"gaia mcp {command.name}", "B")]
    for option in sorted(command.options, key=lambda option: option in common):
        # Of the names of one option only one is typed.
        term = _term(option._replace(name=option.name.replace(", ", " | ")))
        line += [Span(" ["), *term, Span("]..." if option.is_repeatable else "]")]
    for argument in command.arguments:
        is_bare = argument.is_required or argument.shown.startswith("{")
        line += [Span(" "), Span(argument.shown if is_bare else f"[{argument.shown}]", "I")]
    return line


def _defined(option: Option) -> Block:
    again = " May be given several times." if option.is_repeatable else ""
    return Definition(_term(option), _help_spans(option.help + again))


def _term(option: Option) -> list[Span]:
    name = Span(option.name, "B")
    # Without a line break between an option and its value.
    return [name, Span("\xa0"), Span(option.value, "I")] if option.value else [name]


def _help_spans(text: str) -> list[Span]:
    return [Span(piece, "B" if piece.startswith("--") else "") for piece in _OPTIONS.split(text) if piece]


class Argument(NamedTuple):
    """A positional argument of a command."""

    shown: str
    is_required: bool
    help: str


class Option(NamedTuple):
    """An option of a command. `value` is the name of its value, "" for a switch; `group` is the heading of its group,
    "" for none.
    """

    name: str
    value: str
    is_repeatable: bool
    help: str
    group: str = ""


class Command(NamedTuple):
    """One command."""

    name: str
    summary: str
    paragraphs: list[str]
    examples: list[str]
    arguments: list[Argument]
    options: list[Option]


def commands() -> list[Command]:
    """All commands, in the order of the help."""
    group = CommandGroup(name="mcp")
    return [_command(name, group.get_command(None, name)) for name in COMMANDS]


def _command(name: str, command: Any) -> Command:
    summary, *rest = re.split(r"\n\s*\n", command.help)
    examples = [part for part in rest if part.startswith("Example")]
    context = typer.Context(command, info_name=name)
    return Command(
        name,
        _joined(summary),
        [_joined(part) for part in rest if part not in examples],
        [line for part in examples for line in _examples(part)],
        [_argument(each, context) for each in command.params if each.param_type_name == "argument"],
        [_option(each, context) for each in command.params if each.param_type_name == "option" and not each.hidden],
    )


def _examples(part: str) -> Iterator[str]:
    for line in part.split("\n"):
        command = re.sub(r"^Examples?:", "", line).strip()
        if command:
            yield command


def _argument(parameter: Any, context: typer.Context) -> Argument:
    shown = parameter.metavar or parameter.make_metavar(context).strip("[]{}")
    # Some metavars have the brackets of an optional argument themselves.
    shown = shown[1:-1] if shown.startswith("[") else shown
    return Argument(shown, parameter.required, _joined(parameter.help or ""))


def _option(parameter: Any, context: typer.Context) -> Option:
    help_text = _joined(parameter.help or "")
    low, high = getattr(parameter.type, "min", None), getattr(parameter.type, "max", None)
    if low is not None and high is not None:
        help_text += f" From {low:g} to {high:.0f}."
    if parameter.show_default and parameter.default and not parameter.is_flag:
        help_text += f" Default: {parameter.default}."
    value = "" if parameter.is_flag else parameter.make_metavar(context).strip("<>")
    names = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda name: name.startswith("--"))
    return Option(", ".join(names), value, parameter.multiple, help_text, group_of(parameter))


def _joined(text: str) -> str:
    return " ".join(text.split())
