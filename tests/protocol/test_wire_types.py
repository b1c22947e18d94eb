"""Every message that we write, read by the types of the official SDK for its revision."""

from __future__ import annotations

import json

import pytest
from mcp_types import UnsupportedProtocolVersionErrorData, methods
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from gaia_mcp.client import Host
from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.events import RequestReceived
from gaia_mcp.protocol.input_required import input_required, retry_params
from gaia_mcp.protocol.jsonrpc import RESOURCE_NOT_FOUND
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    LOG_LEVEL,
    SUBSCRIPTION,
    check_each,
    check_rows,
    discovered,
    enveloped,
    give,
    new_client,
    new_server,
    note,
    open_client,
    open_server,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
)
from tests.wire_support import (
    ANSWERS,
    QUESTIONS,
    SAMPLED,
    V2024,
    V2025_03,
    V2025_06,
    V2025_11,
    V2026,
    Wire,
    assert_not_newer,
    is_error,
    is_notification,
    is_request,
    is_result,
)


def new_model_client(*, probe: bool = True) -> ClientConnection:
    """A client whose host has a model, and has not begun."""
    capabilities = Host(sample=lambda _: SAMPLED[0]).capabilities()
    return ClientConnection("peer", info=CLIENT, capabilities=capabilities, probe=probe)


def test_the_sdk_types_reject_invalid_messages() -> None:
    """Ours: otherwise the checks below would prove nothing."""
    with pytest.raises(ValidationError):
        methods.validate_client_request("tools/call", V2026, {"name": "x"})
    with pytest.raises(ValidationError):
        methods.validate_server_result("tools/list", V2026, {"tools": []})
    with pytest.raises(ValidationError):
        methods.validate_server_result("tools/call", V2025_11, {"content": [], "structuredContent": [1]})
    with pytest.raises(KeyError):
        methods.validate_client_request("ping", V2026, None)
    with pytest.raises(AssertionError):
        assert_not_newer(V2025_03, {"result": {"content": [], "structuredContent": {}}})


# The client.


def test_discover_matches_the_sdk_types() -> None:
    """Spec 2026-07-28: also the second time."""
    client = new_client()
    client.open()
    (first,) = sent_by(client)
    give(client, rpc_error(first["id"], -32022, "no", {"supported": [V2026]}))
    (second,) = sent_by(client)

    for sent in (first, second):
        assert sent["method"] == "server/discover"
        is_request(V2026, sent)


def test_initialize_matches_the_sdk_types_in_every_proposed_version() -> None:
    """Spec: the handshake era."""
    client = new_client(probe=False)
    client.open()
    for version in HANDSHAKE_VERSIONS:
        (sent,) = sent_by(client)
        assert sent["params"]["protocolVersion"] == version
        is_request(version, sent)
        assert ("elicitation" in sent["params"]["capabilities"]) is (version in (V2025_06, V2025_11))
        assert_not_newer(version, sent)
        give(client, rpc_error(sent["id"], -32602))


def test_the_sampling_capability_matches_the_sdk_types() -> None:
    """Spec, sampling: in every revision that is proposed, and in every request of 2026-07-28."""
    client = new_model_client()
    client.open()
    (discover,) = sent_by(client)
    is_request(V2026, discover)
    give(client, rpc_result(discover["id"], discovered()))
    client.request("tools/call", {"name": "x"})
    client.subscribe("file:///a")
    for sent in (discover, *sent_by(client)):
        is_request(V2026, sent)
        assert sent["params"]["_meta"][CAPABILITIES]["sampling"] == {}

    client = new_model_client(probe=False)
    client.open()
    for version in HANDSHAKE_VERSIONS:
        (sent,) = sent_by(client)
        is_request(version, sent)
        assert sent["params"]["capabilities"]["sampling"] == {}
        assert sent["params"]["capabilities"]["roots"] == {}
        give(client, rpc_error(sent["id"], -32602))


def test_initialized_matches_the_sdk_types() -> None:
    """Spec: the handshake era."""

    def check(version: str) -> None:
        client = new_client(probe=False)
        client.open()
        (sent,) = sent_by(client)
        give(client, {"jsonrpc": "2.0", "id": sent["id"], "result": {"protocolVersion": version}})

        (sent,) = sent_by(client)
        assert sent["method"] == "notifications/initialized"
        is_notification(version, sent, by="client")

    check_each(check, HANDSHAKE_VERSIONS)


