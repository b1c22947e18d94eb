from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, call

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.base import MCPTransport, UnencodableError
from gaia_mcp.client.transports.in_process import CustomChannel, CustomTransport, MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    PeerError,
    ProtocolError,
    RemoteProtocolError,
    VersionError,
)
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.text.redaction.masker import Masker
from tests.client.transports.talk import Heard

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.client.conversation import Conversation

SOON = Deadline(5)
GREETING = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "own"}, "capabilities": {}, "instructions": "hi"}


class OwnTransport(MCPTransport):
    """A program's own, with nothing but the four methods; `script` holds the responses by method."""

    def __init__(self, **script: Any) -> None:
        self.script = {"initialize": {"result": GREETING}, **{k.replace("_", "/"): v for k, v in script.items()}}
        self.sent: list[tuple[str, Any]] = []
        self.connects = True
        self.connected = False
        self.disconnects = 0

    def connect(self) -> bool:
        self.connected = self.connects
        return self.connects

    def disconnect(self) -> None:
        self.connected = False
        self.disconnects += 1

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self.sent.append((method, params))
        response = self.script[method]
        if isinstance(response, Exception):
            raise response
        made: dict[str, Any] = response
        return made

    def is_connected(self) -> bool:
        return self.connected


def conversation_over(transport: MCPTransport) -> Conversation:
    """The conversation over a transport that the program has connected by itself."""
    transport.connect()
    return CustomTransport(transport, name="own", timeout=5).engine.conversation


def raised(work: Callable[[], object]) -> Exception | None:
    try:
        work()
    except Exception as error:
        return error
    return None


@pytest.fixture
def mock_transport() -> Mock:
    transport = Mock(spec=MCPTransport)
    transport.connect.return_value = True
    transport.is_connected.return_value = True
    transport.send_request.return_value = {
        "result": {"tools": [{"name": "test_tool", "description": "Test", "inputSchema": {}}]}
    }
    return transport


def test_a_transport_needs_all_four_methods() -> None:
    """GAIA's documents, Custom Transport."""
    with pytest.raises(TypeError, match="abstract"):
        MCPTransport()  # type: ignore[abstract]

    assert MCPTransport.__abstractmethods__ == {"connect", "disconnect", "send_request", "is_connected"}


def test_the_default_send_notification_does_nothing() -> None:
    """GAIA's documents know no notifications, so that the default must do nothing."""
    OwnTransport().send_notification("notifications/initialized")


def test_a_mock_of_a_transport_lists_its_tools(mock_transport: Mock) -> None:
    """GAIA's documents, Test Patterns, as they stand there."""
    client = MCPClient("test", mock_transport)
    assert client.connect() is True
    tools = client.list_tools()

    assert [tool.name for tool in tools] == ["test_tool"]
    assert mock_transport.send_request.call_args_list[1] == call("tools/list")
    mock_transport.send_notification.assert_called_once_with("notifications/initialized")


def test_a_call_is_exactly_one_request_through_a_mock(mock_transport: Mock) -> None:
    """GAIA's documents: people assert on this very call."""
    client = MCPClient("test", mock_transport)
    client.connect()
    mock_transport.send_request.reset_mock()
    mock_transport.send_request.return_value = {"result": {"content": []}}

    assert client.call_tool("test_tool", {"a": 1}) == {"content": []}
    mock_transport.send_request.assert_called_once_with("tools/call", {"name": "test_tool", "arguments": {"a": 1}})


def test_a_mock_is_disconnected_once(mock_transport: Mock) -> None:
    """GAIA's documents: people assert on this very call."""
    client = MCPClient("test", mock_transport)
    client.connect()
    client.disconnect()

    mock_transport.disconnect.assert_called_once_with()


def test_a_custom_transport_is_opened_by_initialize() -> None:
    """Ours: with the newest version of the handshake era; what the server reports about itself is stored."""
    transport = OwnTransport()
    client = MCPClient("own", transport)

    peer = client.open()

    ((method, params),) = transport.sent
    assert method == "initialize"
    assert params["protocolVersion"] == "2025-11-25"
    assert params["clientInfo"]["name"] == "gaia-mcp"
    assert (peer.version, peer.instructions, peer.era) == ("2025-06-18", "hi", "handshake")
    assert client.server_info == {"name": "own"}


