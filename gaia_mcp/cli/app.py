"""The command tree: `gaia mcp COMMAND`, with the aliases of commands, and the words from other programs for which a
command is suggested.

A command's module is imported only when that command runs, so that no command pays for loading the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperGroup

from gaia_mcp.cli.grammar import with_group
from gaia_mcp.cli.invocation import refused
from gaia_mcp.cli.lines import CommandLine, program_name
from gaia_mcp.cli.screen.output import STDOUT, Screen
from gaia_mcp.cli.status import ExitStatus, UsageError
from gaia_mcp.cli.typer_command import (
    CommandLineError,
    accept_former_names,
    accept_missing_values,
    command_path_of,
    group_options,
    guarded,
    is_closed_pipe,
    is_missing_command,
    line_of,
    read_numbers,
    refuse_repeated_options,
)
from gaia_mcp.core.names import near_misses

# Each command, with the module and function that implement it.
COMMANDS = {
    "add": "gaia_mcp.cli.commands.add:add",
    "list": "gaia_mcp.cli.commands.listing:list_servers",
    "show": "gaia_mcp.cli.commands.show:show",
    "edit": "gaia_mcp.cli.commands.edit:edit",
    "enable": "gaia_mcp.cli.commands.enable:enable",
    "disable": "gaia_mcp.cli.commands.enable:disable",
    "remove": "gaia_mcp.cli.commands.remove:remove",
    "import": "gaia_mcp.cli.commands.importing:import_servers",
    "export": "gaia_mcp.cli.commands.exporting:export",
    "login": "gaia_mcp.cli.commands.login:login",
    "logout": "gaia_mcp.cli.commands.logout:logout",
    "trust": "gaia_mcp.cli.commands.trust:trust",
    "untrust": "gaia_mcp.cli.commands.trust:untrust",
    "tools": "gaia_mcp.cli.commands.tools:tools",
    "search": "gaia_mcp.cli.commands.search:search",
    "call": "gaia_mcp.cli.commands.call:call",
    "prompts": "gaia_mcp.cli.commands.prompts:prompts",
    "prompt": "gaia_mcp.cli.commands.prompt:prompt",
    "resources": "gaia_mcp.cli.commands.resources:resources",
    "read": "gaia_mcp.cli.commands.read:read",
    "watch": "gaia_mcp.cli.commands.watch:watch",
    "guide": "gaia_mcp.cli.commands.guide:guide",
    "up": "gaia_mcp.cli.commands.up:up",
    "ps": "gaia_mcp.cli.commands.ps:ps",
    "down": "gaia_mcp.cli.commands.down:down",
    "logs": "gaia_mcp.cli.commands.logs:logs",
    "test-client": "gaia_mcp.cli.commands.check:check",
    "lock": "gaia_mcp.cli.commands.lock:lock",
    "record": "gaia_mcp.cli.commands.record:record",
    "replay": "gaia_mcp.cli.commands.replay:replay",
    "init": "gaia_mcp.cli.commands.init:init",
    "serve": "gaia_mcp.cli.commands.serve:serve",
    "completion": "gaia_mcp.cli.commands.completion:completion",
}
# For the developers of this package, and for this program itself: they run like the others, but no help lists them.
UNLISTED = {
    "generate": "gaia_mcp.cli.commands.generate:generate",
    "keeper": "gaia_mcp.cli.commands.keeper:keeper",
}
_PLACES = COMMANDS | UNLISTED
# Headings in the help, each above the first command of its group.
HEADINGS = {"add": "Manage servers", "tools": "Inspect and use them", "test-client": "Test them", "init": "And more"}
# Longer than any of our summaries, so that Typer never cuts one; a narrow terminal breaks it instead.
SUMMARY_CHARS = 200

EXAMPLE = "Example: gaia mcp add time -- uvx mcp-server-time"


# Inherited by every command.
_SETTINGS = {"help_option_names": ["-h", "--help"]}
# Neither in help nor in completion, where each command is listed once.
ALIASES = {"get": "show", "ls": "list", "rm": "remove", "test": "test-client"}
# The command to suggest, and its default arguments, which are replaced by those that were typed.
_MEANT = {
    "add-json": ("add", "NAME JSON"),
    "approve": ("trust", "FOLDER"),
    "audit": ("test-client", "--all"),
    "auth": ("login", "NAME"),
    "authenticate": ("login", "NAME"),
    "bridge": ("serve", "--all"),
    "cache": ("tools", "NAME"),
    "call-tool": ("call", "NAME TOOL"),
    "cat": ("read", "NAME URI"),
    "change": ("edit", "NAME"),
    "config": ("edit", "NAME"),
    "configure": ("edit", "NAME"),
    "connect": ("add", "NAME -- COMMAND"),
    "create": ("add", "NAME -- COMMAND"),
    "daemon": ("serve", "--all"),
    "deauth": ("logout", "NAME"),
    "del": ("remove", "NAME"),
    "delete": ("remove", "NAME"),
    "describe": ("show", "NAME"),
    "describe-tool": ("call", "NAME TOOL --help"),
    "disconnect": ("disable", "NAME"),
    "discover": ("import", ""),
    "doctor": ("test-client", "--all"),
    "exec": ("call", "NAME TOOL"),
    "execute": ("call", "NAME TOOL"),
    "find": ("search", "WORD"),
    "gateway": ("serve", "--all"),
    "get-prompt": ("prompt", "NAME PROMPT"),
    "grep": ("search", "WORD"),
    "health": ("test-client", "--all"),
    "history": ("logs", "NAME"),
    "info": ("show", "NAME"),
    "inspect": ("show", "NAME"),
    "install": ("add", "NAME -- COMMAND"),
    "invoke": ("call", "NAME TOOL"),
    "list-prompts": ("prompts", "NAME"),
    "list-resources": ("resources", "NAME"),
    "list-tools": ("tools", "NAME"),
    "log": ("logs", "NAME"),
    "logging": ("logs", "NAME"),
    "new": ("add", "NAME -- COMMAND"),
    "open": ("edit", "NAME"),
    "ping": ("test-client", "NAME"),
    "probe": ("test-client", "NAME"),
    "prompts-get": ("prompt", "NAME PROMPT"),
    "prompts-list": ("prompts", "NAME"),
    "proxy": ("serve", "--all"),
    "read-resource": ("read", "NAME URI"),
    "refresh": ("tools", "NAME"),
    "register": ("add", "NAME -- COMMAND"),
    "reload": ("test-client", "NAME"),
    "resources-list": ("resources", "NAME"),
    "resources-read": ("read", "NAME URI"),
    "restart": ("test-client", "NAME"),
    "run": ("call", "NAME TOOL"),
    "scan": ("test-client", "--all"),
    "servers": ("list", ""),
    "session": ("list", "--check"),
    "sessions": ("list", "--check"),
    "set": ("edit", "NAME"),
    "shell": ("call", "NAME TOOL --interactive"),
    "start": ("serve", "--all"),
    "stop": ("disable", "NAME"),
    "sync": ("export", "--to HOST"),
    "tail": ("logs", "NAME --follow"),
    "template": ("resources", "NAME"),
    "templates": ("resources", "NAME"),
    "tools-call": ("call", "NAME TOOL"),
    "tools-get": ("call", "NAME TOOL --help"),
    "tools-list": ("tools", "NAME"),
    "uninstall": ("remove", "NAME"),
    "update": ("edit", "NAME"),
    "validate": ("test-client", "NAME"),
    "view": ("show", "NAME"),
    "whoami": ("login", "--status"),
}
# Groups of commands in other programs, as in `auth login NAME`.
_GROUPS = ("auth", "config", "registry", "server", "servers", "session", "sessions")
# A command that is less like the word was not meant: "watch" for "auth".
_LIKENESS = 0.7
# These take no names.
_STATUS = ("status",)
_RENAME = ("mv", "rename")


class PageContext(typer.Context):
    """A command's context, whose help page is as wide as the terminal."""

    def make_formatter(self) -> Any:
        from gaia_mcp.cli.typer_command import HelpPage

        return HelpPage(self.terminal_width)


