"""The server's end: both eras on one pipe, and what is said to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.envelope import TASK_METHODS, read_context
from gaia_mcp.protocol.events import Cancelled, Discarded, ErrorResponse, InvalidResponse, RequestReceived
from gaia_mcp.protocol.input_required import ELICIT, LIST_ROOTS, MissingCapabilityError, Question, QuestionError
from gaia_mcp.protocol.jsonrpc import (
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    RESOURCE_NOT_FOUND,
    Request,
    Result,
    classify,
)
from gaia_mcp.protocol.server import Description, Forwarded
from gaia_mcp.protocol.tasks import TASK_RESULT_TYPES
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_INFO,
    LOG_LEVEL,
    SERVER,
    SERVER_INFO,
    SUBSCRIPTION,
    VERSION,
    check_each,
    check_rows,
    enveloped,
    give,
    new_server,
    note,
    open_server,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import ServerConnection

OLD, BATCHES, NEW = "2025-11-25", "2025-03-26", "2026-07-28"
METHODS = [
    *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list"),
    *("resources/read", "completion/complete"),
]


def asking(version: str, request_id: object, method: str, params: dict[str, Any] | None = None, **meta: object) -> Any:
    """A request as a client of `version` writes it."""
    if version in STATELESS_VERSIONS:
        return enveloped(request_id, method, params, **meta)
    return rpc(request_id, method, {**(params or {}), "_meta": meta} if meta else params)


def answer(server: ServerConnection, message: object) -> Any:
    """The one answer to a message that is answered at once."""
    assert give(server, message) == []
    (sent,) = sent_by(server)
    return sent


def test_a_request_whose_envelope_has_been_read_is_served_as_any_other() -> None:
    """Ours: over HTTP the envelope is compared with the headers before. An id in use is refused all the same."""
    message = enveloped(1, "tools/call", {"name": "a"})
    read = classify(message)
    assert isinstance(read, Request)
    context = read_context(read.params)
    assert not isinstance(context, str)
    usual, server = new_server(), new_server()

    server.receive_stateless(read, context)
    assert server.take_events() == give(usual, message)
    server.receive_stateless(read, context)
    assert sent_by(server) == [answer(usual, message)]


def refusal(server: ServerConnection, message: object) -> tuple[object, int]:
    """Id and code of the error with which a message is answered at once."""
    sent = answer(server, message)
    assert set(sent) <= {"jsonrpc", "id", "error"}
    assert isinstance(sent["error"]["message"], str)
    return sent.get("id"), sent["error"]["code"]


# Opening.


def test_discover_returns_the_server_description() -> None:
    """Spec 2026-07-28, MS-1, MS-5 and MS-11: the list names stateless versions only."""
    sent = answer(new_server(), enveloped("discover-1", "server/discover"))

    assert sent["id"] == "discover-1"
    assert sent["result"] == {
        "resultType": "complete",
        "supportedVersions": [NEW],
        "capabilities": new_server().description.capabilities,
        "instructions": "Be kind.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: SERVER},
    }


def test_initialize_is_answered_in_the_proposed_version() -> None:
    """Spec, LS-1, with what that revision knows of a server."""

    def check(version: str) -> None:
        sent = answer(
            new_server(),
            rpc(0, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT}),
        )

        assert sent["id"] == 0
        assert sent["result"]["protocolVersion"] == version
        assert sent["result"]["instructions"] == "Be kind."
        info = sent["result"]["serverInfo"]
        assert (info["name"], info["version"]) == ("test-server", "2.0")
        assert ("title" in info) is (version in ("2025-06-18", OLD))
        assert ("icons" in info) is (version == OLD)
        assert ("completions" in sent["result"]["capabilities"]) is (version != "2024-11-05")
        assert set(sent["result"]) == {"protocolVersion", "capabilities", "serverInfo", "instructions"}

    check_each(check, HANDSHAKE_VERSIONS)


def test_of_initialize_only_what_a_revision_defines_is_kept() -> None:
    """Ours: the rest may have any size, and would stay in memory for the whole conversation."""
    server = new_server()
    client = {"clientInfo": {"name": "a", "x": 1}, "capabilities": {"roots": {}, "x": 1}}
    answer(server, rpc(0, "initialize", {"protocolVersion": OLD, **client}))

    server.receive_message(rpc(1, "tools/list"))

    (received,) = server.take_events()
    assert (received.context.info, received.context.capabilities) == ({"name": "a"}, {"roots": {}})


def test_initialize_in_an_unsupported_version_is_answered_with_the_newest() -> None:
    """Spec, LS-1: a counter-offer, never the stateless revision."""

    def check(version: str) -> None:
        sent = answer(new_server(), rpc(1, "initialize", {"protocolVersion": version}))

        assert sent["result"]["protocolVersion"] == OLD

    check_each(check, [NEW, "2027-01-01", "2024-10-07", "", "nonsense"])


def test_an_invalid_initialize_is_rejected_and_can_be_repeated() -> None:
    """Ours: a rejected opening changes nothing."""
    cases = [
        None,
        {},
        {"protocolVersion": 5},
        {"protocolVersion": OLD, "capabilities": []},
        {"protocolVersion": OLD, "clientInfo": "me"},
    ]

    def check(params: dict[str, Any] | None) -> None:
        server = new_server()

        assert refusal(server, rpc(1, "initialize", params)) == (1, -32602)
        assert refusal(server, rpc(1, "tools/list")) == (1, -32602)
        assert "result" in answer(server, rpc(1, "initialize", {"protocolVersion": OLD}))

    check_each(check, cases)


def test_a_server_without_instructions_omits_the_member() -> None:
    """Spec: the member is optional."""
    server = new_server()
    server.description = Description(SERVER, {"tools": {}})

    assert "instructions" not in answer(server, enveloped(1, "server/discover"))["result"]
    assert "instructions" not in answer(server, rpc(1, "initialize", {"protocolVersion": OLD}))["result"]


def test_a_server_without_a_name_sends_no_server_info() -> None:
    """Spec 2026-07-28, MS-5: only a SHOULD."""
    server = new_server()
    server.description = Description({}, {"tools": {}})

    assert "_meta" not in answer(server, enveloped(1, "server/discover"))["result"]


def test_the_description_may_change_between_two_requests() -> None:
    """Ours: a server answers before a slow agent has loaded."""
    server = new_server()
    server.description = Description({"name": "early", "version": ""}, {})
    assert refusal(server, enveloped(1, "tools/list")) == (1, -32601)

    server.description = Description({"name": "loaded", "version": "1"}, {"tools": {}})

    (asked,) = give(server, enveloped(2, "tools/list"))
    assert isinstance(asked, RequestReceived)


def test_discover_commits_neither_side_to_an_era() -> None:
    """Ours, DE-3: a client may ask and then shake hands, or do both at once."""
    server = new_server()
    answer(server, enveloped(1, "server/discover"))
    assert refusal(server, enveloped(2, "server/discover", **{VERSION: "2027-01-01"})) == (2, -32022)

    sent = answer(server, rpc(3, "initialize", {"protocolVersion": "2025-06-18"}))

    assert sent["result"]["protocolVersion"] == "2025-06-18"


def test_both_eras_are_served_on_one_pipe() -> None:
    """Spec 2026-07-28, DE-1: every message is judged by itself."""
    server = open_server("2025-06-18")
    (stateless,) = give(server, enveloped("s", "tools/list"))
    (handshake,) = give(server, rpc("h", "tools/list"))

    assert isinstance(stateless, RequestReceived)
    assert isinstance(handshake, RequestReceived)
    assert (stateless.context.version, handshake.context.version) == (NEW, "2025-06-18")
    server.respond("s", {"tools": []})
    server.respond("h", {"tools": []})
    first, second = sent_by(server)
    assert first["result"]["resultType"] == "complete"
    assert second["result"] == {"tools": []}


def test_a_stateless_request_has_no_effect_on_the_next() -> None:
    """Spec 2026-07-28, MS-6."""
    server = new_server()
    meta = {CAPABILITIES: {"roots": {}}, CLIENT_INFO: CLIENT, LOG_LEVEL: "info", "progressToken": 1}
    give(server, enveloped(1, "tools/list", **meta))

    (asked,) = give(server, enveloped(2, "tools/list"))

    assert isinstance(asked, RequestReceived)
    assert asked.context == (NEW, {}, {}, None, None)
    assert refusal(server, rpc(3, "tools/list")) == (3, -32602)


def test_an_unknown_method_before_initialize_does_not_end_the_server() -> None:
    """Ours, DE-3: clients probe with what we may not know."""
    cases = ["nonsense", "logging/setLevel", "resources/subscribe", "tasks/get", ""]

    def check(method: str) -> None:
        server = new_server()

        assert refusal(server, rpc(1, method)) == (1, -32601)
        assert "result" in answer(server, rpc(2, "initialize", {"protocolVersion": OLD}))

    check_each(check, cases)


def test_a_request_without_envelope_or_handshake_is_rejected() -> None:
    """Spec 2026-07-28, MS-2."""
    wrong = [
        (method, params, found)
        for method in [*METHODS, "server/discover", "subscriptions/listen"]
        for params in [None, {}, {"_meta": {CAPABILITIES: {}}}]
        if (found := refusal(new_server(), rpc("x", method, params))) != ("x", -32602)
    ]

    assert not wrong


def test_an_invalid_envelope_is_rejected_before_the_method_is_checked() -> None:
    """Spec 2026-07-28, MS-2 and MS-14: before version and method are looked at."""
    cases = [
        {VERSION: NEW},
        {VERSION: 5, CAPABILITIES: {}},
        {VERSION: NEW, CAPABILITIES: []},
        {VERSION: NEW, CAPABILITIES: {}, CLIENT_INFO: "me"},
        {VERSION: NEW, CAPABILITIES: {}, LOG_LEVEL: "loud"},
        {VERSION: "2027-01-01"},
    ]

    wrong = [
        (method, meta, found)
        for method in ["server/discover", "tools/list", "nonsense"]
        for meta in cases
        if (found := refusal(new_server(), rpc(1, method, {"_meta": meta}))) != (1, -32602)
    ]

    assert not wrong


def test_an_unsupported_version_is_rejected_with_the_supported_versions() -> None:
    """Spec 2026-07-28, MS-3: `supported` and `requested`, before the method is looked at. A version of the handshake
    would be refused in an envelope too.
    """

    def check(method: str, version: str) -> None:
        server = new_server()
        discovered = answer(server, enveloped(0, "server/discover"))["result"]

        sent = answer(server, enveloped(1, method, **{VERSION: version}))

        assert sent["error"]["code"] == -32022
        assert sent["error"]["data"] == {"supported": discovered["supportedVersions"], "requested": version}

    check_each(check, ["server/discover", "tools/list", "nonsense"], ["2027-01-01", "", *HANDSHAKE_VERSIONS])


def test_an_invalid_result_is_not_sent_and_its_request_stays_open() -> None:
    """Spec 2026-07-28, MS-5: the owner answers with an error instead."""
    server = new_server()
    give(server, enveloped(1, "tools/call"))

    with pytest.raises(ValueError, match="unknown type 'partial'"):
        server.respond(1, {"resultType": "partial", "content": []})

    assert sent_by(server) == []
    server.respond(1, {"content": []})
    assert sent_by(server)[0]["result"]["content"] == []


def test_a_forwarded_result_is_sent_as_it_is() -> None:
    """Ours: a client of a held server gets what the server has sent, valid or not, in either era."""
    result = {"tools": [{"name": "a"}, "no tool"], "extra": None}
    stateless, handshake = new_server(), new_server()
    hello = {"protocolVersion": HANDSHAKE_VERSIONS[0], "capabilities": {}, "clientInfo": {}}
    answer(handshake, rpc("hello", "initialize", hello))

    for server, version in ((stateless, STATELESS_VERSIONS[0]), (handshake, HANDSHAKE_VERSIONS[0])):
        give(server, asking(version, 1, "tools/list"))
        server.respond(1, Forwarded(result))
        assert sent_by(server) == [{"jsonrpc": "2.0", "id": 1, "result": result}]


def test_input_without_a_declared_capability_is_not_requested() -> None:
    """Spec 2026-07-28, MS-4 and MS-8: the error names the capabilities that the client would have to declare."""
    server = new_server()
    give(server, enveloped(1, "tools/call", **{CAPABILITIES: {"sampling": {}}}))
    asked = {"q": {"method": "elicitation/create", "params": {}}, "s": {"method": "sampling/createMessage"}}

    server.respond(1, {"resultType": "input_required", "inputRequests": asked})

    (sent,) = sent_by(server)
    assert (sent["id"], sent["error"]["code"]) == (1, -32021)
    assert sent["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# Requests.


def test_a_feature_request_is_passed_to_the_owner() -> None:
    """Ours: the connection knows the methods, the owner knows the answers."""

    def check(version: str, method: str) -> None:
        server = open_server(version)

        (asked,) = give(server, asking(version, 7, method, {"name": "x"}))

        assert isinstance(asked, RequestReceived)
        assert (asked.id, asked.method, asked.params["name"], asked.context.version) == (7, method, "x", version)
        assert sent_by(server) == []

    check_each(check, ALL_VERSIONS, METHODS)


def test_a_feature_without_its_capability_is_an_unknown_method() -> None:
    """Spec: -32601."""

    def check(version: str, method: str) -> None:
        server = open_server(version)
        server.description = Description(SERVER, {"logging": {}})

        assert refusal(server, asking(version, 7, method)) == (7, -32601)

    check_each(check, ALL_VERSIONS, METHODS)


def test_an_unknown_method_is_rejected() -> None:
    """Spec: -32601."""
    wrong = [
        (version, method, found)
        for version in ALL_VERSIONS
        for method in ["nonsense", "resources/subscribe", "roots/list", ""]
        if (found := refusal(open_server(version), asking(version, "a", method))) != ("a", -32601)
    ]

    assert not wrong


def test_handshake_methods_are_unknown_in_the_stateless_era() -> None:
    """Spec 2026-07-28: these methods were removed."""
    cases = ["ping", "initialize", "logging/setLevel", "resources/unsubscribe"]

    wrong = [
        (method, found)
        for method in cases
        if (found := refusal(open_server(OLD), enveloped(1, method, {"level": "info", "protocolVersion": OLD})))
        != (1, -32601)
    ]

    assert not wrong


def test_stateless_methods_are_unknown_after_a_handshake() -> None:
    """Spec: the earlier revisions do not define them."""
    wrong = [
        (version, method, found)
        for version in HANDSHAKE_VERSIONS
        for method in ["server/discover", "subscriptions/listen"]
        if (found := refusal(open_server(version), rpc(1, method, {"notifications": {}}))) != (1, -32601)
    ]

    assert not wrong


def test_a_ping_is_answered_before_and_after_the_handshake() -> None:
    """Spec: at any time."""
    for server in (new_server(), open_server(OLD)):
        assert answer(server, rpc("p", "ping")) == rpc_result("p", {})


def test_requests_between_initialize_and_initialized_are_served() -> None:
    """Ours: some clients never send the notification."""
    server = new_server()
    answer(server, rpc(1, "initialize", {"protocolVersion": OLD}))

    (asked,) = give(server, rpc(2, "tools/list"))

    assert isinstance(asked, RequestReceived)


def test_request_ids_are_returned_unchanged() -> None:
    """Spec, B-2: also the type."""

    def check(version: str, request_id: object) -> None:
        server = open_server(version)
        (asked,) = give(server, asking(version, request_id, "tools/call"))
        assert isinstance(asked, RequestReceived)
        server.respond(asked.id, {"content": []})
        give(server, asking(version, request_id, "tools/call"))
        server.respond_error(asked.id, -32602, "no", {"d": 1})

        answered, refused = sent_by(server)
        for sent in (answered, refused):
            assert sent["id"] == request_id
            assert type(sent["id"]) is type(request_id)
        assert refused["error"] == {"code": -32602, "message": "no", "data": {"d": 1}}

    check_each(check, ALL_VERSIONS, [0, -1, 1, "1", "", "ü", 2**70])


def test_a_number_and_its_string_are_different_ids() -> None:
    """Spec, B-1."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call"))
        give(server, asking(version, "1", "tools/call"))
        server.respond("1", {"content": [], "isError": True})
        server.respond(1, {"content": [], "isError": False})

        assert [(sent["id"], sent["result"]["isError"]) for sent in sent_by(server)] == [("1", True), (1, False)]

    check_each(check, ALL_VERSIONS)


