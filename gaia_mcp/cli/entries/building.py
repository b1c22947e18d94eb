"""Builds an entry from the words of a command line, in the same way for `add` and `edit`."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.grammar import IMPLIED
from gaia_mcp.cli.status import UsageError
from gaia_mcp.client.transports.stdio.launch import references, split_command_line
from gaia_mcp.config.entries import KEEP_ALIVE, REVISION, TRUST_HINTS, read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.core.errors import EntryError
from gaia_mcp.hosts.dialects import TYPES
from gaia_mcp.text.strict_json import JSONTextError, RepeatedKeyError, parse_json
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# The variable from which other programs read the secret of `--client-secret`, which is never an argument.
SECRET_VARIABLE = "MCP_CLIENT_SECRET"  # noqa: S105 (its name)
# A name that `${NAME}` can refer to.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A path on a drive, or on another machine. A URL with a scheme of one letter does not exist.
_PATH = re.compile(r"[A-Za-z]:[\\/].*|\\\\[^\\].*", re.DOTALL)
_SUFFIX = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)
# Programs that have the same name on every system. The launcher `py` is called python3 there.
_EVERYWHERE = {
    **{
        name: name for name in ("bun", "bunx", "deno", "docker", "dotnet", "java", "node", "npm", "npx", "pipx", "pnpm")
    },
    **{name: name for name in ("podman", "python", "python3", "uv", "uvx", "yarn")},
    "py": "python3",
}


def command_of(name: str, words: list[str]) -> dict[str, Any]:
    """`command` and `args` from `"COMMAND LINE"` or `COMMAND ARG...`. Raises `EntryError`."""
    command, *arguments = _split(name, words)
    return {"command": command, "args": arguments}


def variables_of(env: Sequence[str]) -> dict[str, str]:
    """The variables of `--env`; a name alone becomes a reference. Raises `UsageError`."""
    found = {}
    for item in env:
        key, equals, value = item.partition("=")
        if not key or not (equals or _VARIABLE.fullmatch(key)):
            raise UsageError(f"--env {item!r} names no variable", hint="write --env NAME=VALUE, or --env NAME")
        found[key] = value if equals else f"${{{key}}}"
    return found


def headers_of(headers: Sequence[str], token_env: str | None) -> dict[str, str]:
    """The headers of `--header`, and the one for the token in the variable of `--token-env`. Raises `UsageError`."""
    found = {}
    for item in headers:
        key, colon, value = item.partition(":")
        if not colon or not key.strip():
            raise UsageError(f"--header {key!r} has no colon after a name", hint="write --header 'Name: value'")
        found[key.strip()] = value.strip()
    if token_env is None:
        return found
    if not _VARIABLE.fullmatch(token_env):
        # It may be the token itself, so it is not repeated.
        hint = "write --token-env NAME, and export NAME=TOKEN"
        raise UsageError("--token-env takes the name of a variable", hint=hint)
    if any(name.lower() == "authorization" for name in found):
        raise UsageError("--token-env and a header Authorization cannot be used together", hint="leave one of them out")
    return {**found, "Authorization": f"Bearer ${{{token_env}}}"}


def fill_in(
    entry: dict[str, Any],
    env: list[str],
    headers: list[str],
    token_env: str | None,
    cwd: Path | None = None,
    request_timeout: float | None = None,
    inherits_all: bool | None = None,
) -> None:
    """Put the values of the options into `entry`. Raises `UsageError` for an option that does not apply to it."""
    if "url" in entry and (env or inherits_all or cwd is not None):
        option = "--env" if env else "--inherit-env" if inherits_all else "--cwd"
        hint = f"leave {option} out; a URL is sent values with --header 'Name: value'"
        raise UsageError(f"{option} is for a command, and this server is reached by a URL", hint=hint)
    if "url" not in entry and (headers or token_env is not None):
        option = "--header" if headers else "--token-env"
        raise UsageError(f"{option} is for a URL, and this server has none", hint=f"leave {option} out, or use --env")
    if env:
        entry["env"] = {**_object(entry.get("env")), **variables_of(env)}
    if headers or token_env is not None:
        new = headers_of(headers, token_env)
        # The names of headers have no case.
        replaced = {name.lower() for name in new}
        held = _object(entry.get("headers"))
        kept = {key: value for key, value in held.items() if key in new or key.lower() not in replaced}
        entry["headers"] = {**kept, **new}
    if inherits_all:
        entry["inherit"] = True
    elif inherits_all is not None:
        entry.pop("inherit", None)
    if cwd is not None:
        entry["cwd"] = str(cwd.expanduser().absolute())
    if request_timeout is not None:
        entry["timeout"] = int(request_timeout) if request_timeout == int(request_timeout) else request_timeout


def authorize(entry: dict[str, Any], client_id: str | None, has_secret: bool, callback_port: int | None) -> None:
    """Set the authorization of `--client-id`, `--client-secret` and `--callback-port` in `entry`. Raises `UsageError`
    for a server that is not reached by a URL.
    """
    secret = f"${{{SECRET_VARIABLE}}}" if has_secret else None
    settings = {"clientId": client_id, "clientSecret": secret, "callbackPort": callback_port}
    given = {key: value for key, value in settings.items() if value is not None}
    if given and "url" not in entry:
        option = "--client-id" if client_id else "--client-secret" if has_secret else "--callback-port"
        raise UsageError(f"{option} is for a URL, and this server is a command", hint=f"leave {option} out")
    if given:
        entry["oauth"] = {**_object(entry.get("oauth")), **given}


def set_transport(entry: dict[str, Any], transport: str | None) -> None:
    """Set the transport in `entry`. Raises `UsageError` for a transport that does not apply to the server."""
    if transport is None:
        return
    kind = TYPES.get(transport)
    if kind is None:
        raise UsageError(f"there is no transport {transport!r}", hint="use one of: stdio, http, sse, rpc")
    if (kind == "stdio") is ("url" in entry):
        other = "--transport http, sse or rpc" if kind == "stdio" else "--transport stdio, or give a URL"
        reached = "a URL" if kind == "stdio" else "a command"
        raise UsageError(f"--transport {transport} is not for {reached}", hint=f"use {other}")
    if kind == "stdio":
        entry.pop("type", None)
    else:
        # A transport that was chosen is not detected any more.
        entry["type"] = kind


def restrict(entry: dict[str, Any], stages: list[str], agents: list[str]) -> None:
    """Set the stages and agents of `--stage` and `--agent` in `entry`, replacing its own."""
    entry.update({key: names for key, names in (("stages", stages), ("agents", agents)) if names})


def fix_revision(entry: dict[str, Any], revision: str | None) -> None:
    """Set the revision of `--protocol` in `entry`. Raises `UsageError` for an unknown revision."""
    if revision is None:
        return
    from gaia_mcp.protocol import ALL_VERSIONS

    if revision not in ALL_VERSIONS:
        raise UsageError(f"there is no revision {revision!r} of MCP", hint=f"use one of: {', '.join(ALL_VERSIONS)}")
    entry[REVISION] = revision


def trust_hints_of(entry: dict[str, Any], is_trusted: bool | None) -> None:
    """Set in `entry` whether `--trust-hints` or `--no-trust-hints` was given."""
    if is_trusted:
        entry[TRUST_HINTS] = True
    elif is_trusted is not None:
        entry.pop(TRUST_HINTS, None)


def check_keep_alive(keep_alive: str | None, words: Sequence[str | None]) -> None:
    """Raise `UsageError` for an invalid duration of `--keep-alive`, and if one of `words`, the first after the option,
    may have been meant as its duration.
    """
    if keep_alive is None:
        return
    from gaia_mcp.core.durations import keep_alive_seconds, seconds_in

    if keep_alive == IMPLIED:
        if meant := next((word for word in words if word and seconds_in(word) is not None), None):
            hint = f"write --keep-alive={meant}"
            raise UsageError(f"--keep-alive takes its time after an equals sign, not as {meant!r}", hint=hint)
    elif keep_alive_seconds(keep_alive) is None:
        hint = "write --keep-alive=90s, =30m, =2h or =1d, or --keep-alive alone for 15m"
        raise UsageError(f"--keep-alive takes a time from 1s to 7d, not {keep_alive!r}", hint=hint)


def keep_open(entry: dict[str, Any], keep_alive: str | None) -> None:
    """Set the duration of `--keep-alive`, which was checked, in `entry`."""
    if keep_alive is not None:
        entry[KEEP_ALIVE] = keep_alive if keep_alive != IMPLIED else True


def set_settings(entry: dict[str, Any], settings: list[str]) -> None:
    """Set the values of `--setting` in `entry`. Raises `UsageError` for an entry that is not a handler or an agent."""
    if settings and not is_served(entry):
        hint = "leave it out, or use --env K=V for a command" if "url" not in entry else "leave it out"
        raise UsageError("--setting is for a handler or an agent", hint=hint)
    if settings:
        entry["settings"] = {**_object(entry.get("settings")), **keywords("--setting", settings)}


def keywords(option: str, items: Sequence[str]) -> dict[str, Any]:
    """The values of an option `K=JSON`, by name; a value that is not JSON is text. Raises `UsageError`."""
    given: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"{option} {item!r} is not K=JSON", hint=f"write {option} name=value")
        if key in given:
            raise UsageError(f"{option} {key!r} is given twice", hint=f"write a list as JSON: {option} name=[1,2]")
        try:
            given[key] = parse_json(text, unique_keys=True)
        except RepeatedKeyError as problem:
            raise UsageError(f"{option} {key!r} {problem}", hint="remove one of them") from None
        except JSONTextError:
            given[key] = text
    return given


def choose_tools(entry: dict[str, Any], only: list[str], excluded: list[str]) -> None:
    """Set the tools of `--only` and `--except` in `entry`, replacing its own."""
    entry.update({key: patterns for key, patterns in ((INCLUDE, only), (EXCLUDE, excluded)) if patterns})


def anchor(entry: dict[str, Any]) -> bool:
    """Make the path of a program absolute, so that it is found from every folder. Returns whether the entry changed."""
    if not is_relative(entry["command"]) or "cwd" in entry:  # With `cwd`, the path is relative to that folder.
        return False
    # Symbolic links are kept, because a virtual environment's interpreter is one.
    entry["command"] = os.path.abspath(entry["command"])  # noqa: PTH100
    return True


def on_this_system(entry: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """An entry that may have been written for Windows, as this system can start it, and the remarks."""
    if os.name == "nt":
        return entry, []

    return without_windows(entry, lambda program: shutil.which(program) is not None)


def is_served(raw: Any) -> bool:
    """Whether a raw entry, valid or not, names a handler or an agent."""
    return isinstance(raw, dict) and not {"command", "url"} & raw.keys() and bool({"handler", "agent"} & raw.keys())


def anchored(name: str, raw: Any, path: Path) -> Any:
    """A raw entry of the file `path`, with the path to its code made absolute."""
    try:
        target = read_entry(name, raw, path).target
    except EntryError:
        return raw
    return {**raw, target.transport: target.anchored()} if isinstance(target, Served) else raw


def is_relative(command: str) -> bool:
    """Whether a program's path is relative to the working folder."""
    return bool(os.path.dirname(command)) and not os.path.isabs(command) and not command.startswith(("~", "${"))  # noqa: PTH117, PTH120


