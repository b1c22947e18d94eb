from __future__ import annotations

import inspect
import math
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.host import Host
from gaia_mcp.client.mcp_client import MCPClient, sanitise_server_name
from gaia_mcp.client.transports.stdio.transport import StdioTransport
from gaia_mcp.core.errors import (
    ArgumentsError,
    EntryError,
    NotConnectedError,
    PeerError,
    ProtocolError,
    ServerExitedError,
    VariableUnsetError,
)
from tests.client.conftest import SERVERS, Started, error_of, text_of
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import error, result
from tests.processes import living_with
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Started
    from tests.client.eras import StartTalk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.conftest import Started
    from tests.client.eras import StartTalk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.eras import StartTalk

GOOD = ["good_handshake", "good_stateless"]


def calls(started: Started, server: str) -> list[str]:
    return [note for note in started.notes(server) if note.startswith("tools/call")]


@pytest.mark.parametrize("server", ["good_handshake", "good_stateless"])
def test_a_client_connects_lists_calls_and_disconnects(start_server: Started, server: str) -> None:
    """GAIA's documents, Direct Client Usage, with a server of either era."""
    client = start_server(server, is_open=False)

    assert client.is_connected() is False
    assert client.connect() is True
    assert client.is_connected() is True
    assert client.server_info["name"] in (server, f"{server}.py")
    tools = client.list_tools()
    assert (tools[0].name, tools[0].description, tools[0].input_schema["type"]) == ("echo", "echo", "object")
    assert text_of(client.call_tool("echo", {"a": "ä"})) == {"a": "ä"}
    client.disconnect()
    client.disconnect()
    assert client.is_connected() is False
    with pytest.raises(RuntimeError, match="Not connected"):
        client.call_tool("echo", {})
    assert client.list_tools() == []
    assert "Not connected" in str(client.last_error)


def test_the_arguments_of_a_client_are_spelled_out() -> None:
    """Ours: `help(MCPClient)` and editors show them."""
    assert list(inspect.signature(MCPClient).parameters)[:4] == ["name", "transport", "debug", "timeout"]


def test_a_failed_connect_returns_false_and_sets_last_error(start_server: Started) -> None:
    """GAIA's documents: connect() returns a bool. Ours: the reason for the failure is available."""
    client = start_server("exits_at_once", is_open=False)

    assert client.connect() is False
    assert "no configuration found" in str(client.last_error)
    assert client.is_connected() is False


def test_a_client_is_made_from_an_entry(tmp_path: Path, nothing_left: dict[str, str]) -> None:
    """GAIA's documents, from_config: Claude Desktop's format; ours: the entry's own timeout wins."""
    heard: list[bytes] = []
    entry = {
        "command": sys.executable,
        "args": [str(SERVERS / "good_handshake.py")],
        "env": {**nothing_left, "WORD": "${SAID}"},
        "cwd": str(tmp_path),
        "timeout": 20,
    }
    client = MCPClient.from_config("own", entry, timeout=1, environ={"SAID": "hello"}, on_stderr=heard.append)

    with client:
        environment = text_of(client.call("environment", {}))
        client.call_tool("die", {})

    assert (client.name, client.timeout, environment["WORD"]) == ("own", 20, "hello")
    assert b"told to die" in b"".join(heard)
    assert repr(client) == f"<MCPClient 'own' over <StdioTransport {sys.executable!r}, not connected>>"


def test_the_timeout_argument_is_the_default_of_an_entry() -> None:
    """GAIA's documents: 30 seconds unless it is given."""
    assert MCPClient.from_config("s", {"command": "x"}).timeout == 30
    assert MCPClient.from_config("s", {"command": "x"}, timeout=5).timeout == 5
    assert MCPClient.from_command("s", "x y", timeout=7).timeout == 7


@pytest.mark.parametrize(("config", "text"), [("x", "config dict"), ({}, "command"), ({"args": []}, "command")])
def test_an_invalid_entry_is_refused(config: Any, text: str) -> None:
    """GAIA's documents: a ValueError with this text."""
    with pytest.raises(ValueError, match=text) as caught:
        MCPClient.from_config("s", config)
    assert isinstance(caught.value, EntryError)


def test_an_unset_variable_is_an_error() -> None:
    """Ours: a server that starts with an empty secret fails later, and does not show why."""
    with pytest.raises(VariableUnsetError):
        MCPClient.from_config("s", {"command": "${NOWHERE}"}, environ={})


def test_a_client_is_made_from_a_command_line(tmp_path: Path, nothing_left: dict[str, str]) -> None:
    """GAIA's documents, from_command."""
    client = MCPClient.from_command("s", f"{sys.executable} {SERVERS / 'good_handshake.py'}", timeout=20)

    with client:
        assert text_of(client.call("echo", {"a": 1})) == {"a": 1}
    assert client.from_command("s", "x").debug is False


# Tools.


def test_the_tools_are_cached(start_server: Started) -> None:
    """GAIA's documents: cached, unless refresh is set; the list is the caller's to change."""
    client = start_server("good_handshake")
    client.list_tools().clear()

    assert len(client.list_tools()) > 0
    assert start_server.notes("good_handshake").count("tools/list") == 1
    client.list_tools(refresh=True)
    assert start_server.notes("good_handshake").count("tools/list") == 2