def test_an_id_in_use_is_rejected_until_its_request_is_answered() -> None:
    """Spec, B-1: unique among the open requests."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call"))

        assert refusal(server, asking(version, 1, "tools/call")) == (1, -32600)

        server.respond(1, {"content": []})
        assert [sent["id"] for sent in sent_by(server)] == [1]
        (asked,) = give(server, asking(version, 1, "tools/call"))
        assert isinstance(asked, RequestReceived)

    check_each(check, ALL_VERSIONS)


def test_a_request_is_answered_once() -> None:
    """Spec, B-2."""
    server = open_server(OLD)
    give(server, rpc(1, "tools/call"))
    server.respond(1, {"content": []})
    server.respond(1, {"content": []})
    server.respond_error(1, -32603, "late")
    server.respond("never asked", {})

    assert len(sent_by(server)) == 1


def test_a_missing_resource_has_the_code_of_its_era() -> None:
    """Spec: -32002 up to 2025-11-25, which 2026-07-28 forbids (MS-15 and MS-17)."""
    server = open_server(OLD)
    give(server, rpc(1, "resources/read"))
    give(server, enveloped(2, "resources/read"))
    for request_id in (1, 2):
        server.respond_error(request_id, RESOURCE_NOT_FOUND, "Resource not found", {"uri": "x"})

    assert [sent["error"]["code"] for sent in sent_by(server)] == [-32002, -32602]


# Cancellation.


def test_nothing_is_sent_for_a_cancelled_request() -> None:
    """Spec, MS-18."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call", progressToken="t", **{LOG_LEVEL: "debug"}))

        assert give(server, note("notifications/cancelled", {"requestId": 1, "reason": "^C"})) == [Cancelled(1, "^C")]

        server.report_progress(1, 1, None, "")
        server.log(1, "emergency", "x", "l")
        server.respond(1, {"content": []})
        server.respond_error(1, -32603, "no")
        assert sent_by(server) == []

    check_each(check, ALL_VERSIONS)


