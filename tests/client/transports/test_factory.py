"""The transport of an entry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gaia_mcp.client.transports.factory import check_reachable, check_type, command_of, transport_of
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.errors import EntryError, VariableUnsetError


def test_a_command_becomes_a_transport_that_starts_it() -> None:
    """Ours: resolved, and under the name of its server."""
    config = {"command": "${RUN}", "args": ["${X:-y}"], "env": {"T": "${RUN}"}, "cwd": "/x"}
    transport = transport_of(read_entry("fs", config), 5, debug=True, environ={"RUN": "go"})
    assert (transport.name, transport.command, transport.args) == ("fs", "go", ["y"])
    assert (transport.env, transport.cwd, transport.timeout, transport.debug) == ({"T": "go"}, "/x", 5, True)


def test_the_environment_is_by_default_the_one_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: what the person exported."""
    monkeypatch.setenv("GAIA_TEST_RUN", "go")
    assert command_of(read_entry("fs", {"command": "${GAIA_TEST_RUN}"})) == Command("go", None, {})


def test_a_variable_that_is_missing_is_an_error() -> None:
    """Ours: before anything is started."""
    with pytest.raises(VariableUnsetError):
        transport_of(read_entry("fs", {"command": "${NONE}"}), 5, environ={})


@pytest.mark.parametrize(
    "config",
    [
        {"url": "https://host"},
        {"url": "https://host/${NONE}", "type": "sse"},
    ],
)
def test_a_server_that_cannot_be_reached_yet_is_refused(config: dict[str, Any]) -> None:
    """Ours: this version reaches what it starts itself."""
    with pytest.raises(EntryError, match="cannot be reached by this version") as caught:
        transport_of(read_entry("x", config), 5, environ={})
    assert caught.value.server == "x"
    assert "mcp add" not in caught.value.hint  # As often as not it is kept already.


@pytest.mark.parametrize("config", [{"handler": "package.module:Class", "settings": {"a": "${A}"}}, {"agent": "demo"}])
def test_code_that_this_program_serves_is_reached_as_a_command(config: dict[str, Any]) -> None:
    """Ours: by a child, with what its entry configures."""
    transport = transport_of(read_entry("x", config), 5, environ={"A": "b"})

    assert transport.args is not None
    assert transport.args[-2:] == ["serve", config.get("handler") or config["agent"]]
    assert transport.inherits_all
    assert json.loads(transport.env["GAIA_MCP_SERVE"])["name"] == "x"


def test_a_server_that_a_program_names_is_started() -> None:
    """GAIA: a `type` other than stdio is an error there. Ours: in a file other words stand beside a command too."""
    local = read_entry("fs", {"type": "local", "command": "run"})
    far = read_entry("far", {"url": "https://host"})

    check_type(read_entry("fs", {"type": "stdio", "command": "run"}))
    check_reachable(local)
    for check, entry in ((check_type, local), (check_type, far), (check_reachable, far)):
        with pytest.raises(EntryError, match="only supports stdio") as caught:
            check(entry)
        assert caught.value.case == "transport-unknown"
