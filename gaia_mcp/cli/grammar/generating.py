"""The source of the table, from the Typer commands, formatted as `ruff format` does."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from typing import Any

import typer

from gaia_mcp.cli.app import UNLISTED, app
from gaia_mcp.cli.grammar.model import Argument, Command, Option
from gaia_mcp.safetext import one_line

OPENING = '''"""The commands, their arguments and their options.

Written from the Typer commands by: gaia mcp generate
"""

from __future__ import annotations

from gaia_mcp.cli.grammar.model import Argument, Command, Option

'''
HELP_CHARS = 120
_COLUMNS = 120
# A TAB imports nothing from elsewhere.
_COMPLETERS = "gaia_mcp.cli.completion."
# What Typer calls a path.
_PATH_TYPES = ("path", "filename", "file", "directory")
# What may also be the path of a file; a program and its arguments often are.
_PATH_METAVAR = re.compile(r"\b(FILE|COMMAND)\b")


class _Name(str):
    """A name in the source, which stands for an option that several commands have."""

    __slots__ = ()


def table_source() -> str:
    """The text of `table.py`."""
    program = read_commands()
    named = _shared_options(program)
    lines = [f"{name} = {source_of(option, 0, len(name) + 3)}" for option, name in named.items()]
    return OPENING + "\n".join([*lines, f"\nPROGRAM = {source_of(_with_names(program, named), 0, 10)}"]) + "\n"


def read_commands() -> Command:
    """The whole program, as Typer has it."""
    return _command(typer.main.get_command(app), "gaia", None)


def _command(command: Any, name: str, parent: Any) -> Command:
    context = command.context_class(command, info_name=name, parent=parent)
    parameters = command.get_params(context)
    completers = read_completers(command)
    commands = {}
    if hasattr(command, "get_command"):
        names = [*command.list_commands(context), *(UNLISTED if name == "mcp" else ())]
        commands = {each: _command(command.get_command(context, each), each, context) for each in names}
    return Command(
        command.get_short_help_str(HELP_CHARS),
        tuple(_argument(each, completers) for each in parameters if each.param_type_name == "argument"),
        tuple(
            _option(each, completers, context)
            for each in parameters
            if each.param_type_name == "option" and not each.hidden
        ),
        commands,
        name not in UNLISTED,
    )


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
        tuple(parameter.opts),
        one_line(parameter.help or "", HELP_CHARS),
        "" if parameter.is_flag else parameter.make_metavar(context),
        _completers_of(parameter, completers),
        is_repeatable=parameter.multiple,
        is_required=parameter.required,
        is_eager=parameter.is_eager,
        bounds=(parameter.type.min, parameter.type.max) if parameter.type.name == "float range" else None,
    )


def read_completers(command: Any) -> dict[str, str]:
    """The functions that complete a command's parameters, from the annotations of these, since Typer wraps its own.

    Raises `ValueError` for one that a TAB must not load.
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


def _shared_options(program: Command) -> dict[Option, str]:
    """The options that several commands have, with a name for each; those of one parameter are numbered."""
    counts: Counter[Option] = Counter()

    def count(command: Command) -> None:
        counts.update(command.options)
        for each in command.commands.values():
            count(each)

    count(program)
    named: dict[Option, str] = {}
    for option in counts:
        name = option.parameter.upper()
        before = sum(each.parameter == option.parameter for each in named)
        named[option] = f"{name}_{before + 1}" if before else name
    return named


def _with_names(command: Command, named: dict[Option, str]) -> Command:
    options: Any = tuple(_Name(named[option]) if option in named else option for option in command.options)
    commands = {name: _with_names(each, named) for name, each in command.commands.items()}
    return command._replace(options=options, commands=commands)


def source_of(value: Any, indent: int = 0, taken: int = 0) -> str:
    """`value` as an expression that begins in column `taken`, on one line where that is long enough."""
    flat = _flat(value)
    if taken + len(flat) < _COLUMNS or not isinstance(value, (tuple, dict)):
        return flat
    begin, parts, end = _parts(value)
    inside = " " * (indent + 4)
    within = flat[len(begin) : -len(end)]
    if begin != "(" and begin != "{" and len(inside) + len(within) <= _COLUMNS:
        return f"{begin}\n{inside}{within}\n{' ' * indent}{end}"
    rows = [f"{inside}{lead}{source_of(each, indent + 4, indent + 4 + len(lead))},\n" for lead, each in parts]
    return f"{begin}\n{''.join(rows)}{' ' * indent}{end}"


def _flat(value: Any) -> str:
    if isinstance(value, _Name):
        return str(value)
    if isinstance(value, str):
        return repr(value) if '"' in value else json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (tuple, dict)):
        return repr(value)
    begin, parts, end = _parts(value)
    text = ", ".join(f"{lead}{_flat(each)}" for lead, each in parts)
    return f"{begin}{text}{',' if begin == '(' and len(parts) == 1 else ''}{end}"


def _parts(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """How a tuple, a dict or an entry of the table begins, what is in it, each after its key, and how it ends."""
    if isinstance(value, dict):
        return "{", [(f"{_flat(key)}: ", each) for key, each in value.items()], "}"
    if not hasattr(value, "_field_defaults"):
        return "(", [("", each) for each in value], ")"
    parts: list[tuple[str, Any]] = []
    for place, (name, each) in enumerate(zip(value._fields, value, strict=True)):
        if name not in value._field_defaults or each != value._field_defaults[name]:
            parts.append(("" if place == len(parts) and not isinstance(each, bool) else f"{name}=", each))
    return f"{type(value).__name__}(", parts, ")"