def test_a_cancellation_of_an_unknown_request_is_ignored() -> None:
    """Spec, B-9."""
    cases = [None, {}, {"requestId": 99}, {"requestId": "1"}, {"requestId": True}, {"requestId": []}]

    def check(version: str, params: dict[str, Any] | None) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call"))

        assert give(server, note("notifications/cancelled", params)) == []
        server.respond(1, {"content": []})
        assert len(sent_by(server)) == 1

    check_each(check, ALL_VERSIONS, cases)


def test_a_cancellation_after_the_response_is_ignored() -> None:
    """Spec, B-9: races are tolerated."""
    server = open_server(OLD)
    give(server, rpc(1, "tools/call"))
    server.respond(1, {"content": []})

    assert give(server, note("notifications/cancelled", {"requestId": 1})) == []


def test_a_transport_can_cancel_a_request() -> None:
    """Spec 2026-07-28, HTTP: closing a request's own stream cancels it."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call"))

        server.cancel(1)
        server.cancel(1)
        server.cancel(99)

        assert server.take_events() == [Cancelled(1, "")]
        server.respond(1, {"content": []})
        assert sent_by(server) == []

    check_each(check, ALL_VERSIONS)


def test_an_invalid_result_leaves_the_request_open() -> None:
    """Ours: the caller can still answer with an error."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call"))

        with pytest.raises((AttributeError, TypeError, ValueError)):
            server.respond(1, "text")  # type: ignore[arg-type]
        server.respond_error(1, -32603, "invalid result")

        assert [message["error"]["code"] for message in sent_by(server)] == [-32603]

    check_each(check, ALL_VERSIONS)


