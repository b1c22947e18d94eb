"""`gaia mcp generate`: write the man page, the completion scripts and the table of the command line
(`cli/grammar/table.json`), each from the Typer commands.

For the developers of this package; the help does not list it.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from gaia_mcp.cli.app import UNLISTED, app
from gaia_mcp.cli.grammar import Argument, Option
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import JSON
from gaia_mcp.text import one_line

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="The checkout. Default: the working folder.", show_default=False),
]
CheckOption = Annotated[bool, typer.Option("--check", help="Write nothing; fail if a file is out of date.")]

COMMON = (JSON,)
HELP_CHARS = 120
# Completers must be in this package, so that completion imports nothing else.
_COMPLETERS = "gaia_mcp.cli.completion."
# Typer's types for paths.
_PATH_TYPES = ("path", "filename", "file", "directory")
# Values that may also be file paths; a program and its arguments often are.
_PATH_METAVAR = re.compile(r"\b(FILE|COMMAND)\b")


def generate(invocation: Invocation, folder: Folder = None, check: CheckOption = False) -> None:
    """Write the man pages, the completion scripts and the command table of a checkout.

    They are made from the commands, and are always the same for the same commands.

    Example: gaia mcp generate --check
    """
    screen = invocation.screen
    from gaia_mcp.core.errors import ConfigFileError, MCPError
    from gaia_mcp.storage.atomic import read_bytes
    from gaia_mcp.storage.output_files import put_file

    root = folder or Path()
    if not (root / "gaia_mcp" / "cli").is_dir():
        raise ConfigFileError(root.absolute(), "is not a checkout of gaia-mcp", hint="name its folder")
    wanted = {name: text.encode() for name, text in generated().items()}
    differing = [name for name, data in wanted.items() if read_bytes(root / name) != data]
    if check:
        if differing:
            problem = f"out of date: {', '.join(differing)}"
            raise MCPError(problem, hint=f"write them with: {screen.line.to_type('generate')}")
        screen.done("all files are up to date", checked=list(wanted))
        return
    for name in differing:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        put_file(root / name, wanted[name])
    screen.done(f"wrote {', '.join(differing)}" if differing else "all files were up to date", written=differing)


def generated() -> dict[str, str]:
    """The expected content of each file, by its path within a checkout."""
    from gaia_mcp.cli.completion.installing import FILES, SCRIPTS
    from gaia_mcp.cli.manual import pages

    return {
        "gaia_mcp/cli/grammar/table.json": table_text(),
        **{f"man/{name}": text for name, text in pages().items()},
        **{f"completions/{name}": SCRIPTS[shell] for name, shell in FILES.items()},
    }


def table_text() -> str:
    """The text of `table.json`: the program, and the options of all its commands, each stored once under a name."""
    options: dict[str, Any] = {}
    program = _command(typer.main.get_command(app), "gaia", None, options)
    return json.dumps({"options": options, "program": program}, indent=1, ensure_ascii=False) + "\n"


def _command(command: Any, name: str, parent: Any, shared: dict[str, Any]) -> dict[str, Any]:
    context = command.context_class(command, info_name=name, parent=parent, **command.context_settings)
    parameters = command.get_params(context)
    completers = read_completers(command)
    commands = {}
    if hasattr(command, "get_command"):
        names = [*command.list_commands(context), *(UNLISTED if name == "mcp" else ())]
        commands = {each: _command(command.get_command(context, each), each, context, shared) for each in names}
    arguments = [_argument(each, completers) for each in parameters if each.param_type_name == "argument"]
    options = [
        _option(each, completers, context)
        for each in parameters
        if each.param_type_name == "option" and not each.hidden
    ]
    return {
        "summary": command.get_short_help_str(HELP_CHARS),
        "is_listed": name not in UNLISTED,
        "arguments": [_without_defaults(each) for each in arguments],
        "options": [_name_in(shared, _without_defaults(each)) for each in options],
        "commands": commands,
        **({"takes_other_options": True} if command.ignore_unknown_options else {}),
        **({"aliases": dict(aliases)} if (aliases := getattr(command, "aliases", {})) else {}),
    }


def _name_in(shared: dict[str, Any], option: dict[str, Any]) -> str:
    """Store an option in `shared` unless it is there, and return its name. Different options of one parameter are
    numbered.
    """
    name: str = option["parameter"]
    number = 1
    while shared.setdefault(name, option) != option:
        number += 1
        name = f"{option['parameter']}_{number}"
    return name


def _without_defaults(parameter: Argument | Option) -> dict[str, Any]:
    defaults = parameter._field_defaults
    return {
        name: value for name, value in parameter._asdict().items() if name not in defaults or value != defaults[name]
    }


def _argument(parameter: Any, completers: dict[str, str]) -> Argument:
    return Argument(
        parameter.name,
        _completers_of(parameter, completers),
        is_required=parameter.required,
        takes_many=parameter.nargs == -1,
    )


def _option(parameter: Any, completers: dict[str, str], context: Any) -> Option:
    return Option(
        parameter.name,
        # Sorted, because the names of `--help` come in no fixed order.
        tuple(sorted((*parameter.opts, *parameter.secondary_opts))),
        one_line(parameter.help or "", HELP_CHARS),
        "" if parameter.is_flag else parameter.make_metavar(context),
        _completers_of(parameter, completers),
        is_repeatable=parameter.multiple,
        is_required=parameter.required,
        is_eager=parameter.is_eager,
        bounds=(parameter.type.min, parameter.type.max) if parameter.type.name == "float range" else None,
    )


def read_completers(command: Any) -> dict[str, str]:
    """The completers of a command's parameters, read from the annotations, because Typer wraps the functions.

    Raises `ValueError` for a function that is not in the completion package.
    """
    found = {}
    for name, parameter in (
        inspect.signature(command.callback, eval_str=True).parameters.items() if command.callback else ()
    ):
        for each in getattr(parameter.annotation, "__metadata__", ()):
            if function := getattr(each, "autocompletion", None):
                module = function.__module__
                if not module.startswith(_COMPLETERS):
                    raise ValueError(f"{module}.{function.__name__} is not in {_COMPLETERS}*, so a TAB cannot call it")
                found[name] = f"{module.removeprefix(_COMPLETERS)}.{function.__name__}"
    return found


def _completers_of(parameter: Any, completers: dict[str, str]) -> tuple[str, ...]:
    own = (completers[parameter.name],) if parameter.name in completers else ()
    is_path = parameter.type.name in _PATH_TYPES or _PATH_METAVAR.search(parameter.metavar or "")
    return (*own, "file_names.files") if is_path else own