class WordyGroup(TyperGroup):
    """A group that accepts `help`, `version` and aliases of commands, and suggests a command for an unknown word."""

    aliases: ClassVar[Mapping[str, str]] = {}
    context_class = PageContext

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, without_words(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        # Typer would cut the summaries on a narrow terminal.
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.summary_of(ctx, name)) for name in self.list_commands(ctx)])

    def summary_of(self, ctx: Any, name: str) -> str:
        """A one-sentence summary of a command."""
        command: Any = self.get_command(ctx, name)
        return str(command.get_short_help_str(SUMMARY_CHARS))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word, *rest = args
        name = self.aliases.get(word, word)
        if self.get_command(ctx, name) is None:
            line = line_of(ctx)
            meant = meant_by(line, word, rest, self.list_commands(ctx))
            hint = f"did you mean: {meant}" if meant else f"see: {ctx.command_path} --help"
            screen = Screen(line, as_json="--json" in rest)
            raise typer.Exit(screen.fail(UsageError(f"no such command {word!r}", hint=hint)))
        return super().resolve_command(ctx, [name, *rest])


def without_words(args: Sequence[str]) -> list[str]:
    """The arguments of a group of commands, with `help [COMMAND]` and `version` replaced by the equivalent options."""
    match args:
        case ["help", command, *rest]:
            return [command, "--help", *rest]
        case ["help" | "version" as word, *rest]:
            return [f"--{word}", *rest]
    return list(args)


