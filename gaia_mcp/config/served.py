"""Code that a child of this program serves: a handler, or an agent.

It never runs in the process of a command: code that hangs, prints, forks or exits affects only a child process. The
child receives the entry's settings in one environment variable, never as an argument.
Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import json
import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.config.command import NOTHING, Command, expanded, on_one_line, secret_from_keyring, with_home
from gaia_mcp.core.errors import EntryError, VariableUnsetError
from gaia_mcp.core.files import open_file
from gaia_mcp.core.names import SERVER_SECRETS
from gaia_mcp.core.paths import JSON_SUFFIXES
from gaia_mcp.importing import MAX_SOURCE_BYTES, split_target

# Another program with the same name has not loaded this module.
_COMMAND_LINE = "gaia_mcp.cli.program"
_SCRIPTS = ("gaia", "gmcp")
# Linux takes 128 kB for one variable; more settings belong in a file of their own.
MAX_ORDER_BYTES = 100_000
# The child ends a call that takes too long, and reports it. The client gives the child itself this much more time.
MARGIN_SECONDS = 5.0
# Deeper than settings written by hand; the code that traverses them has no limit of its own.
MAX_DEPTH = 50
# The members of an entry that are passed to the code.
ORDERED = ("stages", "agents", "timeout", "max_retries", "max_result_bytes", "settings")
# Those of them that entries of every kind have.
SHARED = ("stages", "agents", "timeout")
# Files in these folders, such as pipes, have no sibling files to import.
PIPES = ("/dev/", "/proc/")
# Holds the `order` of an entry as JSON, with its `name` and its kind. The child removes it before it loads any code.
ORDER_VARIABLE = "GAIA_MCP_SERVE"


class Served(NamedTuple):
    """A handler or an agent. `target` is `path/to/file.py` or `path/to/file.py:Class`, `package.module:Class`, or the
    name of a built-in agent. A path is relative to `folder`, or to the working folder without one.

    `order` are the members of the entry that are passed to the code, such as its `settings`. A target that `is_typed`
    was not read from an entry and contains no variables. `options` are those of the command that serves it. The
    settings of the entry override `defaults`. `project` is the file of the entry, if its format is not ours.
    """

    transport: str
    target: str
    folder: str = ""
    order: Mapping[str, Any] = NOTHING
    env: Mapping[str, Any] = NOTHING
    cwd: str | None = None
    inherit: bool = True
    is_typed: bool = False
    options: Sequence[str] = ()
    defaults: Mapping[str, str] = NOTHING
    project: str = ""

    def resolved(self, server: str, environ: Mapping[str, str]) -> Command:
        """The command of the child, with variables expanded and secrets read from the keyring.

        Raises `VariableUnsetError`, and `EntryError` for a file that cannot be loaded, a secret that cannot be read,
        and settings that cannot be passed on.
        """
        program, *words = own_program()
        words += ["serve", *self.options]
        if self.is_typed:
            # Only these: what is typed was expanded by the shell.
            own = Command("", [], self.env).resolved(server, environ)
            env = {**own.env, **self.order_variable(server)}
            return Command(program, [*words, self.anchored()], env, self.cwd, self.inherit)
        target = self._anchored(with_home(expanded(self.target, environ, server=server, field=self.transport)))
        _check_file(server, self.transport, target)
        # Only these: the path of a folder may contain text that looks like a reference.
        own = Command("", [], self.env, self.cwd).resolved(server, environ)
        order = _resolved_values(server, self.order, environ) if self.order else {}
        env = {**own.env, **self._replace(order=order).order_variable(server)}
        cwd = None if own.cwd is None else os.path.join(self.folder, own.cwd)  # noqa: PTH118
        return Command(program, [*words, target], env, cwd, self.inherit)

    def in_file(self, file: Path) -> "Served":
        """The code when only `file` is used. A built-in agent that reads a file of servers reads this one, unless its
        entry names another; other code learns of a file whose format is not ours. Not for a pipe, which cannot be read
        twice.
        """
        if str(file).startswith(PIPES):
            return self
        from gaia_mcp.core.systems import built_in_agents

        agent = built_in_agents().get(self.target) if self.transport == "agent" else None
        if agent is not None and agent.servers_setting:
            return self._replace(defaults={agent.servers_setting: str(file.absolute())})
        return self if file.suffix.lower() in JSON_SUFFIXES else self._replace(project=str(file.absolute()))

    def source_files(
        self, server: str, environ: Mapping[str, str], working_folder: Path
    ) -> tuple[list[str], list[str]]:
        """The Python files that its code may be in, with variables expanded, and the folders from which that code
        imports first. There are several files for a module, which is looked for in `cwd`, or else in `working_folder`;
        for a built-in agent there are none, and no folders.
        """
        try:
            target = self._anchored(with_home(expanded(self.target, environ, server=server, field=self.transport)))
            own = Command("", [], {"PYTHONPATH": self.env.get("PYTHONPATH", "")}, self.cwd).resolved(server, environ)
        except (EntryError, VariableUnsetError):
            return [self.target], []  # It cannot be used; once the variable is set, it names another file.
        place, colon, _ = split_target(target)
        is_file = os.path.isabs(place)  # noqa: PTH117
        if not (is_file or colon):
            return [], []
        child = os.path.join(working_folder, self.folder, own.cwd or "")  # noqa: PTH118
        folder = os.path.dirname(place) if is_file else child  # noqa: PTH120
        module = os.path.join(child, *place.split("."))  # noqa: PTH118
        files = [place] if is_file else [f"{module}.py", os.path.join(module, "__init__.py")]  # noqa: PTH118
        parts = filter(None, str(own.env["PYTHONPATH"]).split(os.pathsep))
        return files, [folder, *(os.path.join(child, part) for part in parts)]  # noqa: PTH118

    def order_variable(self, server: str) -> dict[str, str]:
        """The environment variable with the order for the child, if there is one.

        Raises `EntryError` for a value that is not JSON.
        """
        order = dict(self.order)
        if self.defaults:
            order["settings"] = {**self.defaults, **order.get("settings", {})}
        if self.project:
            order["project"] = self.project
        if self.is_typed and not order:
            return {}
        return {ORDER_VARIABLE: _as_json(server, {"kind": self.transport, "name": server, **order})}

    def anchored(self) -> str:
        """The target as an absolute path or a module; its variables are not expanded."""
        return self._anchored(with_home(self.target))

    @property
    def file(self) -> str | None:
        """The absolute path of the Python file; None for a module or a built-in agent."""
        place, _, _ = split_target(self.anchored())
        return place if place.endswith(".py") else None

    def masked(self) -> dict[str, Any]:
        """The members of the entry, with their secrets masked."""
        from gaia_mcp.text.redaction import masked_members

        own = {key: held for key, held in self.order.items() if key not in SHARED}
        shown = {self.transport: self.described(), **masked_members(own)}
        if self.env:
            shown["env"] = masked_members(self.env)
        if self.cwd is not None:
            shown["cwd"] = self.cwd
        return shown if self.inherit else {**shown, "inherit": False}

    def summary(self) -> dict[str, Any]:
        """The members that identify the server, for a file that others read: the path is relative to the working
        folder, and of settings and variables only the names are included.
        """
        target = self.anchored()
        shown: dict[str, Any] = {self.transport: os.path.relpath(target) if os.path.isabs(target) else target}  # noqa: PTH117
        names = {"settings": sorted(self.order.get("settings", ())), "env": sorted(self.env)}
        return {**shown, **{key: held for key, held in names.items() if held}}

    def described(self) -> str:
        """The target, on one line."""
        return on_one_line(self.target)

    def identity(self) -> list[Any]:
        """The identity of the server, as JSON. Contains only the names of its settings and variables."""
        names = [sorted(self.order.get("settings", ())), sorted(self.env)]
        return [self.transport, self.anchored(), self.cwd, *(names if names != [[], []] else [])]

    def _anchored(self, target: str) -> str:
        place, colon, name = split_target(target)
        if not (place.endswith(".py") or os.path.dirname(place)):  # noqa: PTH120
            return target
        # Symbolic links are kept: the modules that a file imports are next to the link.
        return f"{os.path.abspath(os.path.join(self.folder, place))}{colon}{name}"  # noqa: PTH100, PTH118


def own_program() -> list[str]:
    """The words that start this program, up to the name of a command: its script if that was started, because hints
    name it.
    """
    script = os.path.abspath(sys.argv[0])  # noqa: PTH100 (links lead out of a virtual environment)
    is_ours = _COMMAND_LINE in sys.modules and Path(script).stem in _SCRIPTS
    if is_ours and os.access(script, os.X_OK):
        return [script, "mcp"]
    return own_module()


def own_module() -> list[str]:
    """The words that start this package in any process, up to the name of a command."""
    # -P: no module of the working folder, which may be a project, is imported by accident.
    return [sys.executable, "-P", "-m", "gaia_mcp"]


def read_served(
    name: str, kind: str, config: Mapping[str, Any], source: Path | None, env: Mapping[str, Any]
) -> "Served":
    """The handler or agent, the `kind`, in an entry whose other members have been read.

    Raises `EntryError` naming the member that is invalid.
    """
    if (other := {"handler": "agent", "agent": "handler"}[kind]) in config:
        raise EntryError(name, f"{kind!r} and {other!r} cannot be used together")
    order = {key: config[key] for key in ORDERED if config.get(key) is not None}
    for key, least in (("max_retries", 0), ("max_result_bytes", 1)):
        if type(order.get(key, least)) is not int or order.get(key, least) < least:
            raise EntryError(name, f"{key!r} must be a whole number, {least} or more")
    if (settings := order.get("settings")) is not None:
        if not isinstance(settings, dict):
            raise EntryError(name, "'settings' must be an object")
        if _depth(settings) > MAX_DEPTH:
            raise EntryError(name, f"'settings' is nested more than {MAX_DEPTH} levels deep")
    folder = str(source.absolute().parent) if source is not None and not str(source).startswith(PIPES) else ""
    inherit = config.get("inherit", True)
    return Served(kind, config[kind], folder, order, env, config.get("cwd"), inherit)


def _check_file(server: str, member: str, target: str) -> None:
    place, colon, _ = split_target(target)
    if not os.path.isabs(place):  # noqa: PTH117
        if member == "handler" and not colon:
            raise EntryError(server, "'handler' must be path/to/file.py, path/to/file.py:Class or package.module:Class")
        return
    try:
        with open_file(place) as file:
            size = os.fstat(file.fileno()).st_size
    except OSError as problem:
        raise EntryError(server, f"{member!r} names {place!r}, which cannot be read: {problem.strerror}") from problem
    if not place.endswith(".py"):
        raise EntryError(server, f"{member!r} names {place!r}, which is not a Python file: its name must end in .py")
    if size > MAX_SOURCE_BYTES:
        raise EntryError(server, f"{member!r} names {place!r}, which is larger than {MAX_SOURCE_BYTES >> 20} MB")


def _resolved_values(server: str, value: Any, environ: Mapping[str, str], field: str = "") -> Any:
    """A JSON value with the variables in its strings expanded and its secrets read from the keyring."""
    if isinstance(value, str):
        return expanded(value, environ, server=server, field=field)
    if isinstance(value, list):
        return [_resolved_values(server, part, environ, field) for part in value]
    if not isinstance(value, Mapping):
        return value
    if isinstance(reference := value.get("$keyring"), str) and len(value) == 1:
        return secret_from_keyring(server, field, reference)
    return {
        key: _resolved_values(server, held, environ, f"{field}.{key}" if field else str(key))
        for key, held in value.items()
    }


def _depth(value: Any) -> int:
    """The nesting depth of a JSON value, up to the limit."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
        ]
        depth += 1
    return depth


def _as_json(server: str, order: dict[str, Any]) -> str:
    try:
        text = json.dumps(order, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as cause:
        raise EntryError(server, f"'settings' cannot be written as JSON: {cause}") from cause
    if len(text) > MAX_ORDER_BYTES:
        raise EntryError(server, f"'settings' has {len(text)} bytes, and at most {MAX_ORDER_BYTES} can be passed on")
    return text


def take_order(environ: MutableMapping[str, str]) -> dict[str, Any]:
    """The order for this process, removed from `environ`; empty if it was started by hand."""
    try:
        order = json.loads(environ.pop(ORDER_VARIABLE, "{}"))
    except (ValueError, RecursionError):
        return {}  # Set by another program.
    return order if isinstance(order, dict) else {}


def drop_secrets(environ: MutableMapping[str, str]) -> None:
    """Remove the server's own secrets from `environ`, once they are read and before code is loaded that may start
    programs.
    """
    for name in SERVER_SECRETS:
        environ.pop(name, None)