@pytest.mark.parametrize("response", [{"result": {}}, {}])
def test_an_empty_initialize_result_is_accepted(response: dict[str, Any]) -> None:
    """GAIA's documents: mocks answer without a version, a name or capabilities."""
    client = MCPClient("own", OwnTransport(initialize=response))

    assert client.connect() is True
    assert client.server_info == {}


@pytest.mark.parametrize("nothing", [None, [], "text"])
def test_invalid_members_of_an_initialize_result_are_ignored(nothing: Any) -> None:
    """Ours: as over any other transport."""
    greeting = {"serverInfo": nothing, "capabilities": nothing, "instructions": None}
    client = MCPClient("own", OwnTransport(initialize={"result": greeting}))

    peer = client.open()
    client.want_logs("info")

    assert (peer.info, peer.capabilities, peer.instructions, client.server_info) == ({}, {}, "", {})


def test_an_unknown_protocol_version_is_refused() -> None:
    """Spec, lifecycle: a client that does not know the version disconnects."""
    versions: list[Any] = ["1999-01-01", None, ["2025-06-18"], "2026-07-28"]
    for version in versions:
        transport = OwnTransport(initialize={"result": {**GREETING, "protocolVersion": version}})

        error = raised(MCPClient("own", transport).open)

        assert isinstance(error, VersionError), version
        assert error.theirs == (str(version),)
        assert (transport.connected, transport.disconnects) == (False, 1), version


def test_a_transport_that_does_not_connect_is_an_error() -> None:
    """GAIA's documents: connect() answers False, with the reason in last_error."""
    transport = OwnTransport()
    transport.connects = False
    client = MCPClient("own", transport)

    assert client.connect() is False
    assert "Failed to establish transport connection" in str(client.last_error)
    with pytest.raises(ConnectError):
        client.open()
    assert transport.sent == []


@pytest.mark.parametrize("problem", [None, OSError("no route")])
def test_a_transport_that_has_not_connected_is_not_disconnected(problem: OSError | None) -> None:
    """Ours: its `disconnect` may rely on what only a successful `connect` sets."""

    class Unconnected(OwnTransport):
        def connect(self) -> bool:
            if problem is not None:
                raise problem
            return False

        def disconnect(self) -> None:
            raise AttributeError("'NoneType' object has no attribute 'terminate'")

    assert MCPClient("own", Unconnected()).connect() is False


def test_a_transport_that_is_connected_is_not_started_again() -> None:
    """GAIA's documents: a program may connect it by itself, and to open it is to connect it in any case."""

    class Counting(OwnTransport):
        connections = 0

        def connect(self) -> bool:
            self.connections += 1
            return super().connect()

    transport = Counting()
    transport.connect()
    client = MCPClient("own", transport)

    client.start()
    assert (transport.connections, transport.sent) == (1, [])
    client.open()
    client.open()
    assert (transport.connections, transport.disconnects) == (3, 0)


def test_a_failed_initialize_disconnects() -> None:
    """GAIA's documents: disconnects automatically if initialization fails."""
    responses: list[Any] = [
        {"error": {"code": -1, "message": "no"}},
        RuntimeError("gone"),
        TimeoutError("late"),
        ValueError("bad JSON"),
        None,
    ]
    for response in responses:
        transport = OwnTransport(initialize=response)
        client = MCPClient("own", transport)

        assert client.connect() is False, response
        assert client.last_error, response
        assert (transport.connected, transport.disconnects) == (False, 1), response


def test_an_error_response_is_raised_with_code_message_and_data() -> None:
    """JSON-RPC: code, message, data."""
    talk = conversation_over(OwnTransport(x={"error": {"code": -32601, "message": "unknown", "data": [1]}}))

    with pytest.raises(PeerError) as caught:
        talk.request("x", None, SOON)

    assert (caught.value.code, caught.value.text, caught.value.data) == (-32601, "unknown", [1])


@pytest.mark.parametrize(
    ("error", "text"),
    [({}, "Unknown error"), ("broken", "broken"), ({"code": "E1", "message": None}, "Unknown error")],
)
def test_an_incomplete_error_response_is_raised(error: Any, text: str) -> None:
    """Ours: servers and mocks leave out the code or the message, and it is still an error."""
    talk = conversation_over(OwnTransport(x={"error": error}))

    with pytest.raises(PeerError) as caught:
        talk.request("x", {}, SOON)

    assert (caught.value.code, caught.value.text) == (0, text)


