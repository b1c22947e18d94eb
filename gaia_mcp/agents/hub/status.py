"""Determines whether an agent can be used, without running it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from gaia_mcp.agents.hub.drivers import DRIVERS, endpoint
from gaia_mcp.agents.hub.entries import AgentEntry, Endpoint
from gaia_mcp.agents.hub.executing import MAX_SETTINGS_BYTES, Caller, EndpointError
from gaia_mcp.client.transports.stdio.command_line import command_words, find_program
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import DeadlineError, EntryError, SpawnError, VariableUnsetError
from gaia_mcp.filebytes import read_file

if TYPE_CHECKING:
    from collections.abc import Collection

    from gaia_mcp.config.command import Command

OPERATIVE, KEY_MISSING, UNAVAILABLE, UNREACHABLE = "operative", "key_missing", "unavailable", "unreachable"
# A running model server lists its models sooner.
REACH_SECONDS = 3.0
AT_ONCE = 16


def is_installed(agent: AgentEntry, environ: Mapping[str, str]) -> bool:
    """Whether the program of an agent is found. True for an endpoint, which is not contacted."""
    try:
        target = agent.target.resolved(agent.name, environ)
    except VariableUnsetError:
        return True  # It is the key that is missing.
    except EntryError:
        return False
    return isinstance(target, Endpoint) or _is_found(agent, target, environ)


def statuses(agents: Collection[AgentEntry], environ: Mapping[str, str]) -> list[str]:
    """The status of each agent, in the same order."""
    if not agents:
        return []
    with ThreadPoolExecutor(min(len(agents), AT_ONCE)) as pool:
        return list(pool.map(lambda agent: status_of(agent, environ), agents))


def status_of(agent: AgentEntry, environ: Mapping[str, str]) -> str:
    """Whether the program is installed and has a key, or whether the endpoint responds to a request for its models."""
    try:
        target = agent.target.resolved(agent.name, environ)
    except VariableUnsetError:
        return KEY_MISSING
    except EntryError:
        return UNAVAILABLE
    return _reached(target) if isinstance(target, Endpoint) else _found(agent, target, environ)


def _found(agent: AgentEntry, command: Command, environ: Mapping[str, str]) -> str:
    if not _is_found(agent, command, environ):
        return UNAVAILABLE

    def read(path: str) -> bytes | None:
        try:
            # Not `Path.expanduser`, which raises for an unknown user.
            return read_file(os.path.expanduser(path), MAX_SETTINGS_BYTES)  # noqa: PTH111
        except OSError:
            return None

    return OPERATIVE if DRIVERS[agent.kind].has_key({**environ, **command.env}, read) else KEY_MISSING


def _is_found(agent: AgentEntry, command: Command, environ: Mapping[str, str]) -> bool:
    try:
        program, _ = command_words(agent.name, command.command, command.args)
        find_program(agent.name, program, {**environ, **command.env}, command.cwd)
    except (EntryError, SpawnError):
        return False
    return True


def _reached(target: Endpoint) -> str:
    try:
        response = Caller(target).request(endpoint.models_url(target.url), None, Deadline(REACH_SECONDS))
    except (EndpointError, DeadlineError):
        return UNREACHABLE
    if response.status in (401, 403):
        return KEY_MISSING
    # Some servers respond with an error, as they do not support this list.
    return UNREACHABLE if response.status >= 500 else OPERATIVE