def _object(held: Any) -> dict[str, Any]:
    return held if isinstance(held, dict) else {}


def _split(name: str, words: list[str]) -> list[str]:
    if len(words) > 1 or not any(character.isspace() for character in words[0]):
        return words
    # The path of a program may contain spaces.
    return words if shutil.which(words[0]) else split_command_line(name, words[0], references(os.environ))


def without_windows(entry: Mapping[str, Any], is_program: Callable[[str], bool]) -> tuple[dict[str, Any], list[str]]:
    """A valid entry of ours as this system can start it, and the remarks: without `cmd /c`, and with the name of a
    program in place of its path on Windows. Other paths of Windows are only named. `is_program` tells whether a program
    exists here: then its entry stays as it is.
    """
    changed = dict(entry)
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or is_program(command):
        return changed, []
    remarks = []
    words = [command, *(args if isinstance(args, list) else [])]
    if _name_of(command) == "cmd" and (inner := _after_cmd(words[1:])):
        words = inner
        remarks.append(f"{words[0]!r} is started without 'cmd /c', which is of Windows")
    name = _EVERYWHERE.get(_name_of(words[0]))
    if name is not None and name != words[0] and not is_program(words[0]):
        remarks.append(f"the program {words[0]!r} is of Windows; here it is {name!r}")
        words[0] = name
    if words != [command, *(args if isinstance(args, list) else [])]:
        changed |= {"command": words[0], "args": words[1:]}
    env = entry.get("env")
    places = [
        *(("the program", word) for word in words[:1]),
        *(("the argument", word) for word in words[1:]),
        *((f"env {key}", held) for key, held in (env.items() if isinstance(env, dict) else ())),
        ("the folder", entry.get("cwd")),
    ]
    paths = [f"{where} {held!r}" for where, held in places if isinstance(held, str) and _PATH.fullmatch(held)]
    return changed, remarks + [f"{path} is a path of Windows, which is not here" for path in paths]


def _name_of(program: str) -> str:
    """The name of a program without its folder on Windows and its suffix."""
    name = re.split(r"[\\/]", program)[-1] if _PATH.fullmatch(program) else program
    return _SUFFIX.sub("", name).lower()


def _after_cmd(arguments: list[str]) -> list[str]:
    """The words of the command in the arguments of cmd.exe; empty without one."""
    flags = 0
    while flags < len(arguments) and re.fullmatch(r"/[A-Za-z]", arguments[flags]):
        flags += 1
        if arguments[flags - 1].lower() in ("/c", "/k"):
            rest = arguments[flags:]
            if len(rest) == 1 and not _PATH.fullmatch(rest[0]):
                try:
                    return shlex.split(rest[0])
                except ValueError:
                    return []
            return rest
    return []