def test_an_invalid_response_of_a_custom_transport_is_a_protocol_error() -> None:
    """Ours: the documents' own example returns nothing at all."""
    responses: list[Any] = [None, "text", [], {"result": None}, {"result": []}]
    errors = [
        raised(partial(conversation_over(OwnTransport(x=response)).request, "x", None, SOON)) for response in responses
    ]

    assert [type(error) for error in errors] == [RemoteProtocolError] * len(responses), errors


def test_parameters_are_omitted_if_there_are_none() -> None:
    """Ours: the documents promise the exact call."""
    transport = Mock(spec=MCPTransport)
    transport.send_request.return_value = {"result": {}}
    talk = conversation_over(transport)

    talk.request("a", None, SOON)
    talk.request("b", {}, SOON)

    assert transport.send_request.call_args_list == [call("a"), call("b", {})]


def test_check_alive_pings_a_custom_transport() -> None:
    """Spec, ping."""
    transport = OwnTransport(ping={"result": {}})

    conversation_over(transport).check_alive(SOON)

    assert transport.sent == [("ping", None)]


def test_a_log_level_is_set_only_if_the_server_declares_logging() -> None:
    """Spec, logging: a capability."""
    level = {"logging/setLevel": {"result": {}}}
    quiet, loud = OwnTransport(), OwnTransport(initialize={"result": {"capabilities": {"logging": {}}}})
    loud.script |= level
    for transport in (quiet, loud):
        client = MCPClient("own", transport)
        client.open()
        client.want_logs("info")

    assert [method for method, _ in quiet.sent] == ["initialize"]
    assert loud.sent[1] == ("logging/setLevel", {"level": "info"})


def test_a_disconnected_custom_transport_is_not_reconnected() -> None:
    """GAIA's documents: call_tool raises RuntimeError when not connected."""
    transport = OwnTransport()
    client = MCPClient("own", transport)
    client.open()
    transport.connected = False

    with pytest.raises(NotConnectedError):
        client.call_tool("t", {})
    with pytest.raises(RuntimeError, match="Not connected"):
        client.call_tool("t", {})


@pytest.mark.parametrize("problem", [RuntimeError("process died"), ValueError("bad JSON"), TimeoutError("late")])
def test_the_tool_list_is_empty_if_a_custom_transport_fails(problem: Exception) -> None:
    """GAIA's documents: an empty list on error."""
    client = MCPClient("own", OwnTransport(tools_list=problem))
    client.open()

    assert client.list_tools() == []
    assert str(problem) in str(client.last_error)


TROUBLE: list[tuple[Exception, type[MCPError]]] = [
    (RuntimeError("process died"), ConnectError),
    (ConnectionResetError("reset"), ConnectError),
    (RuntimeError(), ConnectError),
    (TimeoutError("late"), DeadlineError),
    (ValueError("bad JSON"), ProtocolError),
    (DeadlineError("own", "x", 1), DeadlineError),
]


def test_an_exception_of_a_custom_transport_is_translated() -> None:
    """Ours: another's exception is translated where it crosses our border."""
    for problem, kind in TROUBLE:
        client = MCPClient("own", OwnTransport(tools_call=problem))
        client.open()

        error = raised(partial(client.call, "t", {}))

        assert isinstance(error, kind), problem
        assert error.server == "own"
        assert (str(problem) or "RuntimeError") in error.message
        assert error is problem or error.__cause__ is problem


def test_an_exception_while_connecting_is_translated() -> None:
    """Ours: one rule for all that a transport does."""

    class Raising(OwnTransport):
        def connect(self) -> bool:
            raise problem

    class Dumb(OwnTransport):
        def send_notification(self, method: str, params: dict[str, Any] | None = None) -> None:
            raise problem

    for problem, kind in TROUBLE:
        for transport in (Raising(), Dumb()):
            assert isinstance(raised(MCPClient("own", transport).open), kind), (problem, transport)
            assert transport.connected is False


def test_call_tool_returns_the_error_of_a_custom_transport() -> None:
    """GAIA's documents: an error key, no exception."""
    for problem, _ in TROUBLE:
        client = MCPClient("own", OwnTransport(tools_call=problem))
        client.open()

        assert (str(problem) or "RuntimeError") in client.call_tool("t", {})["error"]


def test_a_programming_error_in_a_custom_transport_is_raised() -> None:
    """Ours: only what a transport may raise is translated."""
    client = MCPClient("own", OwnTransport(tools_call=KeyError("typo")))
    client.open()

    with pytest.raises(KeyError):
        client.call_tool("t", {})