def test_every_feature_request_matches_the_sdk_types() -> None:
    """Spec: with and without progress, with and without the log."""

    def check(version: str, method: str) -> None:
        client = open_client(version)
        for params in QUESTIONS[method]:
            client.request(method, params)
            client.request(method, params, progress=True)
        if version in STATELESS_VERSIONS:
            client.want_logs("debug")
            client.request(method, QUESTIONS[method][0])

        sent = sent_by(client)
        assert len(sent) >= 2
        for message in sent:
            is_request(version, message)
            assert message["method"] == method
        # Cursors are sent as they are, also the empty one.
        assert [message["params"]["cursor"] for message in sent if "cursor" in message.get("params", {})] == [
            params["cursor"] for params in QUESTIONS[method] for _ in range(2) if params and "cursor" in params
        ]

    check_each(check, ALL_VERSIONS, QUESTIONS)


def test_a_retried_request_matches_the_sdk_types() -> None:
    """Spec 2026-07-28: multi-round-trip requests."""

    def check(method: str, sampled: Wire) -> None:
        params = QUESTIONS[method][0]
        assert params is not None
        asked = input_required(
            {
                "resultType": "input_required",
                "requestState": "v1.opaque",
                "inputRequests": {
                    "confirm": {"method": "elicitation/create"},
                    "roots": {"method": "roots/list"},
                    "model": {"method": "sampling/createMessage"},
                },
            }
        )
        assert asked is not None
        assert not isinstance(asked, str)
        answers = {
            "confirm": {"action": "accept", "content": {"ok": True, "n": 1.5}},
            "roots": {"roots": [{"uri": "file:///home/u", "name": "home"}]},
            "model": sampled,
        }
        client = open_client(V2026)
        client.request(method, retry_params(params, asked, answers), progress=True)

        (sent,) = sent_by(client)
        is_request(V2026, sent)
        assert sent["params"]["inputResponses"] == answers
        assert sent["params"]["requestState"] == "v1.opaque"

    check_each(check, ["tools/call", "prompts/get", "resources/read"], SAMPLED)


def test_ping_discover_set_level_and_listen_match_the_sdk_types() -> None:
    """Spec: ping, discover, setLevel, listen."""

    def check(version: str) -> None:
        client = open_client(version)
        client.check_alive()
        client.want_logs("warning")
        client.watch_lists()

        sent = sent_by(client)
        for message in sent:
            is_request(version, message)
        assert [message["method"] for message in sent] == (
            ["server/discover", "subscriptions/listen"] if version == V2026 else ["ping", "logging/setLevel"]
        )

    check_each(check, ALL_VERSIONS)


def test_resource_subscription_messages_match_the_sdk_types() -> None:
    """Spec: by methods of its own, or by listening, from the first request to the last message."""

    def check(version: str) -> None:
        client = open_client(version)
        client.subscribe("file:///a")
        client.subscribe("file:///gr%C3%BC%C3%9Fe?q=1#b")
        first, second = sent_by(client)
        for sent in (first, second):
            is_request(version, sent)
        if version == V2026:
            assert [sent["params"]["notifications"] for sent in (first, second)] == [
                {"resourceSubscriptions": ["file:///a"]},
                {"resourceSubscriptions": ["file:///gr%C3%BC%C3%9Fe?q=1#b"]},
            ]
            granted = {"notifications": first["params"]["notifications"], "_meta": {SUBSCRIPTION: first["id"]}}
            give(client, note("notifications/subscriptions/acknowledged", granted))
        else:
            give(client, rpc_result(first["id"], {}))

        client.unsubscribe("file:///a")
        client.abandon(second["id"], "no longer wanted")
        ended, given_up = sent_by(client)

        if version == V2026:
            is_notification(version, ended, by="client")
            assert ended["params"]["requestId"] == first["id"]
        else:
            is_request(version, ended)
            assert (ended["method"], ended["params"]) == ("resources/unsubscribe", {"uri": "file:///a"})
        is_notification(version, given_up, by="client")
        assert given_up["params"]["requestId"] == second["id"]

    check_each(check, ALL_VERSIONS)