# Progress and log.


def test_progress_is_sent_under_the_clients_token_while_it_grows() -> None:
    """Spec, B-7; the message came with 2025-03-26."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call", progressToken="t"))
        server.report_progress(1, 1, None, "")
        server.report_progress(1, 1, None, "the same")
        server.report_progress(1, 0.5, None, "less")
        server.report_progress(1, 2, 4, "half")
        server.report_progress(1, float("inf"), 4, "for ever")
        server.report_progress(1, 2.5, float("nan"), "")
        server.respond(1, {"content": []})
        server.report_progress(1, 3, 4, "late")

        first, second, third, _ = sent_by(server)
        assert first == note("notifications/progress", {"progressToken": "t", "progress": 1})
        text = {} if version == "2024-11-05" else {"message": "half"}
        assert second == note("notifications/progress", {"progressToken": "t", "progress": 2, "total": 4, **text})
        assert third == note("notifications/progress", {"progressToken": "t", "progress": 2.5})

    check_each(check, ALL_VERSIONS)


def test_a_reused_id_starts_with_new_progress() -> None:
    """Ours: no state is left of a request, be it answered or cancelled."""
    server = open_server(OLD)
    for ended in ("answered", "cancelled", "answered"):
        give(server, rpc(1, "tools/call", {"_meta": {"progressToken": 0}}))
        server.report_progress(1, 5, None, "")
        assert [sent["params"]["progress"] for sent in sent_by(server)] == [5]
        if ended == "answered":
            server.respond(1, {"content": []})
        else:
            give(server, note("notifications/cancelled", {"requestId": 1}))
        sent_by(server)


def test_no_progress_is_sent_without_a_token() -> None:
    """Spec, B-7."""

    def check(version: str, meta: dict[str, Any]) -> None:
        server = open_server(version)
        give(server, asking(version, 1, "tools/call", **meta))
        server.report_progress(1, 1, None, "")

        assert sent_by(server) == []

    check_each(check, ALL_VERSIONS, [{}, {"progressToken": None}, {"progressToken": 1.5}])


@pytest.mark.parametrize(
    ("wanted", "sent"), [("debug", ["debug", "info", "error"]), ("info", ["info", "error"]), ("emergency", [])]
)
def test_a_stateless_request_gets_log_messages_from_its_level_up(wanted: str, sent: list[str]) -> None:
    """Spec 2026-07-28, MS-14."""
    server = new_server()
    give(server, enveloped(1, "tools/call", **{LOG_LEVEL: wanted}))
    for level in ("debug", "info", "error"):
        server.log(1, level, {"a": 1}, "db")

    messages = sent_by(server)
    assert [message["params"]["level"] for message in messages] == sent
    for message in messages:
        assert message["method"] == "notifications/message"
        assert message["params"] == {"level": message["params"]["level"], "logger": "db", "data": {"a": 1}}


def test_a_stateless_request_without_a_level_gets_no_log() -> None:
    """Spec 2026-07-28, MS-14, also when an earlier handshake on the pipe set one."""
    server = open_server(OLD)
    answer(server, rpc(1, "logging/setLevel", {"level": "debug"}))
    give(server, enveloped(2, "tools/call"))
    server.log(2, "emergency", "x", "db")

    assert sent_by(server) == []


def test_logging_set_level_applies_to_all_handshake_requests() -> None:
    """Spec: `logging/setLevel`; also for requests that run already."""

    def check(version: str) -> None:
        server = open_server(version)
        give(server, rpc(1, "tools/call"))

        def levels() -> list[str]:
            for level in ("debug", "info", "warning", "error"):
                server.log(1, level, "x", "db")
            return [message["params"]["level"] for message in sent_by(server)]

        assert levels() == ["info", "warning", "error"]
        assert answer(server, rpc(2, "logging/setLevel", {"level": "error"})) == rpc_result(2, {})
        assert levels() == ["error"]
        assert answer(server, rpc(3, "logging/setLevel", {"level": "debug"})) == rpc_result(3, {})
        assert levels() == ["debug", "info", "warning", "error"]

    check_each(check, HANDSHAKE_VERSIONS)


def test_an_unknown_log_level_is_refused() -> None:
    """Spec: -32602."""
    cases = [None, {"level": "loud"}, {"level": 3}, {"level": ["info"]}]

    wrong = [
        (params, found)
        for params in cases
        if (found := refusal(open_server(OLD), rpc(1, "logging/setLevel", params))) != (1, -32602)
    ]

    assert not wrong


def test_a_server_without_logging_sends_no_log_messages() -> None:
    """Spec: emitting needs the capability."""

    def check(version: str) -> None:
        server = open_server(version)
        server.description = Description(SERVER, {"tools": {}})
        give(server, asking(version, 1, "tools/call", **{LOG_LEVEL: "debug"}))
        server.log(1, "emergency", "x", "db")

        assert sent_by(server) == []
        assert refusal(server, asking(version, 2, "logging/setLevel", {"level": "info"})) == (2, -32601)

    check_each(check, ALL_VERSIONS)


def test_no_log_message_is_sent_for_an_unknown_request() -> None:
    """Spec 2026-07-28: log messages belong to a request."""
    server = open_server(OLD)
    server.log("never", "emergency", "x", "db")
    server.report_progress("never", 1, None, "")

    assert sent_by(server) == []


# Changed lists and subscriptions.


def test_changes_are_announced_until_the_subscription_ends() -> None:
    """Spec 2026-07-28, MS-13: each with the id of its subscription; the graceful end is a result."""
    server = new_server(resources={"subscribe": True})
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    answer(server, enveloped(1, "subscriptions/listen", {"notifications": wanted}))

    server.announce_list_changed("tools")
    server.announce_resource_updated("file:///a")
    server.announce_resource_updated("file:///b")

    tools, resource = sent_by(server)
    assert tools == note("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: 1}})
    assert resource == note("notifications/resources/updated", {"uri": "file:///a", "_meta": {SUBSCRIPTION: 1}})
    server.close()
    assert [message["id"] for message in sent_by(server)] == [1]
    server.announce_list_changed("tools")
    assert sent_by(server) == []


def test_a_subscription_without_a_filter_is_rejected() -> None:
    """Spec 2026-07-28: the filter is required."""
    assert refusal(new_server(), enveloped(1, "subscriptions/listen")) == (1, -32602)


def test_resources_subscribe_requires_the_subscribe_capability() -> None:
    """Spec 2025-11-25: `resources/subscribe` needs `resources.subscribe`."""
    server = open_server(OLD, resources={"subscribe": True})

    assert answer(server, rpc(1, "resources/subscribe", {"uri": "file:///a"})) == rpc_result(1, {})
    server.announce_resource_updated("file:///a")
    assert sent_by(server) == [note("notifications/resources/updated", {"uri": "file:///a"})]
    assert refusal(server, rpc(2, "resources/subscribe", {"uri": 7})) == (2, -32602)
    assert refusal(open_server(OLD), rpc(3, "resources/subscribe", {"uri": "file:///a"})) == (3, -32601)


# Batches.


def test_a_batch_is_answered_by_one_batch() -> None:
    """Spec 2025-03-26: receivers MUST accept batches; notifications have no entry."""
    server = open_server(BATCHES)
    events = give(
        server,
        [
            rpc(1, "tools/call"),
            note("notifications/initialized"),
            rpc("p", "ping"),
            rpc(2, "nonsense"),
            rpc(3, "tools/list"),
        ],
    )
    assert [event.id for event in events if isinstance(event, RequestReceived)] == [1, 3]
    assert sent_by(server) == []
    server.respond(3, {"tools": []})
    assert sent_by(server) == []
    server.respond(1, {"content": []})

    (batch,) = sent_by(server)
    assert [sent["id"] for sent in batch] == ["p", 2, 3, 1]
    assert batch[0] == rpc_result("p", {})
    assert batch[1]["error"]["code"] == -32601


def test_a_batch_that_is_answered_at_once_includes_its_errors() -> None:
    """Spec 2025-03-26; what is no request is refused in it."""
    sent = answer(open_server(BATCHES), [rpc(1, "ping"), 5, rpc(2, "ping"), {"jsonrpc": "2.0", "id": "x"}])

    assert sorted(str(part.get("id")) for part in sent) == ["1", "2", "None", "x"]
    assert sorted(part["error"]["code"] for part in sent if "error" in part) == [-32600, -32600]


@pytest.mark.parametrize(
    "batch",
    [[note("notifications/initialized")], [rpc_result(1, {})], [{"jsonrpc": "2.0", "method": "n", "params": 5}]],
)
def test_a_batch_without_a_request_is_not_answered(batch: list[Any]) -> None:
    """Spec, B-3: neither notifications nor answers are answered."""
    server = open_server(BATCHES)
    give(server, batch)

    assert sent_by(server) == []


def test_a_batch_with_a_repeated_member_is_answered_by_an_error_for_each_request() -> None:
    """Ours: as one batch; where it has no request, by nothing."""
    server = open_server("2025-03-26")
    twice = b'{"jsonrpc": "2.0", "id": 2, "method": "ping", "method": "ping"}'
    give(server, b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}, %s]' % twice)
    (batch,) = sent_by(server)
    assert [(sent["id"], sent["error"]["code"]) for sent in batch] == [(1, -32600), (2, -32600)]

    give(server, b'[{"jsonrpc": "2.0", "method": "notifications/x", "params": {"a": 1, "a": 1}}]')
    assert sent_by(server) == []


def test_a_batch_of_invalid_messages_is_answered_by_errors() -> None:
    """JSON-RPC: one error for each."""
    assert [part["error"]["code"] for part in answer(open_server(BATCHES), [1, 2])] == [-32600, -32600]


def test_a_cancelled_request_leaves_its_batch() -> None:
    """Spec, MS-18: the others are answered without it."""
    server = open_server(BATCHES)
    give(server, [rpc(1, "tools/call"), rpc(2, "tools/call")])
    give(server, note("notifications/cancelled", {"requestId": 1}))
    server.respond(1, {"content": []})
    assert sent_by(server) == []
    server.respond(2, {"content": []})

    (batch,) = sent_by(server)
    assert [sent["id"] for sent in batch] == [2]


def test_an_invalid_result_does_not_hold_back_its_batch() -> None:
    """Spec 2025-03-26: one array, in which one response is an error."""
    server = open_server(BATCHES)
    give(server, [rpc(1, "tools/call"), rpc(2, "tools/call")])
    with pytest.raises((AttributeError, TypeError, ValueError)):
        server.respond(1, "text")  # type: ignore[arg-type]

    server.respond_error(1, -32603, "invalid result")
    server.respond(2, {"content": []})

    ((first, second),) = sent_by(server)
    assert (first["id"], second["id"]) == (1, 2)
    assert "error" in first


def test_cancelling_the_last_request_of_a_batch_sends_the_other_responses() -> None:
    """Ours: what is there is sent, and an empty batch never."""
    server = open_server(BATCHES)
    give(server, [rpc(1, "tools/call"), rpc(2, "tools/call")])
    server.respond(1, {"content": []})
    give(server, note("notifications/cancelled", {"requestId": 2}))
    (batch,) = sent_by(server)
    assert [sent["id"] for sent in batch] == [1]

    give(server, [rpc(1, "tools/call")])
    give(server, note("notifications/cancelled", {"requestId": 1}))
    assert sent_by(server) == []


def test_a_batch_with_an_id_in_use_does_not_take_its_response() -> None:
    """Spec, B-1: the second of the two is refused, the first is answered as it was asked."""
    server = open_server(BATCHES)
    give(server, rpc(1, "tools/call"))
    give(server, [rpc(1, "tools/call"), rpc(2, "tools/call")])
    (refused,) = sent_by(server)
    assert (refused["id"], refused["error"]["code"]) == (1, -32600)

    server.respond(1, {"content": []})
    server.respond(2, {"content": []})

    single, batch = sent_by(server)
    assert single["id"] == 1
    assert [sent["id"] for sent in batch] == [2]


def test_batches_are_not_accepted_in_other_revisions() -> None:
    """Spec 2025-06-18: they are removed."""
    wrong = [
        (version, found)
        for version in [version for version in ALL_VERSIONS if version != BATCHES]
        if (found := refusal(open_server(version), [asking(version, 1, "tools/list")])) != (None, -32600)
    ]

    assert not wrong


def test_initialize_in_a_batch_is_rejected() -> None:
    """Spec 2025-03-26."""
    server = new_server()

    assert refusal(server, [rpc(1, "initialize", {"protocolVersion": BATCHES})]) == (None, -32600)
    assert refusal(open_server(BATCHES), []) == (None, -32600)


# What is no request.


@pytest.mark.parametrize("line", [b'{"jsonrpc":', b"  [1,", b"{hello}"])
def test_invalid_json_is_rejected_without_an_id(line: bytes) -> None:
    """Ours: the error leaves out the id, for the schemas allow no null."""
    sent = answer(new_server(), line)

    assert sent["error"]["code"] == -32700
    assert "id" not in sent


@pytest.mark.parametrize("line", [b"hello", b"Content-Length: 20", b"\xff\xfe"])
def test_a_line_that_is_not_json_is_discarded(line: bytes) -> None:
    """Ours, as every SDK does."""
    server = new_server()

    (event,) = give(server, line)

    assert isinstance(event, Discarded)
    assert sent_by(server) == []


def test_a_malformed_request_is_refused() -> None:
    """Spec: -32600, with the id where there is a valid one."""
    cases = [
        ({"id": 1, "method": "tools/list"}, 1),
        ({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": []}, "a"),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({}, None),
        (5, None),
        ("text", None),
    ]

    def check(message: object, request_id: object) -> None:
        for server in (new_server(), open_server(OLD)):
            assert refusal(server, message) == (request_id, -32600)

    check_rows(check, cases)


def test_a_request_with_a_repeated_member_is_refused() -> None:
    """Ours, as RFC 8259 warns: what checks a request, and what carries it out, may read different ones."""
    params = b'{"name":"read","name":"delete","arguments":{}}'
    cases = [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + params + b"}", 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}', 7),
        (b'[{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}]', None),
    ]

    def check(line: bytes, request_id: object) -> None:
        for server in (new_server(), open_server(OLD)):
            assert give(server, line) == []
            (sent,) = sent_by(server)
            assert (sent["id"] if request_id else sent.get("id"), sent["error"]["code"]) == (request_id, -32600)
            assert "is given twice" in sent["error"]["message"]

    check_rows(check, cases)
    server = new_server()
    assert give(server, b'{"a":1,"a":2}{}') == []
    assert sent_by(server)[0]["error"]["code"] == -32700
    notification = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}'
    server = open_server(OLD)
    assert [type(event) for event in give(server, notification)] == [Discarded]
    assert sent_by(server) == []


def test_neither_notifications_nor_responses_are_answered() -> None:
    """Spec, B-3: an error under an answer's id would be taken for the answer to the client's own request."""
    cases = [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": "now"},
        {"method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"jsonrpc": "2.0", "id": 1, "error": "text"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
    ]

    def check(message: dict[str, Any]) -> None:
        for server in (new_server(), open_server(OLD)):
            give(server, rpc(1, "tools/call"))
            sent_by(server)

            assert all(isinstance(event, Discarded) for event in give(server, message))
            assert sent_by(server) == []

    check_each(check, cases)


def test_a_notification_without_an_effect_is_ignored() -> None:
    """Spec, B-3: unknown notifications are ignored."""
    cases = ["notifications/initialized", "notifications/roots/list_changed", "notifications/x", "x"]

    def check(version: str, method: str) -> None:
        server = open_server(version)

        assert give(server, note(method, {"a": 1})) == []
        assert sent_by(server) == []

    check_each(check, ALL_VERSIONS, cases)


# Asking the client.

NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WHO = Question(ELICIT, {"mode": "form", "message": "Who?", "requestedSchema": NAME_FORM})
WHERE = Question(LIST_ROOTS, {})
ABLE: dict[str, Any] = {"elicitation": {}, "roots": {}}


def able_server(version: str, method: str = "tools/call", capabilities: dict[str, Any] = ABLE) -> ServerConnection:
    """A server with an open request 5 of a client that declares `capabilities`."""
    server = new_server()
    if version in STATELESS_VERSIONS:
        meta = {"io.modelcontextprotocol/clientCapabilities": capabilities}
        give(server, enveloped(5, method, {"name": "work"}, **meta))
    else:
        params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
        give(server, rpc(0, "initialize", params))
        give(server, note("notifications/initialized"))
        give(server, rpc(5, method, {"name": "work"}))
    sent_by(server)
    return server


def test_a_handshake_client_is_asked_by_server_requests() -> None:
    """Spec 2025-11-25, client features; B-1: our ids are ours, whatever the client numbers."""
    server = able_server(OLD)

    assert server.ask(5, {"who": WHO, "where": WHERE}) == {"who": 1, "where": 2}

    asked = server.take_outgoing()
    assert [one.about for one in asked] == [5, 5]
    assert [one.message for one in asked] == [rpc(1, ELICIT, WHO.params), rpc(2, LIST_ROOTS)]
    answers = [rpc_result(2, {"roots": []}), rpc_error(1, -32603, "broken", {"x": 1})]
    assert [event for one in answers for event in give(server, one)] == [
        Result(2, {"roots": []}),
        ErrorResponse(1, ELICIT, -32603, "broken", {"x": 1}),
    ]


def test_no_server_request_is_sent_before_initialized() -> None:
    """Spec 2025-11-25, LS-2: before `notifications/initialized` it need not be ready for requests; a second handshake
    begins anew.
    """
    server = able_server(OLD)
    give(server, rpc(6, "initialize", {"protocolVersion": OLD, "capabilities": {"roots": {}}, "clientInfo": CLIENT}))
    give(server, rpc(7, "tools/call", {"name": "work"}))
    sent_by(server)

    with pytest.raises(QuestionError, match="has not sent notifications/initialized"):
        server.ask(7, {"where": WHERE})
    assert sent_by(server) == []

    give(server, note("notifications/initialized"))
    assert server.ask(7, {"where": WHERE}) == {"where": 1}


@pytest.mark.parametrize("members", [{"result": "Ada"}, {}])
def test_an_invalid_response_ends_its_server_request(members: dict[str, Any]) -> None:
    """B-2: exactly one of result and error; a tool must not wait for what has come."""
    server = able_server(OLD)
    server.ask(5, {"who": WHO})

    (event,) = give(server, {"jsonrpc": "2.0", "id": 1, **members})

    assert isinstance(event, InvalidResponse)
    assert event.id == 1
    assert sent_by(server)[1:] == []


def test_a_response_with_an_unknown_id_ends_no_server_request() -> None:
    """Ours: the true answer may still come, from a person."""

    def check(stranger: object) -> None:
        server = able_server(OLD)
        server.ask(5, {"who": WHO})

        (event,) = give(server, rpc_result(stranger, {}))

        assert isinstance(event, Discarded)
        assert give(server, rpc_result(1, {"action": "decline"})) == [Result(1, {"action": "decline"})]

    check_each(check, ["1", 99, -1, 0, "no"])


def test_an_abandoned_server_request_is_cancelled() -> None:
    """Spec 2025-11-25, cancellation: either side cancels its own requests."""
    server = able_server(OLD)
    server.ask(5, {"who": WHO})
    sent_by(server)

    server.abandon(1, "no more")

    assert sent_by(server) == [note("notifications/cancelled", {"requestId": 1, "reason": "no more"})]
    assert give(server, rpc_result(1, {"action": "cancel"})) == []


def test_a_stateless_client_is_asked_by_an_input_required_result() -> None:
    """MS-7, DE-4: no request is sent; MS-8: the result has inputRequests and a requestState."""
    server = able_server(NEW)

    assert server.ask(5, {"who": WHO, "where": WHERE}) is None
    assert sent_by(server) == []
    server.require_input(5, {"who": WHO, "where": WHERE}, "sealed")

    (sent,) = sent_by(server)
    assert sent["id"] == 5
    assert sent["result"]["resultType"] == "input_required"
    assert sent["result"]["inputRequests"] == {
        "who": {"method": ELICIT, "params": WHO.params},
        "where": {"method": LIST_ROOTS},
    }
    assert sent["result"]["requestState"] == "sealed"
    assert not {"ttlMs", "cacheScope", "content"} & set(sent["result"])


@pytest.mark.parametrize("version", [NEW, OLD])
def test_an_undeclared_capability_is_reported_as_missing(version: str) -> None:
    """MS-4: -32021 with requiredCapabilities in the stateless era; the handshake era has no code for it."""
    server = able_server(version, capabilities={"roots": {}})

    with pytest.raises(MissingCapabilityError) as caught:
        server.ask(5, {"who": WHO, "where": WHERE})
    server.respond_missing(5, caught.value)

    (sent,) = sent_by(server)
    if version == NEW:
        assert sent["error"]["code"] == MISSING_CAPABILITY
        assert sent["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    else:
        assert sent["result"]["isError"] is True
        assert "elicitation.form" in sent["result"]["content"][0]["text"]


def test_a_prompt_with_a_missing_capability_is_an_error() -> None:
    """Ours: only tools have results that report a failure."""
    server = able_server(OLD, "prompts/get", {})

    server.respond_missing(5, MissingCapabilityError({"roots": {}}))

    (sent,) = sent_by(server)
    assert "roots" in sent["error"]["message"]


def test_a_server_request_that_the_revision_lacks_is_an_error() -> None:
    """Spec 2025-03-26: no elicitation, whatever the client declares."""
    server = able_server("2025-03-26")

    with pytest.raises(MissingCapabilityError, match="revision 2025-03-26"):
        server.ask(5, {"who": WHO})


@pytest.mark.parametrize("version", [NEW, OLD])
def test_a_list_cannot_require_input(version: str) -> None:
    """MS-7: input is required by tools, prompts and resources alone."""
    server = able_server(version, "tools/list")

    with pytest.raises(QuestionError, match="tools/list"):
        server.ask(5, {"who": WHO})


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_cancelled_request_requires_no_input(version: str) -> None:
    """MS-18: nothing more is sent for it."""
    server = able_server(version)
    give(server, note("notifications/cancelled", {"requestId": 5}))

    assert server.ask(5, {"who": WHO}) == {}
    server.require_input(5, {"who": WHO}, "sealed")
    server.respond_missing(5, MissingCapabilityError({"roots": {}}))

    assert sent_by(server) == []


# Tasks.


@pytest.mark.parametrize("method", sorted(TASK_METHODS))
def test_requests_about_tasks_are_served_where_the_extension_is_declared(method: str) -> None:
    """Extension, capability negotiation: in the stateless era alone."""
    params = {"taskId": "t"}
    server = open_server(NEW, extensions={"io.modelcontextprotocol/tasks": {}})
    (received,) = give(server, enveloped(5, method, params))
    assert isinstance(received, RequestReceived)
    assert (received.method, received.params["taskId"]) == (method, "t")

    for refusing in (open_server(NEW), open_server(OLD, extensions={"io.modelcontextprotocol/tasks": {}})):
        request = rpc(5, method, params) if refusing.has_tasks else enveloped(5, method, params)
        assert give(refusing, request) == []
        assert sent_by(refusing)[-1]["error"]["code"] == METHOD_NOT_FOUND


def test_a_task_is_the_result_of_a_call() -> None:
    """Extension, CreateTaskResult; the server's own `_meta` is added as to every result."""
    server = able_server(NEW)
    with pytest.raises(ValueError, match="unknown type 'task'"):
        server.respond(5, {"resultType": "task", "taskId": "t"})

    server.respond(5, {"resultType": "task", "taskId": "t"}, TASK_RESULT_TYPES)

    (sent,) = sent_by(server)
    assert sent["result"]["taskId"] == "t"
    assert set(sent["result"]) == {"resultType", "taskId", "_meta"}


def test_tasks_get_shows_input_requests_without_declared_capabilities() -> None:
    """Ours: what may be requested was decided by the capabilities of the call."""
    server = open_server(NEW, extensions={"io.modelcontextprotocol/tasks": {}})
    give(server, enveloped(5, "tasks/get", {"taskId": "t"}))
    asking = {"status": "input_required", "inputRequests": {"k": {"method": "roots/list"}}}

    server.respond(5, asking)

    assert sent_by(server)[0]["result"]["inputRequests"] == asking["inputRequests"]


def test_a_task_is_announced_to_its_subscribers() -> None:
    """Extension, notifications/tasks; of a request that is for tasks the owner decides."""
    server = open_server(NEW, extensions={"io.modelcontextprotocol/tasks": {}})
    assert server.version is None
    (received,) = give(server, enveloped(5, "subscriptions/listen", {"notifications": {"taskIds": ["t", "u"]}}))
    assert isinstance(received, RequestReceived)

    server.subscribe(received, ["t"])

    assert [server.announce_task(task, {"taskId": task}) for task in ("t", "u")] == [True, False]
    acknowledged, announced = sent_by(server)
    assert acknowledged["params"]["notifications"] == {"taskIds": ["t"]}
    assert announced["params"]["taskId"] == "t"
