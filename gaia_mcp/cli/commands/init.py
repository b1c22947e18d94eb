"""`gaia mcp init`: write an agent or a handler with one tool, which runs without changes; or the checks of a server."""

from __future__ import annotations

import os
import re
import shlex
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from gaia_mcp.cli.completion.completers import servers
from gaia_mcp.cli.completion.file_names import files
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.lines import AGENT_FILE
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.names import HANDLER_SUFFIX, handler_name

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="The file. Default: agent.py, example_handler.py or checks.yaml.",
        autocompletion=files,
        show_default=False,
    ),
]
HandlerOption = Annotated[bool, typer.Option("--handler", help="Write a handler instead of an agent.")]
SpecOption = Annotated[
    str | None,
    typer.Option(
        "--spec", metavar="NAME", help="Write checks of this server instead, for test-client --spec.",
        show_default=False, autocompletion=servers,
    ),
]  # fmt: skip
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]

# The default name of a file of checks.
CHECKS_FILE = "checks.yaml"
COMMON = (CONFIG, JSON, TIMEOUT)
_AGENT = '''"""An agent: its methods with @tool are tools of an MCP server.

The source of the module gaia_mcp.agents.demo shows what else it may offer: prompts, resources, questions.
"""

from gaia_mcp import MCPAgent, tool


class {name}(MCPAgent):
    """Greets people."""

    @tool(read_only=True)
    def greet(self, name: str, times: int = 1) -> str:
        """Greet a person.

        Args:
            name: Whom to greet.
            times: How often.
        """
        return " ".join([f"Hello, {{name}}!"] * times)
'''
_HANDLER = '''"""A handler: its tools are tools of an MCP server, and it connects to what they need."""

from typing import Any

from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult


class {name}(MCPHandler):
    """Greets people."""

    description = "Greets people"

    def connect(self) -> None:
        # Called before the first use: log in, open a session. If it raises, the tools are not offered.
        # `settings` are those of the entry: "settings": {{"greeting": "Good morning"}}
        self._greeting = self.config.settings.get("greeting", "Hello")
        self._connected = True

    def disconnect(self) -> None:
        # Close what `connect` has opened. This may be called several times.
        self._connected = False

    def list_tools(self) -> list[MCPToolDefinition]:
        schema = {{
            "type": "object",
            "properties": {{"name": {{"type": "string", "description": "Whom to greet."}}}},
            "required": ["name"],
        }}
        return [MCPToolDefinition("greet", "Greet a person.", schema, handler_name=self.name)]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        # Must end within `self.config.timeout` seconds, and return a failure instead of raising it.
        if name != "greet":
            return MCPToolResult("", is_error=True, error_message=f"Unknown tool: {{name}}")
        return MCPToolResult(f"{{self._greeting}}, {{arguments['name']}}!")
'''


def init(
    invocation: Invocation,
    file: FileArgument = None,
    handler: HandlerOption = False,
    spec: SpecOption = None,
    force: ForceOption = False,
) -> None:
    """Write a Python file with an agent or a handler that has one tool.

    It runs as it is, and prints what to type next. Nothing is replaced without --force. An agent's tools are its
    methods; a handler lists its tools and connects to what they need, with settings from its entry. With --spec, writes
    a file of checks from what a server offers; nothing of it is called.

    Example: gaia mcp init notes.py
    """
    screen = invocation.screen
    from gaia_mcp.core.paths import shown

    if spec is not None:
        if handler:
            raise UsageError("--handler and --spec cannot be used together", hint="leave out one of the two")
        _write_checks(invocation, file or Path(CHECKS_FILE), spec, force=force)
        return
    template = HANDLER if handler else AGENT
    kind = ("--handler",) if handler else ()
    path = file or Path(template.file)
    if os.path.isdir(path):  # noqa: PTH112 (never raises)
        path /= template.file
    if path.suffix not in ("", ".py"):
        hint = f"name a Python file: {screen.line.to_type('init', *kind, str(path.with_suffix('.py')))}"
        raise UsageError(f"{path.name!r} is not the name of a Python file", hint=hint)
    path = template.path(path)
    _write(path, template.content(path), screen.line.to_type("init", *kind, str(path), more="--force"), force=force)
    target = shlex.quote(str(path) if path.is_absolute() else f"./{path}")
    following = [
        screen.line.to_type("call", more=f"{target} greet name=Ada"),
        screen.line.to_type("add", server_name(path), more=target),
    ]
    lines = [f"wrote {shown(path)}; call its tool, and save it under a name:", *(f"  {line}" for line in following)]
    screen.done("\n".join(lines), path=str(path.absolute()), next=following)


