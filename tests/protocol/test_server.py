"""The server's end: both eras on one pipe, and what is said to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.envelope import TASK_METHODS
from gaia_mcp.protocol.events import Cancelled, Discarded, ErrorResponse, InvalidResponse, RequestReceived
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND, MISSING_CAPABILITY, RESOURCE_NOT_FOUND, Result
from gaia_mcp.protocol.questions import ELICIT, LIST_ROOTS, MissingCapabilityError, Question, QuestionError
from gaia_mcp.protocol.server import Description
from gaia_mcp.protocol.tasks import TASK_RESULT_TYPES
from gaia_mcp.protocol.versions import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_INFO,
    LOG_LEVEL,
    SERVER,
    SERVER_INFO,
    SUBSCRIPTION,
    VERSION,
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
handshake_versions = pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
every_version = pytest.mark.parametrize("version", ALL_VERSIONS)
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


def refusal(server: ServerConnection, message: object) -> tuple[object, int]:
    """Id and code of the error with which a message is answered at once."""
    sent = answer(server, message)
    assert set(sent) <= {"jsonrpc", "id", "error"}
    assert isinstance(sent["error"]["message"], str)
    return sent.get("id"), sent["error"]["code"]


# Opening.


def test_discover_is_answered_with_what_the_server_is() -> None:
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


@handshake_versions
def test_initialize_is_answered_in_the_version_that_was_proposed(version: str) -> None:
    """Spec, LS-1, with what that revision knows of a server."""
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


@pytest.mark.parametrize("version", [NEW, "2027-01-01", "2024-10-07", "", "nonsense"])
def test_initialize_in_any_other_version_is_answered_with_our_newest(version: str) -> None:
    """Spec, LS-1: a counter-offer, never the stateless revision."""
    sent = answer(new_server(), rpc(1, "initialize", {"protocolVersion": version}))

    assert sent["result"]["protocolVersion"] == OLD


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"protocolVersion": 5},
        {"protocolVersion": OLD, "capabilities": []},
        {"protocolVersion": OLD, "clientInfo": "me"},
    ],
)
def test_initialize_that_makes_no_sense_is_refused_and_can_be_repeated(params: dict[str, Any] | None) -> None:
    """Ours: a rejected opening changes nothing."""
    server = new_server()

    assert refusal(server, rpc(1, "initialize", params)) == (1, -32602)
    assert refusal(server, rpc(1, "tools/list")) == (1, -32602)
    assert "result" in answer(server, rpc(1, "initialize", {"protocolVersion": OLD}))


def test_a_server_without_instructions_says_nothing_of_them() -> None:
    """Spec: the member is optional."""
    server = new_server()
    server.description = Description(SERVER, {"tools": {}})

    assert "instructions" not in answer(server, enveloped(1, "server/discover"))["result"]
    assert "instructions" not in answer(server, rpc(1, "initialize", {"protocolVersion": OLD}))["result"]


def test_a_server_without_a_name_sends_no_empty_one() -> None:
    """Spec 2026-07-28, MS-5: only a SHOULD."""
    server = new_server()
    server.description = Description({}, {"tools": {}})

    assert "_meta" not in answer(server, enveloped(1, "server/discover"))["result"]


def test_the_description_may_change_between_two_requests() -> None:
    """Ours: a slow agent is described before it has loaded."""
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


def test_a_stateless_request_tells_nothing_about_the_next() -> None:
    """Spec 2026-07-28, MS-6."""
    server = new_server()
    meta = {CAPABILITIES: {"roots": {}}, CLIENT_INFO: CLIENT, LOG_LEVEL: "info", "progressToken": 1}
    give(server, enveloped(1, "tools/list", **meta))

    (asked,) = give(server, enveloped(2, "tools/list"))

    assert isinstance(asked, RequestReceived)
    assert asked.context == (NEW, {}, {}, None, None)
    assert refusal(server, rpc(3, "tools/list")) == (3, -32602)


@pytest.mark.parametrize("method", ["nonsense", "logging/setLevel", "resources/subscribe", "tasks/get", ""])
def test_an_unknown_method_before_everything_is_refused_and_the_server_lives_on(method: str) -> None:
    """Ours, DE-3: clients probe with what we may not know."""
    server = new_server()

    assert refusal(server, rpc(1, method)) == (1, -32601)
    assert "result" in answer(server, rpc(2, "initialize", {"protocolVersion": OLD}))


@pytest.mark.parametrize("method", [*METHODS, "server/discover", "subscriptions/listen"])
@pytest.mark.parametrize("params", [None, {}, {"_meta": {CAPABILITIES: {}}}])
def test_a_known_method_without_version_or_handshake_is_told_what_is_missing(
    method: str, params: dict[str, Any] | None
) -> None:
    """Spec 2026-07-28, MS-2."""
    assert refusal(new_server(), rpc("x", method, params)) == ("x", -32602)


@pytest.mark.parametrize(
    "meta",
    [
        {VERSION: NEW},
        {VERSION: 5, CAPABILITIES: {}},
        {VERSION: NEW, CAPABILITIES: []},
        {VERSION: NEW, CAPABILITIES: {}, CLIENT_INFO: "me"},
        {VERSION: NEW, CAPABILITIES: {}, LOG_LEVEL: "loud"},
        {VERSION: "2027-01-01"},
    ],
)
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "nonsense"])
def test_an_envelope_with_a_fault_is_refused_first_of_all(method: str, meta: dict[str, Any]) -> None:
    """Spec 2026-07-28, MS-2 and MS-14: before version and method are looked at."""
    assert refusal(new_server(), rpc(1, method, {"_meta": meta})) == (1, -32602)


@pytest.mark.parametrize("version", ["2027-01-01", "", *HANDSHAKE_VERSIONS])
@pytest.mark.parametrize("method", ["server/discover", "tools/list", "nonsense"])
def test_an_envelope_of_another_version_is_refused_with_the_versions_of_discover(method: str, version: str) -> None:
    """Spec 2026-07-28, MS-3: `supported` and `requested`, before the method is looked at. A version of the handshake
    would be refused in an envelope too.
    """
    server = new_server()
    discovered = answer(server, enveloped(0, "server/discover"))["result"]

    sent = answer(server, enveloped(1, method, **{VERSION: version}))

    assert sent["error"]["code"] == -32022
    assert sent["error"]["data"] == {"supported": discovered["supportedVersions"], "requested": version}


def test_an_invalid_result_is_not_sent_and_its_request_stays_open() -> None:
    """Spec 2026-07-28, MS-5: the owner answers with an error instead."""
    server = new_server()
    give(server, enveloped(1, "tools/call"))

    with pytest.raises(ValueError, match="unknown type 'partial'"):
        server.respond(1, {"resultType": "partial", "content": []})

    assert sent_by(server) == []
    server.respond(1, {"content": []})
    assert sent_by(server)[0]["result"]["content"] == []


def test_input_that_the_client_cannot_give_is_not_asked_for() -> None:
    """Spec 2026-07-28, MS-4 and MS-8: the error names the capabilities that the client would have to declare."""
    server = new_server()
    give(server, enveloped(1, "tools/call", **{CAPABILITIES: {"sampling": {}}}))
    asked = {"q": {"method": "elicitation/create", "params": {}}, "s": {"method": "sampling/createMessage"}}

    server.respond(1, {"resultType": "input_required", "inputRequests": asked})

    (sent,) = sent_by(server)
    assert (sent["id"], sent["error"]["code"]) == (1, -32021)
    assert sent["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# Requests.


@every_version
@pytest.mark.parametrize("method", METHODS)
def test_a_feature_is_asked_of_the_owner(version: str, method: str) -> None:
    """Ours: the connection knows the methods, the owner knows the answers."""
    server = open_server(version)

    (asked,) = give(server, asking(version, 7, method, {"name": "x"}))

    assert isinstance(asked, RequestReceived)
    assert (asked.id, asked.method, asked.params["name"], asked.context.version) == (7, method, "x", version)
    assert sent_by(server) == []


@every_version
@pytest.mark.parametrize("method", METHODS)
def test_a_feature_whose_capability_is_absent_does_not_exist(version: str, method: str) -> None:
    """Spec: -32601."""
    server = open_server(version)
    server.description = Description(SERVER, {"logging": {}})

    assert refusal(server, asking(version, 7, method)) == (7, -32601)


@every_version
@pytest.mark.parametrize("method", ["nonsense", "resources/subscribe", "roots/list", ""])
def test_an_unknown_method_does_not_exist(version: str, method: str) -> None:
    """Spec: -32601."""
    assert refusal(open_server(version), asking(version, "a", method)) == ("a", -32601)


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel", "resources/unsubscribe"])
def test_what_belongs_to_the_handshake_does_not_exist_in_the_stateless_era(method: str) -> None:
    """Spec 2026-07-28: these methods are gone."""
    assert refusal(open_server(OLD), enveloped(1, method, {"level": "info", "protocolVersion": OLD})) == (1, -32601)


@handshake_versions
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_what_belongs_to_the_stateless_era_does_not_exist_after_a_handshake(version: str, method: str) -> None:
    """Spec: the earlier revisions know nothing of it."""
    assert refusal(open_server(version), rpc(1, method, {"notifications": {}})) == (1, -32601)


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


@every_version
@pytest.mark.parametrize("request_id", [0, -1, 1, "1", "", "ü", 2**70])
def test_ids_go_back_exactly_as_they_came(version: str, request_id: object) -> None:
    """Spec, B-2: also the type."""
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


@every_version
def test_a_number_and_the_same_number_as_text_are_two_ids(version: str) -> None:
    """Spec, B-1."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call"))
    give(server, asking(version, "1", "tools/call"))
    server.respond("1", {"content": [], "isError": True})
    server.respond(1, {"content": [], "isError": False})

    assert [(sent["id"], sent["result"]["isError"]) for sent in sent_by(server)] == [("1", True), (1, False)]