def meant_by(line: CommandLine, word: str, rest: Sequence[str], commands: Iterable[str]) -> str:
    """The command line to suggest instead of the unknown `word`, followed by `rest`; empty if there is none."""
    rest, config = _without_config(rest)
    line, commands = line.for_command("", config), list(commands)
    if word in _GROUPS and rest and rest[0] in commands:
        return line.to_type(rest[0], *rest[1:])
    if word in _STATUS:
        return line.to_type("list", more="--check")
    if word in _RENAME:
        old, new = [*rest, *("NAME", "NEW")[len(rest) :]][:2]
        return line.to_type("edit", old, "--rename", new)
    word = word.replace("/", "-")  # A method of MCP.
    meant = _MEANT.get(word)
    command, following = meant or (next(iter(near_misses(word, commands, 1, _LIKENESS)), ""), "")
    if not command:
        return ""
    return line.to_type(command, *rest) if rest else line.to_type(command, more=following)


def _without_config(rest: Sequence[str]) -> tuple[list[str], Path | None]:
    """`rest` without its `--config`, which the suggested line contains already, and the file that it names."""
    found: list[str] = []
    config: Path | None = None
    waiting = list(rest)
    while waiting and (word := waiting.pop(0)) != "--":
        name, equals, value = word.partition("=")
        if name != "--config":
            found.append(word)
        elif equals or waiting:
            config = Path(value if equals else waiting.pop(0))
    return [*found, *rest[rest.index("--") :]] if "--" in rest else found, config


class CommandGroup(WordyGroup):
    """A group whose commands are imported on demand."""

    aliases = ALIASES

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # The names; the commands are imported on demand.
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (the base class passes it)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        place = _PLACES.get(cmd_name)
        if place is None:
            return None
        if self.commands.get(cmd_name) is None:
            module, _, name = place.partition(":")
            home = import_module(module)
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            settings = getattr(home, "SETTINGS", {})
            command = guarded(getattr(home, name), cmd_name, getattr(home, "COMMON", ()))
            alone.command(cmd_name, **settings)(command)
            made = typer.main.get_command(alone)
            made.context_class = PageContext
            read_numbers(made)
            refuse_repeated_options(made)
            accept_former_names(made)
            accept_missing_values(made)
            group_options(made)
            self.commands[cmd_name] = made
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS))
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in COMMANDS:
            heading = HEADINGS.get(name) or list(groups)[-1]
            groups.setdefault(heading, []).append((name.ljust(width), self.summary_of(ctx, name)))
        with formatter.section("Commands"):
            for heading, rows in groups.items():
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _show_version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from gaia_mcp._version import __version__

        screen = Screen(line_of(context))
        screen.print_line(f"gaia-mcp {__version__}")
        if (other := _amd_gaia()) is not None:
            screen.remark(f"amd-gaia {other} is installed here too; its program is gaia-cli, and this one is gmcp")
        raise typer.Exit