def _write_checks(invocation: Invocation, path: Path, name: str, *, force: bool) -> None:
    from gaia_mcp.cli.checks.case_writing import first_cases
    from gaia_mcp.cli.screen.session_view import SessionView
    from gaia_mcp.core.paths import shown
    from gaia_mcp.fleet.session import connected

    screen, line = invocation.screen, invocation.screen.line
    if path.suffix not in (".yaml", ".yml"):
        hint = f"name a YAML file: {line.to_type('init', '--spec', name, str(path.with_suffix('.yaml')))}"
        raise UsageError(f"{path.name!r} is not the name of a YAML file", hint=hint)
    again = line.to_type("init", "--spec", name, str(path), more="--force")
    if not force and os.path.lexists(path):
        raise _exists(path, again)
    entry = invocation.only_server([name])
    run = line.to_type("test-client", name, "--spec", str(path))
    with (
        SessionView(screen, f"starting {entry.name}") as view,
        connected(entry, view, deadline=invocation.deadline()) as session,
    ):
        content = first_cases(session, run, line.to_type("test-client", "--spec-schema"))
    _write(path, content, again, force=force)
    screen.done(f"wrote {shown(path)}; run it with:\n  {run}", path=str(path.absolute()), next=[run])


def _exists(path: Path, again: str) -> Exception:
    from gaia_mcp.core.errors import ConfigFileError

    return ConfigFileError(path, "exists already", hint=f"choose another name, or replace it: {again}")


def _write(path: Path, content: bytes, again: str, *, force: bool) -> None:
    """Write the file; `again` is the command line that replaces one. Raises `ConfigFileError`."""
    from gaia_mcp.core.errors import ConfigFileError
    from gaia_mcp.storage.output_files import put_file, put_new_file

    try:
        (put_file if force else put_new_file)(path, content)
    except FileExistsError as cause:
        raise _exists(path, again) from cause
    except FileNotFoundError as cause:
        hint = f"make the folder first: mkdir -p {shlex.quote(str(path.parent))}"
        raise ConfigFileError(path, "is in a folder that does not exist", hint=hint) from cause
    except OSError as cause:
        raise ConfigFileError(path, f"cannot be written: {cause.strerror}", hint="choose another place") from cause


class Template(NamedTuple):
    """A kind of file: its default name, its text, and the names of its class."""

    file: str
    text: str
    # Added to the name of a file that was given without `.py`.
    suffix: str
    # The class name if the file's name yields none, and the names that the text imports.
    default: str
    taken: tuple[str, ...]

    def path(self, given: Path) -> Path:
        """The path of the file to write; `given` ends in `.py` or has no suffix."""
        if given.suffix or given.stem.endswith(self.suffix):
            return given.with_suffix(".py")
        return given.with_name(f"{given.name}{self.suffix}.py")

    def content(self, path: Path) -> bytes:
        """The content of the file `path`."""
        return self.text.format(name=self._class_name(path.stem)).encode()

    def _class_name(self, stem: str) -> str:
        """`MyNotes` for `my_notes`, `CostHandler` for `cost`; the default if the file name yields no valid name."""
        ending = self.suffix.strip("_").capitalize()
        words = [word for word in re.split(r"[^A-Za-z0-9]+", stem.removesuffix(self.suffix)) if word]
        name = "".join(word[:1].upper() + word[1:] for word in words) + ending
        is_usable = bool(words) and name.isidentifier() and not iskeyword(name)
        return name if is_usable and name not in self.taken else self.default


AGENT = Template(AGENT_FILE, _AGENT, "", "MyAgent", ("Agent", "MCPAgent"))
HANDLER = Template("example_handler.py", _HANDLER, HANDLER_SUFFIX, "MyHandler", ("MCPHandler",))


def server_name(path: Path) -> str:
    """A name for the server of this file."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", handler_name(path.stem)).strip("-.") or "agent"
