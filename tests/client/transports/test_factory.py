"""The transport of an entry."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.factory import authorizer_of, check_type, command_of, transport_of
from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.auth.oauth import OAuth
from gaia_mcp.client.transports.http.transport import HttpTransport
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.client.transports.unix_socket import SocketTransport
from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import EntryError, VariableUnsetError
from gaia_mcp.fleet.keeper.holding import Holding

if TYPE_CHECKING:
    from pathlib import Path


def test_a_command_becomes_a_stdio_transport() -> None:
    """Ours: resolved, and under the name of its server."""
    config = {"command": "${RUN}", "args": ["${X:-y}"], "env": {"T": "${RUN}"}, "cwd": "/x"}
    transport = transport_of(read_entry("fs", config), 5, debug=True, environ={"RUN": "go"})
    assert isinstance(transport, StdioTransport)
    assert (transport.name, transport.command, transport.args) == ("fs", "go", ["y"])
    assert (transport.env, transport.cwd, transport.timeout, transport.debug) == ({"T": "go"}, "/x", 5, True)


def test_variables_are_expanded_from_the_environment_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: what the person exported."""
    monkeypatch.setenv("GAIA_TEST_RUN", "go")
    assert command_of(read_entry("fs", {"command": "${GAIA_TEST_RUN}"})) == Command("go", None, {})


def test_a_variable_that_is_missing_is_an_error() -> None:
    """Ours: before anything is started."""
    with pytest.raises(VariableUnsetError):
        transport_of(read_entry("fs", {"command": "${NONE}"}), 5, environ={})


def test_a_url_becomes_an_http_transport() -> None:
    """Ours: resolved; what the entry does not fix, the server shows."""
    types: list[tuple[dict[str, str], str | None]] = [
        ({}, None),
        ({"type": "http"}, "http"),
        ({"type": "streamable-http"}, "http"),
        ({"type": "sse"}, "sse"),
    ]
    for kind, way in types:
        config = {"url": "https://${HOST}/mcp", "headers": {"X": "${HOST}"}, "ssl_verify": "${HOST}.pem", **kind}
        transport = transport_of(read_entry("far", config), 5, debug=True, environ={"HOST": "h"})

        assert isinstance(transport, HttpTransport)
        found = (transport.name, transport.url, transport.headers, transport.way)
        assert found == ("far", "https://h/mcp", {"X": "h"}, way), kind
        assert (transport.timeout, transport.debug) == (5, True)


def test_a_server_that_a_keeper_holds_is_reached_over_its_socket() -> None:
    """Ours: nothing is started then."""
    ours, theirs = socket.socketpair()
    entry = read_entry("fs", {"command": "x"})
    with ours, theirs:
        transport = transport_of(entry._replace(held=Holding("fs", ours, "", str, lambda *_: None)), 5)

    assert isinstance(transport, SocketTransport)
    assert (transport.name, transport.timeout) == ("fs", 5)


def test_the_declared_tools_of_an_entry_are_passed_to_the_transport() -> None:
    """Ours: names or definitions, for a server that cannot list them; "*" is a choice of other hosts."""
    config = {"url": "https://host", "type": "rpc", "tools": ["a", {"name": "b", "description": "B"}, "*"]}
    transport = transport_of(read_entry("x", config), 5, environ={})

    assert isinstance(transport, HttpTransport)
    schema = {"type": "object"}
    assert (transport.way, transport._declared) == (
        "rpc",
        [{"inputSchema": schema, "name": "a"}, {"inputSchema": schema, "name": "b", "description": "B"}],
    )
    for wrong in (3, [3], [{"name": 3}]):
        with pytest.raises(EntryError, match="'tools' must be"):
            transport_of(read_entry("x", {"url": "https://host", "tools": wrong}), 5, environ={})


def test_a_url_has_no_command_and_a_command_no_url() -> None:
    """Ours: a URL has no command, and a command no authorization."""
    with pytest.raises(EntryError, match="instead of a command"):
        command_of(read_entry("x", {"url": "https://host"}), {})
    with pytest.raises(EntryError, match="has no URL"):
        authorizer_of(read_entry("x", {"command": "run"}), {})


@pytest.mark.parametrize("config", [{"handler": "package.module:Class", "settings": {"a": "${A}"}}, {"agent": "demo"}])
def test_a_handler_or_an_agent_becomes_a_stdio_transport(config: dict[str, Any]) -> None:
    """Ours: by a child, with what its entry configures."""
    transport = transport_of(read_entry("x", config), 5, environ={"A": "b"})

    assert isinstance(transport, StdioTransport)
    assert transport.args is not None
    assert transport.env is not None
    assert transport.args[-2:] == ["serve", config.get("handler") or config["agent"]]
    assert transport.inherits_all
    assert json.loads(transport.env["GAIA_MCP_SERVE"])["name"] == "x"


def test_only_stdio_is_accepted_as_the_type_of_a_command() -> None:
    """GAIA: a `type` other than stdio is an error in its API. Ours: in a file, other hosts write other types beside a
    command.
    """
    local = read_entry("fs", {"type": "local", "command": "run"})

    check_type(read_entry("fs", {"type": "stdio", "command": "run"}))
    check_type(read_entry("web", {"type": "http", "url": "https://host"}))
    check_type(read_entry("far", {"type": "rpc", "url": "https://host"}))
    with pytest.raises(EntryError, match="'local' is unknown: a server with a command only supports stdio"):
        check_type(local)


def test_the_authorizer_follows_the_headers_and_oauth_of_the_entry(tmp_path: Path) -> None:
    """Ours: a configured header, no authorization, or OAuth, whose settings are expanded."""
    environ = {"GAIA_HOME": str(tmp_path), "ID": "CID"}
    url = "https://mcp.example.com/mcp"

    with_header = authorizer_of(read_entry("web", {"url": url, "headers": {"authorization": "x"}}), environ)
    without = authorizer_of(read_entry("web", {"url": url, "oauth": False}), environ)
    usual = authorizer_of(read_entry("web", {"url": url, "oauth": {"clientId": "${ID}"}}), environ)

    assert isinstance(with_header, NoAuthorizer)
    assert isinstance(without, NoAuthorizer)
    assert isinstance(usual, OAuth)
    for authorizer in (with_header, without, usual):
        assert authorizer.headers("POST", url, Deadline(5)) == {}


def test_the_ssl_verify_of_an_entry_applies_to_its_authorization_server(tmp_path: Path) -> None:
    """Ours: a company has one for both."""
    entry = read_entry("web", {"url": "https://mcp.example.com/mcp", "ssl_verify": str(tmp_path / "none.pem")})
    authorizer = authorizer_of(entry, {"GAIA_HOME": str(tmp_path)})

    assert isinstance(authorizer, OAuth)
    with pytest.raises(EntryError, match=r"none\.pem"):
        authorizer.log_in({}, (), Deadline(5))


def test_a_command_has_no_authorizer() -> None:
    """Spec: over stdio credentials come by the environment."""
    with pytest.raises(EntryError):
        authorizer_of(read_entry("x", {"command": "true"}))
