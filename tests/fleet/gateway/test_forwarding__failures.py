"""What a caller is told of a forwarded request that fails, over servers in this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import ConnectError, PeerError, RemoteProtocolError
from gaia_mcp.fleet.gateway.backend import Backend, Heard
from gaia_mcp.fleet.gateway.forwarding import Passing, UnreachableError
from gaia_mcp.fleet.gateway.instances import Instances
from gaia_mcp.fleet.gateway.questions import Declared
from tests.client.transports.http.web import Answer, Asked, as_events, as_json, handshake, result, serving
from tests.fleet.gateway.conftest import caller

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def instances_of(entry: dict[str, Any], **options: Any) -> Iterator[Instances]:
    """The instances of a server, closed at the end."""
    read, heard = read_entry("web", entry), Heard(lambda _: None, lambda _: None, lambda: None)
    made = Instances("web", lambda requests, _: Backend("web", read, heard, requests), Declared({}), **options)
    yield made
    made.close()
    for backend in made.all():
        backend.close()


def failure(instances: Instances, call: Call, argument: Any = "x") -> tuple[str, list[str]]:
    """What has failed when a tool of the server is called, and what was reported."""
    reported: list[str] = []
    with pytest.raises(UnreachableError) as caught:
        Passing(reported.append).pass_on(instances, "tools/call", {"name": "t", "arguments": {"a": argument}}, call)
    return caught.value.failure, reported


def test_an_error_names_what_has_failed() -> None:
    """Ours: a front that is not MCP has an error of its own for each."""
    never = threading.Event()

    def slow(_: Asked) -> Answer:
        return as_events(never)

    def wrong(asked: Asked) -> Answer:
        return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": 5})

    def listing(asked: Asked) -> Answer:
        return result(asked, tools=[]) if asked.message["method"] == "tools/list" else wrong(asked)

    with serving(handshake(slow)) as web, serving(handshake(wrong)) as bad, serving(listing) as rpc:
        failures = {
            "timeout": ({"url": web.url, "timeout": 0.3}, "x"),
            "arguments": ({"url": bad.url}, float("nan")),
            "protocol": ({"url": bad.url}, "x"),
            "result": ({"type": "rpc", "url": rpc.url}, "x"),
            "connection": ({"url": "http://127.0.0.1:9/"}, "x"),
        }
        for expected, (entry, argument) in failures.items():
            with instances_of(entry) as instances:
                found, reported = failure(instances, Call(), argument)
            assert found == expected
            assert len(reported) == 1


def test_a_call_that_gets_no_instance_of_a_busy_server_fails() -> None:
    """Ours: a model reads it, and calls again later."""
    with (
        serving(handshake(lambda asked: result(asked, content=[]))) as web,
        instances_of({"url": web.url}, max_instances=1, busy_seconds=0.0) as instances,
        instances.entered(caller("a")),
    ):
        found, reported = failure(instances, caller("b"))

    assert found == "busy"
    assert "server 'web' is busy" in reported[0]


def test_unchanged_a_result_and_an_error_are_those_of_the_server() -> None:
    """Ours: for a client that reads them as if it had the server to itself. Secrets of the server are masked."""

    def answer(asked: Asked) -> Answer:
        name = asked.message["params"]["name"]
        if name == "refuse":
            error = {"code": -32000, "message": "no"}
            return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "error": error})
        if name == "break":
            return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": 5})
        return result(asked, content="odd", own=1)

    def unchanged(instances: Instances, name: str) -> dict[str, Any]:
        passing = Passing(print)
        return passing.pass_unchanged(instances, "tools/call", {"name": name, "arguments": {}}, Call())

    with serving(handshake(answer)) as web, instances_of({"url": web.url}) as instances:
        assert unchanged(instances, "t") == {"content": "odd", "own": 1}
        with pytest.raises(PeerError, match="no"):
            unchanged(instances, "refuse")
        with pytest.raises(RemoteProtocolError, match="invalid"):
            unchanged(instances, "break")
    with instances_of({"url": "http://127.0.0.1:9/"}) as instances, pytest.raises(ConnectError) as caught:
        unchanged(instances, "t")
    assert caught.value is instances.shared.problem