def _amd_gaia() -> str | None:
    """The version of AMD's GAIA in this environment, whose script `gaia` this package replaces; None if it is not
    installed.
    """
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("amd-gaia")
    except PackageNotFoundError:
        return None


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
]
mcp = typer.Typer(
    cls=CommandGroup,
    context_settings=_SETTINGS,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Manage, inspect, call and test MCP servers, and serve agents.",
    epilog=EXAMPLE,
)
app = typer.Typer(
    cls=WordyGroup,
    context_settings=_SETTINGS,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EXAMPLE,
)
app.add_typer(mcp, name="mcp")


@mcp.callback()
def commands(version: VersionOption = False) -> None:
    """The commands, which another program can mount too."""


@app.callback()
def program(version: VersionOption = False) -> None:
    """Tools for MCP, the Model Context Protocol."""


def run(words: Sequence[str]) -> int:
    """Run the command line `words`, given without the program's name. Returns the exit code."""
    words = with_group(words)
    line = CommandLine(words, program=program_name())
    try:
        status = app(words, standalone_mode=False, obj=line)
    except CommandLineError as error:
        status = _refuse(line, error)
    except typer.Abort:
        status = ExitStatus.INTERRUPTED
    except SystemExit as ended:
        # It is not an error if a reader such as `head` closes the pipe before the end of a help page.
        status = ExitStatus.DONE if is_closed_pipe(ended) else ended.code
    except OSError as error:  # raised while Typer wrote, for example a help text
        error.filename = error.filename or STDOUT
        status = Screen(line).fail(refused(line, error))
    return int(status or 0)


def _takes_server(error: Any) -> bool:
    from gaia_mcp.cli.typer_command import takes_server

    return takes_server(error)


def _refuse(line: CommandLine, error: Any) -> int:
    words = line.words
    screen = Screen(line, as_json="--json" in words)
    if is_missing_command(error):
        screen.to_stderr(error.format_message())
        return ExitStatus.USAGE
    command = command_path_of(error) or "gaia mcp"
    typed = ALIASES.get(words[1], words[1]) if words[:1] == ["mcp"] and words[1:] else ""
    if typed in _PLACES and not command.endswith(f" {typed}"):
        # The group reports an option without a value, so the command's name is added.
        command += f" {typed}"
    message = error.format_message().rstrip(".")
    hint = f"see: {command} --help"
    if command.endswith(" add") and message.startswith("No such option"):
        from gaia_mcp.cli.grammar.parsing import parse_line

        name, program = words[2:4] if len(words) > 3 else ("", "")
        after = line.command_after(program, start=3)
        # Options after the program are its own.
        config = None if after else parse_line(words).values.get("config")
        begun = line.for_command("", Path(config) if config else None)
        said = (
            begun.to_type("add", name, more=after) if after else begun.to_type("add", more="NAME -- COMMAND [ARG...]")
        )
        # A server behind a URL has no command.
        if after or not any("://" in word for word in words):
            hint = f"put -- before the server's own command: {said}"
    elif message.startswith("No such option") and _takes_server(error):
        # `tools npx -y …`: the option belongs to the server's command.
        first = next((word for word in words[2:] if not word.startswith("-")), "")
        if after := line.command_after(first):
            hint = f"put -- before the command of a server: {command} {after}"
    return screen.fail(UsageError(message[:1].lower() + message[1:], hint=hint))