def test_a_failed_list_is_empty_and_sets_last_error(start_server: Started) -> None:
    """GAIA's documents: an empty list on error."""
    client = start_server("does_not_read")
    client.timeout = 0.1

    assert client.list_tools() == []
    assert "within 0.1 s" in str(client.last_error)


# Calls.


def test_a_wrapper_calls_its_tool(start_server: Started) -> None:
    """GAIA's documents, create_tool_wrapper."""
    client = start_server("good_handshake")

    assert text_of(client.create_tool_wrapper(client.list_tools()[0])(a=1, b="x")) == {"a": 1, "b": "x"}


def test_invalid_parameters_are_explained_with_the_schema(start_server: Started) -> None:
    """GAIA's documents, Error Handling: validation errors are enhanced with schema context."""
    client = start_server("good_handshake")
    client.list_tools()
    error = client.call_tool("refuse", {"encoding": "utf-8"})["error"]

    for words in ("'refuse' input validation failed", "no such luck", "Expected tool schema:", "Your arguments:"):
        assert words in error
    assert '"encoding": "utf-8"' in error


def test_invalid_parameters_of_an_unlisted_tool_are_explained_too(start_server: Started) -> None:
    """GAIA's documents, Error Handling. Ours: the tools are listed for it, in what is left of the time of the call."""
    client = start_server("good_handshake")

    error = client.call_tool("refuse", {})["error"]

    assert "Expected tool schema:" in error
    assert start_server.notes("good_handshake").count("tools/list") == 1


def deep() -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return value


def test_arguments_that_json_cannot_represent_are_an_error_key(start_server: Started) -> None:
    """GAIA's documents: an error key, no exception. Ours: nothing is sent."""
    client = start_server("good_handshake")
    values = {"nan": math.nan, "set": {1, 2}, "object": object(), "deep": deep()}

    answers = {name: client.call_tool("echo", {"x": value}) for name, value in values.items()}
    errors = {name: type(error_of(client.call, "echo", {"x": value})) for name, value in values.items()}

    assert [name for name, answer in answers.items() if "cannot be written as JSON" not in answer["error"]] == []
    assert errors == dict.fromkeys(values, ArgumentsError)
    assert calls(start_server, "good_handshake") == []
    client.check_alive()


@pytest.mark.parametrize(
    ("value", "shown"), [({1}, '"{1}"'), (math.nan, "NaN"), (deep(), "cannot be shown")], ids=["set", "nan", "deep"]
)
def test_invalid_parameters_that_json_cannot_represent_are_explained(value: Any, shown: str) -> None:
    """Ours: a custom transport need not encode the arguments as JSON."""

    class Refusing(Scripted):
        def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
            if method == "tools/call":
                return {"error": {"code": -32602, "message": "no"}}
            return super().send_request(method, params)

    client = MCPClient("own", Refusing(tools_list={"tools": [{"name": "t", "inputSchema": {}}]}))
    client.open()
    client.list_tools()

    assert shown in client.call_tool("t", {"x": value})["error"]


def test_a_refusal_is_returned_as_it_is_where_the_tools_cannot_be_listed(start_talk: StartTalk) -> None:
    """Ours: the error of the call matters, and not that of a list that nobody has asked for."""
    client, _ = start_talk(lambda message: [error(message, -32602, "no")])

    assert client.call_tool("t", {})["error"].endswith("no")


def test_another_error_is_returned_unchanged(start_server: Started) -> None:
    """GAIA's documents: {"error": "error message"}."""
    client = start_server("good_stateless")

    with pytest.raises(PeerError):
        client.request("nothing/such")
    assert client.call_tool("sampling", {})["error"].startswith("server 'good_stateless' asked for sampling")


def test_an_error_response_is_an_error_key(start_talk: StartTalk) -> None:
    """GAIA's documents: the message of the server; the schema is added for invalid arguments only."""
    client, _ = start_talk(lambda message: [error(message, -32603, "not today")])

    assert client.call_tool("t", {}) == {"error": "not today"}


def test_a_result_that_reports_a_failure_has_an_error_key(start_talk: StartTalk) -> None:
    """GAIA's documents: their example looks for "error" alone, and would print "Success" otherwise."""
    blocks = [{"type": "text", "text": "no such file"}, {"type": "image"}, {"type": "text", "text": "a.txt"}]
    results = [
        {"content": blocks, "isError": True},
        {"content": [], "isError": True},
        {"content": [], "isError": True, "error": 7},
        {"content": blocks, "isError": False},
    ]
    left = iter(results)
    client, _ = start_talk(lambda message: [result(message, {"resultType": "complete", **next(left)})])

    found = [client.call_tool("read", {}) for _ in results]

    assert [each.get("error") for each in found] == [
        "no such file\na.txt", "the tool reported an error without a text", 7, None,
    ]  # fmt: skip
    assert found[0]["content"] == blocks


