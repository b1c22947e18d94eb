"""`gaia mcp init`: write an agent to begin with."""

from __future__ import annotations

import os
import re
import shlex
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.completion.file_names import files
from gaia_mcp.cli.lines import AGENT_FILE, to_type
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import done
from gaia_mcp.cli.status import UsageError

FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="The Python file. Default: agent.py.", autocompletion=files, show_default=False
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]

COMMON = (JSON,)

TEMPLATE = '''"""An agent: its methods with @tool are tools of an MCP server."""

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


def init(file: FileArgument = None, force: ForceOption = False) -> None:
    """Write a Python file with an agent that has one tool.

    It runs as it is, and prints what to type next. Nothing is replaced without --force.

    Example: gaia mcp init notes.py
    """
    from gaia_mcp.errors import ConfigFileError
    from gaia_mcp.paths import shown
    from gaia_mcp.storage.output_files import put_file, put_new_file

    path = file or Path(AGENT_FILE)
    if os.path.isdir(path):  # noqa: PTH112 (never raises)
        path /= AGENT_FILE
    if path.suffix not in ("", ".py"):
        hint = f"name a Python file: {to_type('init', str(path.with_suffix('.py')))}"
        raise UsageError(f"{path.name!r} is not the name of a Python file", hint=hint)
    path = path.with_suffix(".py")
    try:
        (put_file if force else put_new_file)(path, TEMPLATE.format(name=_class_name(path.stem)).encode())
    except FileExistsError as cause:
        hint = f"choose another name, or replace it: {to_type('init', str(path), more='--force')}"
        raise ConfigFileError(path, "exists already", hint=hint) from cause
    except FileNotFoundError as cause:
        hint = f"make the folder first: mkdir -p {shlex.quote(str(path.parent))}"
        raise ConfigFileError(path, "is in a folder that does not exist", hint=hint) from cause
    except OSError as cause:
        raise ConfigFileError(path, f"cannot be written: {cause.strerror}", hint="choose another place") from cause
    target = shlex.quote(str(path) if path.is_absolute() else f"./{path}")
    following = [
        to_type("call", more=f"{target} greet name=Ada"),
        to_type("add", _server_name(path.stem), more=target),
    ]
    lines = [f"wrote {shown(path)}; call its tool, and save it under a name:", *(f"  {line}" for line in following)]
    done("\n".join(lines), path=str(path.absolute()), next=following)


def _class_name(stem: str) -> str:
    """`my_notes` as `MyNotes`; a name that says what it is where the file's says nothing."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", stem) if word]
    name = "".join(word[:1].upper() + word[1:] for word in words)
    is_usable = name.isidentifier() and not iskeyword(name)
    return name if is_usable and name not in ("Agent", "MCPAgent") else "MyAgent"


def _server_name(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.") or "agent"