def test_no_subscription_is_made_over_a_custom_transport() -> None:
    """Ours: it hears nothing that it did not ask for."""
    transport = OwnTransport()

    conversation_over(transport).watch_lists(SOON)

    assert transport.sent == []


def test_a_with_block_that_fails_to_open_disconnects() -> None:
    """Ours: what opens, closes."""
    transport = OwnTransport(initialize=RuntimeError("gone"))

    with pytest.raises(RuntimeError), MCPClient("own", transport):
        pass

    assert transport.connected is False


def test_the_version_1_0_0_means_the_proposed_one() -> None:
    """GAIA's documents: their transports answer "1.0.0" to whatever a client proposes."""
    client = MCPClient("own", OwnTransport(initialize={"result": {"protocolVersion": "1.0.0"}}))
    client.open()

    assert client.protocol_version == "2025-11-25"


def test_an_unknown_result_type_is_an_error() -> None:
    """Spec: `resultType` came with 2026-07-28."""
    transport = OwnTransport(x={"result": {"resultType": "input_required", "requestState": "s"}})

    with pytest.raises(RemoteProtocolError, match="unknown type 'input_required'"):
        conversation_over(transport).request("x", None, SOON)


def test_a_custom_channel_drops_messages_without_a_caller() -> None:
    """Ours: there is no request to cancel, and no server's request to answer."""
    transport = OwnTransport()
    channel = CustomChannel("own", transport)
    channel.start(Heard(), SOON)

    channel.send_soon(Outgoing({"jsonrpc": "2.0", "method": "x"}))
    assert (transport.sent, channel.is_running()) == ([], True)
    channel.close(None)

    assert (transport.connected, type(channel.why_lost("x"))) == (False, NotConnectedError)


PING = Outgoing({"jsonrpc": "2.0", "method": "ping"})

RECORD = b'{"jsonrpc":"2.0","method":"ping"}\n'


def test_records_pass_in_both_directions() -> None:
    """Ours: the same bytes as on a pipe."""
    sent: list[bytes] = []
    channel, heard = MemoryChannel("s", sent.append, Masker(["hunter22"])), Heard()
    with pytest.raises(NotConnectedError):
        channel.arrive(RECORD)
    assert not channel.is_running()

    channel.start(heard, Deadline(5))
    channel.send(PING, Deadline(5), "ping")
    channel.send_soon(PING)
    channel.arrive(b"x")

    assert (sent, heard.records, channel.masker().text("hunter22"), channel.is_running()) == (
        [RECORD] * 2,
        [b"x"],
        "****",
        True,
    )
    assert isinstance(channel.why_lost("x"), NotConnectedError)


def test_a_failed_request_does_not_end_the_channel() -> None:
    """Ours: as over a channel with a stream for each request."""
    failed: list[tuple[object, str]] = []

    class Failing(Heard):
        def request_failed(self, about: object, error: MCPError) -> None:
            failed.append((about, error.message))

    channel = MemoryChannel("s", print)
    with pytest.raises(NotConnectedError):
        channel.fail(1, ConnectError("cut"))
    channel.start(Failing(), Deadline(5))
    channel.fail(1, ConnectError("cut"))

    assert (failed, channel.is_running()) == ([(1, "cut")], True)


def test_a_message_that_json_cannot_express_is_not_sent() -> None:
    """Ours: the tests of a conversation must meet the same error as over a pipe."""
    sent: list[bytes] = []

    with pytest.raises(UnencodableError):
        MemoryChannel("s", sent.append).send(Outgoing({"a": object()}), Deadline(5), "x")
    assert sent == []


def test_the_end_is_reported_with_the_stage_of_each_caller() -> None:
    """Ours: the first reason is the one that counts."""
    sent: list[bytes] = []
    channel, heard = MemoryChannel("s", sent.append), Heard()
    channel.end(lambda stage: ConnectError(f"gone {stage}"))
    channel.start(heard, Deadline(5))
    channel.end(lambda stage: ConnectError(f"late {stage}"))
    channel.close(None)
    channel.send_soon(PING)

    assert (channel.is_running(), channel.why_lost("x").message, sent) == (False, "gone x", [])
    assert heard.ends[0].message == "late before it was asked to"


def test_closing_reports_not_connected() -> None:
    """Ours: callers that wait are no longer connected."""
    channel, heard = MemoryChannel("s", print), Heard()
    channel.start(heard, Deadline(5))

    channel.close(1.0)

    assert isinstance(channel.why_lost("x"), NotConnectedError)
    assert len(heard.ends) == 1
