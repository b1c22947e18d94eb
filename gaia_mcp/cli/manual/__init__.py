"""The manual: pages made from the commands themselves, and from the prose in the text files beside this module.

`gaia-mcp.txt` and `gaia-mcp-servers.txt` are the pages. `commands/NAME.txt` adds to the help of a command. If the
command has `--json`, the file ends with a line `JSON:` and the shape of its output, or `JSON LINES:` and the shape of
each line. A new command needs such a file, and runs in `tests/cli/manual/test_shapes.py`. The page `gaia-mcp.txt`,
under JSON, describes how shapes are written. Prose is written so, in paragraphs with empty lines between them:

    # HEADING                     ## Smaller heading
    `typed as it is`              _STANDS_FOR_SOMETHING_
    a term                        four spaces: lines kept as they are
    : and its description         @name words: a place that the program fills

It is read into blocks, and blocks are written as roff, the language of manual pages: no other module knows either.
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
from gaia_mcp.cli.grammar import OPTIONAL
from gaia_mcp.cli.status import MEANINGS
from gaia_mcp.cli.typer_command import group_of, in_groups
from gaia_mcp.client.transports.stdio.launch import INHERITED_POSIX, INHERITED_PREFIXES
from gaia_mcp.hosts.known import HOSTS

# Underscores only around a whole word, so that the names of files keep theirs.
_MARKED = re.compile(r"`(?P<typed>[^`]+)`|(?<!\w)_(?P<stands>[^_\s](?:[^_\n]*[^_\s])?)_(?!\w)")
# Characters with a meaning in roff, and those that it would replace by typographic ones.
_ESCAPES = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    "\t": "    ",
    "\xa0": r"\ ",
    # Every terminal has these.
    "…": "...",
}
PROSE = Path(__file__).parent
_OPTIONS = re.compile(r"((?<![\w-])--[a-z][a-z0-9-]*)")
_SHAPES = re.compile(r"^(JSON|JSON LINES):\n", re.MULTILINE)


class Span(NamedTuple):
    """A piece of text in one style: "" for plain, "B" for literal text, "I" for placeholders."""

    text: str
    style: str = ""


class Heading(NamedTuple):
    """The title of a section, or with `level` 2 of a part of one."""

    text: str
    level: int = 1


class Paragraph(NamedTuple):
    """Running text."""

    spans: list[Span]


class Definition(NamedTuple):
    """A term and its description."""

    term: list[Span]
    text: list[Span]


class Verbatim(NamedTuple):
    """Lines that are not filled."""

    lines: list[str]


class Place(NamedTuple):
    """A place that the program fills, with the words beside its name."""

    name: str
    words: list[str]


def parsed(text: str) -> list[Block]:
    """The blocks of `text`."""
    blocks: list[Block] = []
    for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        lines = part.split("\n")
        if part.startswith("    "):
            kept = [line[4:] for line in lines]
            # An empty line within does not end the lines that are kept as they are.
            if blocks and isinstance(blocks[-1], Verbatim):
                blocks[-1] = Verbatim([*blocks[-1].lines, "", *kept])
            else:
                blocks.append(Verbatim(kept))
        elif part.startswith("#"):
            marks, _, title = part.partition(" ")
            blocks.append(Heading(title, len(marks)))
        elif part.startswith("@"):
            name, *words = part[1:].split()
            blocks.append(Place(name, words))
        elif len(lines) > 1 and lines[1].startswith(": "):
            said = " ".join(line.strip() for line in [lines[1][2:], *lines[2:]])
            blocks.append(Definition(spans(lines[0]), spans(said)))
        elif part:
            blocks.append(Paragraph(spans(" ".join(line.strip() for line in lines))))
    return blocks


def spans(text: str) -> list[Span]:
    """A line of text, divided where its style changes."""
    found: list[Span] = []
    end = 0
    for match in _MARKED.finditer(text):
        found += [Span(text[end : match.start()])] if match.start() > end else []
        found.append(Span(match["typed"], "B") if match["typed"] else Span(match["stands"], "I"))
        end = match.end()
    return [*found, Span(text[end:])] if end < len(text) or not found else found


class Title(NamedTuple):
    """The texts in the header and the footer of a page."""

    name: str
    section: int
    source: str
    volume: str


def page(title: Title, blocks: Sequence[Block]) -> str:
    """A whole manual page. Raises `ValueError` for a place that was not filled."""
    # Ragged and without hyphenation, so that commands stay readable and can be found by searching.
    head = [
        r".\" Made by `gaia mcp generate`: change the commands or the prose, not this file.",
        f'.TH {_quoted(title.name)} {title.section} "" {_quoted(title.source)} {_quoted(title.volume)}',
        ".nr HY 0",
        ".hy 0",
        ".ad l",
    ]
    return "\n".join([*head, *_lines(blocks)]) + "\n"


def link(target: str) -> str:
    """A page that is another name of the page `target`, a path from the manual's folder."""
    return f".so {target}\n"


def escaped(text: str) -> str:
    """`text` with escapes, so that roff prints exactly that."""
    return "".join(_ESCAPES.get(sign) or (sign if sign.isascii() else rf"\[u{ord(sign):04X}]") for sign in text)


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    after_heading = False
    for block in blocks:
        match block:
            case Heading(text, level):
                yield f"{'.SH' if level == 1 else '.SS'} {_quoted(text)}"
            case Paragraph(spans):
                if not after_heading:
                    yield ".PP"
                yield _running(spans)
            case Definition(term, text):
                yield ".TP"
                yield _running(term)
                yield _running(text)
            case Verbatim(lines):
                yield from (".PP", ".RS 4", ".EX") if not after_heading else (".RS 4", ".EX")
                yield from (_safe(escaped(line)) for line in lines)
                yield from (".EE", ".RE")
            case Place(name):
                raise ValueError(f"nothing fills @{name}")
        after_heading = isinstance(block, Heading)


def _running(spans: Sequence[Span]) -> str:
    text = "".join(rf"\f{span.style}{escaped(span.text)}\fR" if span.style else escaped(span.text) for span in spans)
    return _safe(text.strip())


def _safe(line: str) -> str:
    """A line that roff takes neither for a request nor, if empty or indented, for a break."""
    return rf"\&{line}" if line.startswith((".", " ")) or not line else line


def _quoted(text: str) -> str:
    return f'"{escaped(text)}"'


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
    if option.value.startswith(OPTIONAL):
        return [name, Span(option.value, "I")]
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


Block = Heading | Paragraph | Definition | Verbatim | Place
