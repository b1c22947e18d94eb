"""Entries as another host wants them: for its file, or printed to be pasted there."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import Form, remark, say_json, write_text

if TYPE_CHECKING:
    from gaia_mcp.hosts.known import Host
    from gaia_mcp.hosts.variables import Value


def known_host(word: str) -> Host:
    """The host of that name. Raises `ConfigError` with a suggestion."""
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.hosts.known import HOSTS
    from gaia_mcp.names import did_you_mean

    if word not in HOSTS:
        hint = did_you_mean(word, HOSTS) or f"the hosts are {', '.join(HOSTS)}"
        raise ConfigError(f"{word!r} is no host that is known", hint=hint)
    return HOSTS[word]


def home_alone(name: str, default: str | None) -> str | None:
    """The value of a variable that may be written into any file: where the home is, is no secret."""
    return os.environ.get(name) or default if name in ("HOME", "USERPROFILE") else None


def whatever_is_set(name: str, default: str | None) -> str | None:
    """The value of any variable, as a shell would expand it; None if there is none."""
    return os.environ.get(name) or default if default is not None else os.environ.get(name)


def entry_for_host(
    name: str, raw: dict[str, Any], host: Host, old: Any, variables: Value
) -> tuple[dict[str, Any], list[str]]:
    """The host's entry for ours, with a program that is found without a shell. Raises `ConfigError`."""
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.hosts.dialects import NotCarriedError
    from gaia_mcp.hosts.writing import entry_for

    entry = dict(raw)
    remarks: list[str] = []
    if isinstance(entry.get("command"), str):
        from gaia_mcp.client.transports.stdio.command_line import command_words

        command, entry["args"] = command_words(name, entry["command"], entry.get("args"))
        entry["command"] = os.path.expanduser(command)  # noqa: PTH111 (hosts take ~ for a name)
        if isinstance(entry.get("cwd"), str):
            entry["cwd"] = os.path.expanduser(entry["cwd"])  # noqa: PTH111
        if host.is_desktop and not os.path.dirname(command) and "$" not in command:  # noqa: PTH120
            found = shutil.which(command)
            if found is None:
                remarks.append(f"{command!r} is not on the PATH here, and may not be found there")
            else:
                entry["command"] = os.path.abspath(found)  # noqa: PTH100 (links lead out of a virtual environment)
                remarks.append(
                    f"{command!r} is written as {entry['command']}: {host.title} does not have the shell's PATH"
                )
    try:
        theirs, told = entry_for(name, entry, host.dialect, old=old, value=variables)
    except NotCarriedError as problem:
        hint = f"see the entry with: gaia mcp show {name}"
        raise ConfigError(f"{name!r} cannot be given to {host.title}: {problem}", hint=hint) from None
    return theirs, [*remarks, *told]


def print_entries(host: Host, entries: dict[str, Any], variables: Value, *, show_secrets: bool) -> None:
    """Print what a person pastes into the file of `host`, with `****` for secrets unless they are to be shown.

    Raises `ConfigError` for an entry that the host cannot have.
    """
    from gaia_mcp.cli.transfer.places import home_folder, masked_entry, snippet
    from gaia_mcp.hosts.places import places
    from gaia_mcp.paths import shown

    theirs: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for name, raw in entries.items():
        entry, told = entry_for_host(name, raw, host, None, variables)
        masked = masked_entry(entry, host.dialect.notation.pattern)
        if masked != entry and not show_secrets:
            entry, told = masked, [*told, "what is hidden as **** is printed with --show-secrets"]
        theirs[name] = entry
        remarks += [f"{name}: {text}" for text in told]
    text = snippet(host, theirs)
    path = places(host, os.environ, home_folder())[0].path
    if Form.as_json:
        facts = {"host": host.key, "title": host.title, "path": str(path), "format": host.layout.format}
        say_json({**facts, "snippet": text, "servers": theirs, "remarks": remarks})
        return
    write_text(text)
    for line in remarks:
        remark(line)
    remark(f"this belongs into {shown(path)}")


def own_entry(target: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """A name, and the entry that serves `target` with this very program, from wherever it is started. `words` are the
    options of `serve`.
    """
    place, colon, kind = target.rpartition(":")
    if colon and (place.endswith(".py") or os.path.dirname(place)):  # noqa: PTH120
        target = f"{os.path.abspath(os.path.expanduser(place))}:{kind}"  # noqa: PTH100, PTH111
    elif colon:
        remark(f"the host has to be able to import {place}; a path such as ./file.py:{kind} works from everywhere")
    program = os.path.abspath(sys.argv[0])  # noqa: PTH100 (links lead out of a virtual environment)
    if Path(program).stem in ("gaia", "gmcp") and os.access(program, os.X_OK):
        command, start = program, ["mcp"]
    else:
        command, start = sys.executable, ["-m", "gaia_mcp"]
    return (kind or target).lower(), {"command": command, "args": [*start, "serve", target, *words]}