@every_version
def test_an_id_that_is_in_use_is_refused_and_can_be_used_again_later(version: str) -> None:
    """Spec, B-1: unique among the open requests."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call"))

    assert refusal(server, asking(version, 1, "tools/call")) == (1, -32600)

    server.respond(1, {"content": []})
    assert [sent["id"] for sent in sent_by(server)] == [1]
    (asked,) = give(server, asking(version, 1, "tools/call"))
    assert isinstance(asked, RequestReceived)


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


@every_version
def test_nothing_is_sent_for_a_cancelled_request(version: str) -> None:
    """Spec, MS-18."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call", progressToken="t", **{LOG_LEVEL: "debug"}))

    assert give(server, note("notifications/cancelled", {"requestId": 1, "reason": "^C"})) == [Cancelled(1, "^C")]

    server.report_progress(1, 1, None, "")
    server.log(1, "emergency", "x", "l")
    server.respond(1, {"content": []})
    server.respond_error(1, -32603, "no")
    assert sent_by(server) == []


@every_version
@pytest.mark.parametrize(
    "params", [None, {}, {"requestId": 99}, {"requestId": "1"}, {"requestId": True}, {"requestId": []}]
)
def test_a_cancellation_of_nothing_is_ignored(version: str, params: dict[str, Any] | None) -> None:
    """Spec, B-9."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call"))

    assert give(server, note("notifications/cancelled", params)) == []
    server.respond(1, {"content": []})
    assert len(sent_by(server)) == 1


def test_a_cancellation_that_comes_too_late_is_ignored() -> None:
    """Spec, B-9: races are tolerated."""
    server = open_server(OLD)
    give(server, rpc(1, "tools/call"))
    server.respond(1, {"content": []})

    assert give(server, note("notifications/cancelled", {"requestId": 1})) == []


@every_version
def test_a_channel_can_cancel_a_request_too(version: str) -> None:
    """Spec 2026-07-28, HTTP: closing a request's own stream cancels it."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call"))

    server.cancel(1)
    server.cancel(1)
    server.cancel(99)

    assert server.take_events() == [Cancelled(1, "")]
    server.respond(1, {"content": []})
    assert sent_by(server) == []