def test_a_cancellation_matches_the_sdk_types() -> None:
    """Spec, cancellation: the notification names the request and the reason, in every revision."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = client.request("tools/list")
        sent_by(client)
        client.abandon(request_id, "no longer wanted")

        (sent,) = sent_by(client)
        is_notification(version, sent, by="client")

    check_each(check, ALL_VERSIONS)


def test_client_responses_match_the_sdk_types() -> None:
    """Spec: to whatever the revision lets a server ask."""
    cases = [
        ("roots/list", {"roots": [{"uri": "file:///home/u", "name": "home"}]}),
        ("roots/list", {"roots": []}),
        *(("sampling/createMessage", sampled) for sampled in SAMPLED),
        ("elicitation/create", {"action": "decline"}),
        ("elicitation/create", {"action": "accept", "content": {"city": "Oslo", "n": 3, "ok": True}}),
        ("ping", None),
    ]

    def check(version: str, method: str, answer: Wire | None) -> None:
        client = open_client(version)
        give(client, rpc("q", method, {}))
        if answer is not None:
            client.respond("q", answer)

        (sent,) = sent_by(client)
        if (method, version) in methods.CLIENT_RESULTS:
            assert isinstance(jsonrpc_message_adapter.validate_python(sent), JSONRPCResponse)
            methods.validate_client_result(method, version, sent["result"])
        else:
            # Refused, as LC-3 has it.
            assert isinstance(jsonrpc_message_adapter.validate_python(sent), JSONRPCError)
            assert method == "elicitation/create"
            assert version in (V2024, V2025_03)

    check_rows(check, [(version, *row) for version in HANDSHAKE_VERSIONS for row in cases])


def test_results_of_the_host_match_the_sdk_types() -> None:
    """Spec: with a model and folders that are looked up."""

    def check(version: str) -> None:
        host = Host(
            sample=lambda _: SAMPLED[0], roots=lambda: ({"uri": "file:///a"}, {"uri": "file:///b", "name": "b"})
        )

        for method in ("roots/list", "sampling/createMessage"):
            methods.validate_client_result(method, version, json.loads(json.dumps(host.answer(method, {}))))

    check_each(check, HANDSHAKE_VERSIONS)


def test_client_errors_match_the_sdk_types() -> None:
    """Spec: -32601 for an unknown method, -1 for a request that the user rejects."""

    def check(version: str) -> None:
        client = open_client(version)
        give(client, rpc(1, "sampling/createMessage", {}))
        client.respond_error(1, -32601, "Method not found")
        give(client, rpc(2, "sampling/createMessage", {}))
        client.respond_error(2, -1, "not now")

        sent = sent_by(client)
        for message in sent:
            is_error(message)
        assert [(message["id"], message["error"]["code"]) for message in sent] == [(1, -32601), (2, -1)]

    check_each(check, HANDSHAKE_VERSIONS)


# The server.


def asking(version: str, method: str, params: Wire | None = None, **meta: object) -> Wire:
    if version in STATELESS_VERSIONS:
        return enveloped(1, method, params, **meta)
    return rpc(1, method, {**(params or {}), "_meta": meta} if meta else params)


def test_the_discover_result_matches_the_sdk_types() -> None:
    """Spec 2026-07-28."""
    server = new_server(extensions={})
    give(server, enveloped("d", "server/discover"))

    (sent,) = sent_by(server)
    is_result(V2026, "server/discover", sent)
    assert sent["result"]["supportedVersions"] == [V2026]


def test_the_initialize_result_matches_the_sdk_types() -> None:
    """Spec: with nothing that this revision lacks."""

    def check(version: str) -> None:
        server = new_server(extensions={})
        give(server, rpc(0, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}))

        (sent,) = sent_by(server)
        is_result(version, "initialize", sent)

    check_each(check, HANDSHAKE_VERSIONS)


def test_every_feature_result_matches_the_sdk_types() -> None:
    """Spec: with nothing that this revision lacks, whatever the agent said."""

    def check(version: str, method: str) -> None:
        for answer in ANSWERS[method]:
            before = json.dumps(answer)
            server = open_server(version)
            give(server, asking(version, method))
            server.respond(1, answer)

            (sent,) = sent_by(server)
            is_result(version, method, sent)
            assert ("resultType" in sent["result"]) is (version == V2026)
            assert json.dumps(answer) == before

    check_each(check, ALL_VERSIONS, ANSWERS)


def test_a_tool_has_every_member_of_the_revision() -> None:
    """Ours: an older client still gets all that it can read."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, "tools/list"))
        server.respond(1, ANSWERS["tools/list"][0])

        (sent,) = sent_by(server)
        _, tool, array = sent["result"]["tools"]
        expected = {
            V2024: {"name", "description", "inputSchema"},
            V2025_03: {"name", "description", "inputSchema", "annotations"},
            V2025_06: {"name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta"},
        }
        expected[V2026] = expected[V2025_06] | {"icons"}
        expected[V2025_11] = expected[V2026] | {"execution"}
        assert set(tool) == expected[version]
        assert ("outputSchema" in array) is (version == V2026)
        assert sent["result"]["nextCursor"] == "p2"

    check_each(check, ALL_VERSIONS)