def test_a_failed_call_is_an_error_key(start_server: Started) -> None:
    """GAIA's documents: an error key, no exception."""
    assert "out of memory" in start_server("dies_in_call").call_tool("echo", {})["error"]


@pytest.mark.story
def test_a_program_that_exits_without_disconnecting_leaves_no_server(tmp_path: Path) -> None:
    """Ours: not even one that ignores the end of its stdin."""
    program = (
        "import sys\n"
        "from gaia_mcp.client import MCPClient\n"
        "entry = {'command': sys.executable, 'args': [sys.argv[1]], 'env': {'MARK': sys.argv[2]}}\n"
        "client = MCPClient.from_config('s', entry)\n"
        "print(client.connect())\n"
    )
    words = [sys.executable, "-c", program, str(SERVERS / "ignores_eof.py"), str(tmp_path)]

    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert living_with(str(tmp_path)) == []


def test_a_lone_surrogate_is_sent_as_the_replacement_character(start_server: Started) -> None:
    """Ours: this server, like the official SDK, drops a line that has one, and never responds to it."""
    client = start_server("half_pairs")

    answer = client.call("echo", {"a\udcff": "b\ud800"})

    assert answer["content"][0]["text"].endswith(r'{"a\ufffd": "b\ufffd"}')


def test_the_prefix_of_tool_names_is_the_sanitised_server_name() -> None:
    """GAIA, from 0.18 on: in lower case, with one separator, and without the redundant "mcp"."""
    prefixes = {
        "time": "time", "mcp-server-time": "server_time", "Foo MCP": "foo", "a_mcp_b-mcp": "a_b",
        "mcp": "server", "": "server", "My-Files": "my_files", "mcpx": "mcpx",
    }  # fmt: skip

    assert {name: sanitise_server_name(name) for name in prefixes} == prefixes
    assert {prefix: sanitise_server_name(prefix) for prefix in prefixes.values()} == {
        prefix: prefix for prefix in prefixes.values()
    }
    assert {name: MCPClient.from_command(name, "server").prefix for name in prefixes} == prefixes


def test_an_agent_is_looked_up_beside_the_configuration_file(tmp_path: Path) -> None:
    """Ours: as the commands do, whatever the working directory is."""
    entry = {"agent": "mine.py"}
    (tmp_path / "mine.py").touch()

    client = MCPClient.from_config("mine", entry, source=tmp_path / "servers.json")

    assert isinstance(client.transport, StdioTransport)
    assert str(tmp_path / "mine.py") in (client.transport.args or [])


def test_starting_a_server_sends_no_message(start_server: Started) -> None:
    """Ours: a process may warm up while a program does something else."""
    client = start_server("good_handshake", is_open=False)

    client.start()
    assert client.is_connected()
    assert start_server.notes("good_handshake") == []
    client.open()

    assert start_server.notes("good_handshake").count("initialize") == 1


def test_the_exit_status_and_stderr_of_the_process_are_available(start_server: Started) -> None:
    """Ours: the secrets of the entry are masked in the stderr log."""
    client = start_server("floods_stderr", env={"TOKEN": "again and"})
    assert client.masker().text("again and") == "****"
    wait_until(lambda: "**** again" in client.stderr_tail())
    assert client.exit_status is None

    stopped = client.close(PATIENCE_SECONDS)

    assert stopped is not None
    assert client.exit_status == stopped.returncode == 0
    assert client.close(5) is None
    with pytest.raises(NotConnectedError):
        client.call("echo", {})


@pytest.mark.parametrize("server", GOOD)
def test_a_server_that_responds_to_a_ping_is_alive(start_server: Started, server: str) -> None:
    """Spec, ping and discover."""
    start_server(server).check_alive()


def test_an_exited_server_is_an_error_if_reconnecting_is_not_allowed(start_server: Started) -> None:
    """Ours: a program that monitors a server needs the reason for its exit."""
    client = start_server("good_handshake")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    with pytest.raises(ServerExitedError):
        client.check_alive(reconnects=False)

    client.check_alive()
    assert start_server.notes("good_handshake").count("initialize") == 2


def test_log_messages_reach_the_host(start_server: Started) -> None:
    """Spec, logging."""
    heard: list[Any] = []
    client = start_server("good_handshake", host=Host(on_log=lambda *message: heard.append(message)))

    client.want_logs("info")
    client.call("log", {})

    assert heard == [("warning", "l", "hot")]
    assert "logging/setLevel" in start_server.notes("good_handshake")


@pytest.mark.parametrize("server", GOOD)
def test_a_with_block_connects_and_disconnects(start_server: Started, server: str) -> None:
    """Ours: a program cannot forget to disconnect then."""
    with start_server(server, is_open=False) as client:
        assert text_of(client.call("echo", {})) == {}
        assert client.peer is not None

    assert client.is_connected() is False


def test_a_with_block_that_fails_to_connect_leaves_no_connection(start_server: Started) -> None:
    """Ours: Python does not call `__exit__` then, so `__enter__` must end the server."""
    client = start_server("wrong_version", is_open=False)

    with pytest.raises(ProtocolError), client:
        pass

    assert client.is_connected() is False