@every_version
def test_an_invalid_result_leaves_the_request_open(version: str) -> None:
    """Ours: the caller can still answer with an error."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call"))

    with pytest.raises((AttributeError, TypeError, ValueError)):
        server.respond(1, "text")  # type: ignore[arg-type]
    server.respond_error(1, -32603, "invalid result")

    assert [message["error"]["code"] for message in sent_by(server)] == [-32603]


# Progress and log.


@every_version
def test_progress_is_sent_under_the_clients_token_while_it_grows(version: str) -> None:
    """Spec, B-7; the message came with 2025-03-26."""
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


def test_the_next_request_of_the_same_id_begins_at_its_own_beginning() -> None:
    """Ours: nothing is kept of what is over, be it answered or cancelled."""
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


@every_version
@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"progressToken": 1.5}])
def test_no_progress_is_sent_without_a_token(version: str, meta: dict[str, Any]) -> None:
    """Spec, B-7."""
    server = open_server(version)
    give(server, asking(version, 1, "tools/call", **meta))
    server.report_progress(1, 1, None, "")

    assert sent_by(server) == []


@pytest.mark.parametrize(
    ("wanted", "sent"), [("debug", ["debug", "info", "error"]), ("info", ["info", "error"]), ("emergency", [])]
)
def test_a_stateless_request_gets_the_log_from_its_own_level_up(wanted: str, sent: list[str]) -> None:
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


@handshake_versions
def test_the_handshake_era_sets_one_level_for_everything(version: str) -> None:
    """Spec: `logging/setLevel`; also for requests that run already."""
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


@pytest.mark.parametrize("params", [None, {"level": "loud"}, {"level": 3}, {"level": ["info"]}])
def test_an_unknown_log_level_is_refused(params: dict[str, Any] | None) -> None:
    """Spec: -32602."""
    assert refusal(open_server(OLD), rpc(1, "logging/setLevel", params)) == (1, -32602)


@every_version
def test_a_server_without_logging_sends_none_and_lets_none_be_set(version: str) -> None:
    """Spec: emitting needs the capability."""
    server = open_server(version)
    server.description = Description(SERVER, {"tools": {}})
    give(server, asking(version, 1, "tools/call", **{LOG_LEVEL: "debug"}))
    server.log(1, "emergency", "x", "db")

    assert sent_by(server) == []
    assert refusal(server, asking(version, 2, "logging/setLevel", {"level": "info"})) == (2, -32601)


def test_there_is_no_log_message_about_a_request_that_is_not_open() -> None:
    """Spec 2026-07-28: log messages belong to a request."""
    server = open_server(OLD)
    server.log("never", "emergency", "x", "db")
    server.report_progress("never", 1, None, "")

    assert sent_by(server) == []


# Changed lists and subscriptions.


def test_changes_are_announced_to_subscribers_until_the_end() -> None:
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


def test_a_refused_subscription_is_an_error() -> None:
    """Spec 2026-07-28: the filter is required."""
    assert refusal(new_server(), enveloped(1, "subscriptions/listen")) == (1, -32602)


def test_a_handshake_client_subscribes_where_that_is_declared() -> None:
    """Spec 2025-11-25: `resources/subscribe` needs `resources.subscribe`."""
    server = open_server(OLD, resources={"subscribe": True})

    assert answer(server, rpc(1, "resources/subscribe", {"uri": "file:///a"})) == rpc_result(1, {})
    server.announce_resource_updated("file:///a")
    assert sent_by(server) == [note("notifications/resources/updated", {"uri": "file:///a"})]
    assert refusal(server, rpc(2, "resources/subscribe", {"uri": 7})) == (2, -32602)
    assert refusal(open_server(OLD), rpc(3, "resources/subscribe", {"uri": "file:///a"})) == (3, -32601)


# Batches.


def test_a_batch_is_answered_by_one_batch_when_all_is_done() -> None:
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


def test_a_batch_that_is_answered_at_once_is_one_batch() -> None:
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


def test_a_batch_of_rubbish_is_refused_as_one() -> None:
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


def test_the_last_of_a_batch_may_be_cancelled() -> None:
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


def test_an_id_in_use_outside_a_batch_keeps_its_own_answer() -> None:
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


@pytest.mark.parametrize("version", [version for version in ALL_VERSIONS if version != BATCHES])
def test_no_other_revision_has_batches(version: str) -> None:
    """Spec 2025-06-18: they are removed."""
    assert refusal(open_server(version), [asking(version, 1, "tools/list")]) == (None, -32600)


def test_initialize_does_not_come_in_a_batch() -> None:
    """Spec 2025-03-26."""
    server = new_server()

    assert refusal(server, [rpc(1, "initialize", {"protocolVersion": BATCHES})]) == (None, -32600)
    assert refusal(open_server(BATCHES), []) == (None, -32600)


# What is no request.


@pytest.mark.parametrize("line", [b'{"jsonrpc":', b"  [1,", b"{hello}"])
def test_what_begins_like_a_message_and_is_invalid_is_refused(line: bytes) -> None:
    """Ours: the error leaves out the id, for the schemas allow no null."""
    sent = answer(new_server(), line)

    assert sent["error"]["code"] == -32700
    assert "id" not in sent


@pytest.mark.parametrize("line", [b"hello", b"Content-Length: 20", b"\xff\xfe"])
def test_chatter_on_stdin_is_passed_over(line: bytes) -> None:
    """Ours, as every SDK does."""
    server = new_server()

    (event,) = give(server, line)

    assert isinstance(event, Discarded)
    assert sent_by(server) == []


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
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
    ],
)
def test_a_malformed_request_is_refused(message: object, request_id: object) -> None:
    """Spec: -32600, with the id where there is a valid one."""
    for server in (new_server(), open_server(OLD)):
        assert refusal(server, message) == (request_id, -32600)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": "now"},
        {"method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"jsonrpc": "2.0", "id": 1, "error": "text"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
    ],
)
def test_neither_notifications_nor_answers_are_answered(message: dict[str, Any]) -> None:
    """Spec, B-3: an error under an answer's id would be taken for the answer to the client's own request."""
    for server in (new_server(), open_server(OLD)):
        give(server, rpc(1, "tools/call"))
        sent_by(server)

        assert all(isinstance(event, Discarded) for event in give(server, message))
        assert sent_by(server) == []


@every_version
@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/roots/list_changed", "notifications/x", "x"]
)
def test_any_other_notification_is_ignored(version: str, method: str) -> None:
    """Spec, B-3: unknown notifications are ignored."""
    server = open_server(version)

    assert give(server, note(method, {"a": 1})) == []
    assert sent_by(server) == []


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


def test_a_handshake_client_is_asked_by_requests_about_its_own() -> None:
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


def test_a_client_is_not_asked_before_it_has_ended_the_handshake() -> None:
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
def test_an_answer_that_is_not_a_response_ends_its_question(members: dict[str, Any]) -> None:
    """B-2: exactly one of result and error; a tool must not wait for what has come."""
    server = able_server(OLD)
    server.ask(5, {"who": WHO})

    (event,) = give(server, {"jsonrpc": "2.0", "id": 1, **members})

    assert isinstance(event, InvalidResponse)
    assert event.id == 1
    assert sent_by(server)[1:] == []


@pytest.mark.parametrize("stranger", ["1", 99, -1, 0, "no"])
def test_an_answer_to_what_was_never_asked_ends_no_question(stranger: object) -> None:
    """Ours: the true answer may still come, from a person."""
    server = able_server(OLD)
    server.ask(5, {"who": WHO})

    (event,) = give(server, rpc_result(stranger, {}))

    assert isinstance(event, Discarded)
    assert give(server, rpc_result(1, {"action": "decline"})) == [Result(1, {"action": "decline"})]


def test_a_question_that_needs_no_answer_any_more_is_cancelled() -> None:
    """Spec 2025-11-25, cancellation: either side cancels its own requests."""
    server = able_server(OLD)
    server.ask(5, {"who": WHO})
    sent_by(server)

    server.abandon(1, "no more")

    assert sent_by(server) == [note("notifications/cancelled", {"requestId": 1, "reason": "no more"})]
    assert give(server, rpc_result(1, {"action": "cancel"})) == []


def test_a_stateless_client_is_asked_by_the_result() -> None:
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
def test_what_a_client_does_not_declare_is_not_asked_for(version: str) -> None:
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


def test_a_prompt_that_cannot_ask_an_older_client_is_an_error() -> None:
    """Ours: only tools have results that report a failure."""
    server = able_server(OLD, "prompts/get", {})

    server.respond_missing(5, MissingCapabilityError({"roots": {}}))

    (sent,) = sent_by(server)
    assert "roots" in sent["error"]["message"]


def test_a_question_that_a_revision_does_not_have_is_told_as_such() -> None:
    """Spec 2025-03-26: no elicitation, whatever the client declares."""
    server = able_server("2025-03-26")

    with pytest.raises(MissingCapabilityError, match="revision 2025-03-26"):
        server.ask(5, {"who": WHO})


@pytest.mark.parametrize("version", [NEW, OLD])
def test_a_list_cannot_ask(version: str) -> None:
    """MS-7: input is required by tools, prompts and resources alone."""
    server = able_server(version, "tools/list")

    with pytest.raises(QuestionError, match="tools/list"):
        server.ask(5, {"who": WHO})


@pytest.mark.parametrize("version", [OLD, NEW])
def test_nothing_is_asked_for_a_request_that_was_cancelled(version: str) -> None:
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


def test_the_state_of_a_task_may_show_requests_to_a_client_that_declares_nothing_else() -> None:
    """Ours: what may be asked was decided by what the call declared."""
    server = open_server(NEW, extensions={"io.modelcontextprotocol/tasks": {}})
    give(server, enveloped(5, "tasks/get", {"taskId": "t"}))
    asking = {"status": "input_required", "inputRequests": {"k": {"method": "roots/list"}}}

    server.respond(5, asking)

    assert sent_by(server)[0]["result"]["inputRequests"] == asking["inputRequests"]


def test_a_task_is_announced_to_those_that_have_subscribed_to_it() -> None:
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