def test_a_tool_result_has_every_member_of_the_revision() -> None:
    """Ours: a block that the revision lacks becomes text, and none is lost."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, "tools/call"))
        server.respond(1, ANSWERS["tools/call"][0])

        (sent,) = sent_by(server)
        kinds = [block["type"] for block in sent["result"]["content"]]
        audio = "text" if version == V2024 else "audio"
        link = "text" if version in (V2024, V2025_03) else "resource_link"
        assert kinds == ["text", "image", audio, link, "resource", "resource"]
        assert ("structuredContent" in sent["result"]) is (version not in (V2024, V2025_03))
        assert sent["result"]["isError"] is False
        for block in sent["result"]["content"]:
            assert ("_meta" in block) <= (version not in (V2024, V2025_03))

    check_each(check, ALL_VERSIONS)


def test_an_input_required_result_matches_the_sdk_types() -> None:
    """Spec 2026-07-28: an agent may ask for input."""
    question = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
    }
    for method in ("prompts/get", "resources/read", "tools/call"):
        server = new_server()
        give(server, enveloped(1, method, **{CAPABILITIES: {"elicitation": {}}}))
        server.respond(1, {"resultType": "input_required", "requestState": "s", "inputRequests": {"q": question}})

        (sent,) = sent_by(server)
        is_result(V2026, method, sent)
        assert sent["result"]["resultType"] == "input_required"
        assert set(sent["result"]) == {"resultType", "requestState", "inputRequests", "_meta"}


def test_empty_results_match_the_sdk_types() -> None:
    """Spec: ping and setLevel."""

    def check(version: str) -> None:
        server = open_server(version)
        for method, params in (("ping", None), ("logging/setLevel", {"level": "error"})):
            give(server, rpc(1, method, params))
            (sent,) = sent_by(server)
            is_result(version, method, sent)
            assert sent["result"] == {}

    check_each(check, HANDSHAKE_VERSIONS)


def test_server_notifications_match_the_sdk_types() -> None:
    """Spec: progress, log and changed lists."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, "tools/call", {"name": "x"}, progressToken="t", **{LOG_LEVEL: "debug"}))
        server.report_progress(1, 0.5, None, "")
        server.report_progress(1, 1, 2, "half")
        server.log(1, "warning", {"retry": 2}, "http")
        server.log(1, "emergency", "text", "http")
        server.announce_list_changed("tools")
        server.announce_list_changed("prompts")

        sent = sent_by(server)
        for message in sent:
            is_notification(version, message, by="server")
        assert len(sent) == (4 if version == V2026 else 6)
        assert ("message" in sent[1]["params"]) is (version != V2024)

    check_each(check, ALL_VERSIONS)


def test_subscription_messages_match_the_sdk_types() -> None:
    """Spec 2026-07-28."""
    server = new_server()
    wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    give(server, enveloped(1, "subscriptions/listen", {"notifications": wanted}))
    server.announce_list_changed("tools")
    server.announce_list_changed("prompts")
    server.close()

    *notifications, ended = sent_by(server)
    assert [message["method"] for message in notifications] == [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
    ]
    for message in notifications:
        is_notification(V2026, message, by="server")
    is_result(V2026, "subscriptions/listen", ended)


def test_server_errors_match_the_sdk_types() -> None:
    """Spec: every way in which a request can be refused."""

    def check(version: str) -> None:
        server = open_server(version)
        (asked,) = give(server, asking(version, "resources/read", {"uri": "x"}))
        assert isinstance(asked, RequestReceived)
        for message in (
            asking(version, "resources/read"),
            {"jsonrpc": "2.0", "id": "m", "method": 5},
            b"{not json}",
            5,
            enveloped("v", "tools/list", **{"io.modelcontextprotocol/protocolVersion": "2027-01-01"}),
            rpc("n", "nonsense", asking(version, "")["params"] if version == V2026 else None),
        ):
            give(server, message)
        server.respond_error(1, RESOURCE_NOT_FOUND, "Resource not found", {"uri": "x"})

        sent = sent_by(server)
        assert len(sent) == 7
        for message in sent:
            is_error(message)
        (unsupported,) = (message["error"] for message in sent if message["error"]["code"] == -32022)
        UnsupportedProtocolVersionErrorData.model_validate(unsupported["data"])
        # 2026-07-28 forbids what earlier revisions said of a missing resource.
        assert sent[-1]["error"]["code"] == (-32602 if version == V2026 else -32002)

    check_each(check, ALL_VERSIONS)


def test_errors_before_the_handshake_match_the_sdk_types() -> None:
    """Spec: nothing is known of the client yet."""
    server = new_server()
    for message in (rpc(1, "tools/list"), rpc(2, "nonsense"), rpc(3, "initialize"), note("notifications/x"), [], b"["):
        give(server, message)

    sent = sent_by(server)
    assert [message["error"]["code"] for message in sent] == [-32602, -32601, -32602, -32600, -32700]
    for message in sent:
        is_error(message)
