"""The client's end: opening in both eras, asking, and what servers do of their own accord."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.errors import LocalProtocolError, PeerError, RemoteProtocolError, VersionError
from gaia_mcp.protocol.events import (
    Answered,
    Asked,
    Broken,
    Cancelled,
    Notified,
    Opened,
    OpeningFailed,
    Peer,
    Refused,
    Strayed,
)
from gaia_mcp.protocol.versions import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    SERVER_CAPABILITIES,
    SERVER_INFO,
    VERSION,
    Pair,
    discovered,
    give,
    initialized,
    new_client,
    new_server,
    note,
    open_client,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.client import ClientConnection

OLD, NEW = "2025-11-25", "2026-07-28"
handshake_versions = pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
every_version = pytest.mark.parametrize("version", ALL_VERSIONS)


def opening(*, probe: bool = True) -> tuple[ClientConnection, Any]:
    """A client that has sent its first message, and the id of that."""
    client = new_client(probe=probe)
    client.open()
    (first,) = sent_by(client)
    return client, first["id"]


def proposal(client: ClientConnection) -> tuple[Any, str]:
    """Id and version of the `initialize` that the client has just sent."""
    (sent,) = sent_by(client)
    assert sent["method"] == "initialize"
    return sent["id"], sent["params"]["protocolVersion"]


def refused_version(request_id: object, *supported: str) -> dict[str, Any]:
    return rpc_error(request_id, -32022, "Unsupported protocol version", {"supported": list(supported)})


def failure(events: list[Any]) -> Any:
    (event,) = events
    assert isinstance(event, OpeningFailed)
    return event.error


# Opening.


def test_a_client_asks_discover_before_anything_else() -> None:
    """Spec 2026-07-28, IO-8: the probe comes first, with the newest version and the whole envelope."""
    client = new_client()
    assert sent_by(client) == []
    client.open()

    assert sent_by(client) == [
        rpc(
            "discover-1",
            "server/discover",
            {"_meta": {VERSION: NEW, CLIENT_INFO: CLIENT, CAPABILITIES: CLIENT_CAPABILITIES}},
        )
    ]
    assert client.is_probing
    assert client.peer is None


def test_a_client_opens_only_once() -> None:
    """Ours: a second start needs a second pipe."""
    client, _ = opening()

    with pytest.raises(LocalProtocolError):
        client.open()


def test_the_stage_says_what_is_waited_for() -> None:
    """Ours: for the message when time runs out."""
    client, probe = opening()
    assert "server/discover" in client.stage
    give(client, rpc_error(probe, -32601))
    assert "initialize" in client.stage
    assert not client.is_probing
    assert open_client(NEW).stage == "open"


def test_a_discover_result_opens_the_stateless_era() -> None:
    """Spec 2026-07-28: nothing else is sent before the first real request."""
    client, probe = opening()

    events = give(client, rpc_result(probe, discovered(instructions="Be kind.")))

    peer = Peer(NEW, {"name": "peer", "version": "3"}, SERVER_CAPABILITIES, "Be kind.", "stateless")
    assert events == [Opened(peer)]
    assert client.peer == peer
    assert sent_by(client) == []


@pytest.mark.parametrize(
    "members",
    [
        {"_meta": None, "capabilities": None, "instructions": None},
        {"_meta": "text", "capabilities": [], "instructions": 5},
        {"_meta": {SERVER_INFO: "text"}, "capabilities": "all", "instructions": {}},
    ],
)
def test_a_server_that_describes_itself_badly_is_still_spoken_to(members: dict[str, Any]) -> None:
    """Ours: names are for display only."""
    client, probe = opening()

    assert give(client, rpc_result(probe, discovered(**members))) == [Opened(Peer(NEW, {}, {}, "", "stateless"))]


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32020, -32021, 0, 1, 404])
def test_any_error_to_the_probe_falls_back_to_the_handshake(code: int) -> None:
    """Spec 2026-07-28, IO-8: the fallback is never tied to one code."""
    client, probe = opening()

    assert give(client, rpc_error(probe, code, "whatever")) == []

    assert sent_by(client) == [
        rpc(1, "initialize", {"protocolVersion": OLD, "capabilities": CLIENT_CAPABILITIES, "clientInfo": CLIENT})
    ]


@pytest.mark.parametrize("code", [-32601, -32000, -32700])
@pytest.mark.parametrize("request_id", [..., None])
def test_an_error_without_an_id_answers_the_probe(code: int, request_id: object) -> None:
    """Ours: nothing else was sent, so it can be about nothing else."""
    client, _ = opening()

    assert give(client, rpc_error(request_id, code)) == []
    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize(
    "data", [None, {}, "2025-11-25", {"supported": None}, {"supported": "2025-11-25"}, ["2025-11-25"]]
)
def test_a_refused_version_without_a_list_falls_back_to_the_handshake(data: object) -> None:
    """Spec 2026-07-28: only -32022 with `data.supported` is a modern error."""
    client, probe = opening()

    give(client, rpc_error(probe, -32022, "no", data))

    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize("answer", [{}, {"tools": []}, {"supportedVersions": "2026-07-28"}, {"supportedVersions": []}])
def test_a_result_that_is_no_discover_result_falls_back_to_the_handshake(answer: dict[str, Any]) -> None:
    """Spec 2026-07-28: an unparsable result means an older server."""
    client, probe = opening()

    assert give(client, rpc_result(probe, answer)) == []
    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize("versions", [["2025-11-25"], ["2024-11-05", "2025-03-26"], ["2027-01-01"], [5, None]])
def test_a_discover_result_without_a_stateless_version_falls_back_to_the_handshake(versions: list[object]) -> None:
    """Spec 2026-07-28 and the official SDKs: it advertises the handshake era."""
    client, probe = opening()

    give(client, rpc_result(probe, discovered(supportedVersions=versions)))

    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"discover-1","result":null}',
        b'{"jsonrpc":"2.0","id":"discover-1","result":"hello"}',
        b'{"jsonrpc":"2.0","id":"discover-1","error":"Unknown method"}',
        b'{"jsonrpc":"2.0","id":"discover-1"}',
        b'{"jsonrpc":"2.0","id":"discover-1","result":{',
        b'{"jsonrpc":"2.0","id":0,"result":{}}',
        b'{"id":"discover-1","error":{"code":-32601,"message":"no"}}',
    ],
)
def test_an_answer_that_is_none_falls_back_to_the_handshake(line: bytes) -> None:
    """Spec 2026-07-28: an older server may do anything with what it does not know."""
    client, _ = opening()

    assert give(client, line) == []
    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize(
    "line", [b"Starting...", b'{"level":"info"}', b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}']
)
def test_noise_is_no_answer_to_the_probe(line: bytes) -> None:
    """Spec, IO-9: a banner says nothing about the era."""
    client, probe = opening()

    give(client, line)

    assert client.is_probing
    assert sent_by(client) == []
    assert isinstance(give(client, rpc_result(probe, discovered()))[0], Opened)


def test_a_refused_version_is_asked_again_with_one_that_both_know() -> None:
    """Spec 2026-07-28, MC-3 and IO-8: no initialize after a modern error with a usable version."""
    client, probe = opening()

    assert give(client, refused_version(probe, NEW, OLD)) == []

    (again,) = sent_by(client)
    assert (again["id"], again["method"]) == ("discover-2", "server/discover")
    assert again["params"]["_meta"][VERSION] == NEW
    assert isinstance(give(client, rpc_result("discover-2", discovered()))[0], Opened)


def test_a_version_refused_twice_is_not_asked_a_third_time() -> None:
    """Ours: a server that goes in circles must not take us along."""
    client, probe = opening()
    give(client, refused_version(probe, NEW))
    (again,) = sent_by(client)

    error = failure(give(client, refused_version(again["id"], NEW)))

    assert isinstance(error, VersionError)
    assert error.theirs == (NEW,)
    assert sent_by(client) == []


def test_a_version_refused_twice_falls_back_when_the_handshake_is_offered() -> None:
    """Ours: the one way that is left."""
    client, probe = opening()
    give(client, refused_version(probe, NEW, "2025-06-18"))
    (again,) = sent_by(client)

    give(client, refused_version(again["id"], NEW, "2025-06-18"))

    assert proposal(client) == (1, "2025-06-18")


@pytest.mark.parametrize(("listed", "proposed"), [(["2025-11-25", "2024-11-05"], OLD), (["2025-03-26"], "2025-03-26")])
def test_a_refusal_that_lists_only_handshake_versions_falls_back_to_the_best_of_them(
    listed: list[str], proposed: str
) -> None:
    """The official SDKs: such a list advertises the handshake era."""
    client, probe = opening()

    give(client, refused_version(probe, *listed))

    assert proposal(client) == (1, proposed)


@pytest.mark.parametrize("listed", [["2027-01-01"], [], ["2027-01-01", "2028-01-01"]])
def test_a_refusal_that_lists_nothing_that_we_know_is_the_end(listed: list[str]) -> None:
    """Spec 2026-07-28, MC-3: the user is told both lists."""
    client, probe = opening()

    error = failure(give(client, refused_version(probe, *listed)))

    assert isinstance(error, VersionError)
    assert error.theirs == tuple(listed)
    assert error.ours == ALL_VERSIONS
    assert sent_by(client) == []
    assert client.stage == "failed"


def test_a_list_of_versions_may_hold_rubbish() -> None:
    """Ours."""
    client, probe = opening()

    give(client, rpc_error(probe, -32022, "no", {"supported": [None, {"a": 1}, "2025-06-18"]}))

    assert proposal(client) == (1, "2025-06-18")


def test_silence_falls_back_on_the_same_pipe_without_cancelling() -> None:
    """Spec, IO-10: the probe is harmless; a cancellation would be one more thing that the server does not know."""
    client, _ = opening()

    client.probe_timed_out()

    assert proposal(client) == (1, OLD)


@pytest.mark.parametrize(
    "late",
    [
        rpc_result("discover-1", discovered()),
        rpc_result("discover-1", {}),
        rpc_result("discover-1", None),
        rpc_error("discover-1", -32601),
        rpc_error("discover-1", -32022, "no", {"supported": [NEW]}),
        rpc_error(None, -32601),
        rpc_error(..., -32600),
    ],
)
def test_the_probes_late_answer_changes_nothing(late: dict[str, Any]) -> None:
    """Spec, IO-10: once initialize was sent, its reply decides."""
    client, _ = opening()
    client.probe_timed_out()
    handshake, _ = proposal(client)

    assert give(client, late) == []
    assert sent_by(client) == []

    (event,) = give(client, rpc_result(handshake, initialized()))
    assert isinstance(event, Opened)
    assert event.peer.era == "handshake"


def test_the_probes_late_answer_may_come_when_all_is_open() -> None:
    """Spec, IO-10."""
    client, _ = opening()
    client.probe_timed_out()
    handshake, _ = proposal(client)
    give(client, rpc_result(handshake, initialized()))
    request_id = client.request("tools/list")

    assert give(client, rpc_error("discover-1", -32601)) == []
    assert give(client, rpc_result(request_id, {})) == [Answered(request_id, {})]


def test_a_second_answer_to_the_probe_does_not_harm_the_handshake() -> None:
    """Ours: some servers answer twice."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    handshake, _ = proposal(client)

    (event,) = give(client, rpc_error(probe, -32601))

    assert isinstance(event, Strayed)
    assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)


@pytest.mark.parametrize("prepare", ["nothing", "answered", "initializing", "open"])
def test_the_probes_time_can_only_run_out_while_it_is_waited_for(prepare: str) -> None:
    """Ours: a timer that fires too late does no harm."""
    client = new_client() if prepare == "nothing" else opening(probe=prepare != "initializing")[0]
    if prepare == "answered":
        give(client, rpc_error("discover-1", -32601))
    elif prepare == "open":
        give(client, rpc_result("discover-1", discovered()))
    sent_by(client)

    client.probe_timed_out()

    assert sent_by(client) == []


def test_a_handshake_that_is_refused_as_too_old_leads_back_to_discover() -> None:
    """Spec, IO-10: the slow server had taken the probe, so it is a stateless one."""
    client, _ = opening()
    client.probe_timed_out()
    handshake, _ = proposal(client)

    assert give(client, refused_version(handshake, NEW)) == []

    (again,) = sent_by(client)
    assert (again["id"], again["method"]) == ("discover-2", "server/discover")
    assert client.is_probing
    (event,) = give(client, rpc_result("discover-2", discovered()))
    assert isinstance(event, Opened)
    assert event.peer.era == "stateless"
    client.request("tools/list")
    assert VERSION in sent_by(client)[0]["params"]["_meta"]


def test_a_handshake_refused_with_older_handshake_versions_is_tried_with_the_best_of_them() -> None:
    """Ours: the list names a way; the version that was refused is not proposed again."""
    client, handshake = opening(probe=False)

    give(client, refused_version(handshake, OLD, "2025-03-26", "2025-06-18"))

    assert proposal(client) == (2, "2025-06-18")


def test_a_handshake_refused_without_a_mutual_version_is_the_end() -> None:
    """Spec 2026-07-28, MC-3."""
    client, handshake = opening(probe=False)

    error = failure(give(client, refused_version(handshake, "2027-01-01", OLD)))

    assert isinstance(error, VersionError)
    assert error.theirs == ("2027-01-01", OLD)


def test_without_a_probe_the_handshake_comes_first() -> None:
    """Ours: for servers known to end on an unknown request."""
    client, _ = opening(probe=False)

    assert not client.is_probing
    (event,) = give(client, rpc_result(1, initialized()))
    assert isinstance(event, Opened)


@handshake_versions
def test_the_version_that_the_server_answers_is_spoken(version: str) -> None:
    """Spec, LC-1 and LS-1: then, and only then, `initialized` is sent."""
    client, handshake = opening(probe=False)

    (event,) = give(client, rpc_result(handshake, initialized(version, instructions="Be kind.")))

    assert event == Opened(
        Peer(version, {"name": "peer", "version": "3"}, SERVER_CAPABILITIES, "Be kind.", "handshake")
    )
    assert sent_by(client) == [note("notifications/initialized")]


def test_a_missing_version_means_the_one_that_was_proposed() -> None:
    """Ours: some servers leave it out and work."""
    client, handshake = opening(probe=False)
    answer = initialized()
    del answer["protocolVersion"]

    (event,) = give(client, rpc_result(handshake, answer))

    assert isinstance(event, Opened)
    assert event.peer.version == OLD


@pytest.mark.parametrize("version", ["2024-10-07", "2027-01-01", NEW, "1.0", "", 5, None, ["2025-11-25"]])
def test_an_unknown_version_in_the_answer_is_the_end(version: Any) -> None:
    """Spec, LC-2; the user sees both lists."""
    client, handshake = opening(probe=False)

    error = failure(give(client, rpc_result(handshake, initialized(version))))

    assert isinstance(error, VersionError)
    assert error.theirs == (str(version),)
    assert error.ours == HANDSHAKE_VERSIONS
    assert sent_by(client) == []


@pytest.mark.parametrize("code", [-32602, -32600])
def test_a_refused_handshake_is_tried_with_every_older_version(code: int) -> None:
    """Ours: servers ought to counter-offer, but some refuse what is newer than they are."""
    client, handshake = opening(probe=False)
    proposed = [OLD]
    for _ in range(3):
        assert give(client, rpc_error(handshake, code, "Unsupported protocol version")) == []
        handshake, version = proposal(client)
        proposed.append(version)

    assert proposed == list(HANDSHAKE_VERSIONS)
    error = failure(give(client, rpc_error(handshake, code, "Unsupported protocol version")))
    assert isinstance(error, PeerError)
    assert error.code == code


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("Unsupported protocol version 2025-11-25, supported: 2024-11-05, 2025-03-26", None),
        ("bad version", {"supported": ["2024-11-05", "2025-03-26"]}),
        ("2027-01-01 or 2025-03-26", "2025-11-25"),
    ],
)
def test_a_refused_handshake_is_tried_with_the_version_that_the_refusal_names(text: str, data: object) -> None:
    """Ours: the newest that is older than what was refused."""
    client, handshake = opening(probe=False)

    give(client, rpc_error(handshake, -32602, text, data))

    assert proposal(client) == (2, "2025-03-26")


def test_an_older_proposal_speaks_as_that_revision_does() -> None:
    """Spec: title came with 2025-06-18, and so did elicitation."""
    client, handshake = opening(probe=False)
    give(client, rpc_error(handshake, -32602, "speak 2025-03-26"))

    (sent,) = sent_by(client)

    assert sent["params"] == {
        "protocolVersion": "2025-03-26",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "test-client", "version": "1.0"},
    }


@pytest.mark.parametrize("request_id", [1, ..., None])
def test_any_other_refusal_of_the_handshake_is_the_end(request_id: object) -> None:
    """Ours: with the server's own words."""
    client, _ = opening(probe=False)

    error = failure(give(client, rpc_error(request_id, -32603, "database down", {"d": 1})))

    assert isinstance(error, PeerError)
    assert (error.code, error.text, error.data, error.asked) == (-32603, "database down", {"d": 1}, "initialize")
    assert error.server == "peer"


def test_a_handshake_answered_with_no_answer_is_the_end() -> None:
    """Ours."""
    client, _ = opening(probe=False)

    error = failure(give(client, b'{"jsonrpc":"2.0","id":1,"result":null}'))

    assert isinstance(error, RemoteProtocolError)
    assert "initialize" in error.message


def test_what_comes_after_a_failed_opening_opens_nothing() -> None:
    """Ours: the owner has been told once."""
    client, handshake = opening(probe=False)
    give(client, rpc_error(handshake, -32603))

    for late in (rpc_result(handshake, initialized()), rpc_error(handshake, -32602)):
        assert [type(event) for event in give(client, late)] == [Strayed]
    assert sent_by(client) == []
    assert client.peer is None


@every_version
@pytest.mark.parametrize("bit_by_bit", [False, True])
def test_a_client_and_a_server_of_ours_agree(version: str, bit_by_bit: bool) -> None:
    """Ours: both ends, every revision, also one byte at a time."""
    client, server = new_client(probe=version in STATELESS_VERSIONS), new_server()
    client._proposed = version if version in HANDSHAKE_VERSIONS else OLD
    pair = Pair(client, server, bit_by_bit=bit_by_bit)

    peer = pair.open()

    assert (peer.version, peer.instructions, peer.info["name"]) == (version, "Be kind.", "test-server")
    request_id = client.request("tools/call", {"name": "echo"}, progress=True)
    pair.settle()
    (asked,) = pair.server_events
    assert isinstance(asked, Asked)
    assert (asked.id, asked.caller.version) == (request_id, version)
    server.report_progress(asked.id, 1, 2, "half")
    server.respond(asked.id, {"content": [{"type": "text", "text": "ü\n"}]})
    pair.settle()
    progressed, answered = pair.client_events
    assert progressed[:3] == (request_id, 1, 2)
    assert isinstance(answered, Answered)
    assert answered.result["content"] == [{"type": "text", "text": "ü\n"}]


@pytest.mark.parametrize("first", [rpc_error(1, 5), rpc("p", "ping"), {"jsonrpc": "2.0", "id": 7}])
def test_what_arrives_before_anything_was_sent_opens_nothing(first: dict[str, Any]) -> None:
    """Ours: a server that talks too early."""
    client = new_client()
    give(client, first)

    assert client.peer is None
    client.open()
    assert sent_by(client)[-1]["method"] == "server/discover"


# Asking.


def test_every_stateless_request_carries_the_envelope() -> None:
    """Spec 2026-07-28, MC-1."""
    client = open_client(NEW)
    client.request("tools/list")
    client.request("tools/call", {"name": "echo", "_meta": {"com.example/own": 1}}, progress=True)
    client.check_alive()
    client.watch_lists()

    for sent in sent_by(client):
        meta = sent["params"]["_meta"]
        assert meta[VERSION] == NEW
        assert meta[CLIENT_INFO] == CLIENT
        assert meta[CAPABILITIES] == CLIENT_CAPABILITIES


@handshake_versions
def test_no_request_of_the_handshake_era_carries_an_envelope(version: str) -> None:
    """Spec: version, capabilities and identity belong to the conversation."""
    client = open_client(version)
    client.request("tools/list")
    client.request("tools/call", {"name": "echo"})
    client.check_alive()
    client.want_logs("info")

    bare, *rest = sent_by(client)
    assert bare == rpc(2, "tools/list")
    for sent in rest:
        assert "_meta" not in sent.get("params", {})


def test_no_envelope_is_left_over_from_the_probe() -> None:
    """Ours: falling back leaves the stateless era altogether."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    give(client, rpc_result(proposal(client)[0], initialized()))
    sent_by(client)
    client.request("tools/list")

    assert "params" not in sent_by(client)[0]


@every_version
def test_a_request_for_progress_carries_its_own_id_as_token(version: str) -> None:
    """Spec, B-7: unique among active requests. The caller's own `_meta` stays."""
    client = open_client(version)
    request_id = client.request("tools/call", {"name": "x", "_meta": {"com.example/own": 1}}, progress=True)
    client.request("tools/call", {"name": "x"})

    with_progress, without = sent_by(client)
    assert with_progress["params"]["_meta"]["progressToken"] == request_id
    assert with_progress["params"]["_meta"]["com.example/own"] == 1
    assert "progressToken" not in without["params"].get("_meta", {})


def test_the_callers_parameters_are_left_as_they_were() -> None:
    """Ours: the next round sends them again."""
    params: dict[str, Any] = {"name": "echo", "_meta": {"a": 1}}
    open_client(NEW).request("tools/call", params, progress=True)

    assert params == {"name": "echo", "_meta": {"a": 1}}


@pytest.mark.parametrize(("version", "method"), [(OLD, "ping"), ("2024-11-05", "ping"), (NEW, "server/discover")])
def test_a_server_is_asked_whether_it_is_there_with_what_it_must_answer(version: str, method: str) -> None:
    """Spec: ping is gone in 2026-07-28, and discover is the one method that every server has."""
    client = open_client(version)
    request_id = client.check_alive()

    assert [(sent["id"], sent["method"]) for sent in sent_by(client)] == [(request_id, method)]
    assert give(client, rpc_result(request_id, {})) == [Answered(request_id, {})]


def test_logs_are_wanted_in_every_stateless_request() -> None:
    """Spec 2026-07-28: the level is part of the envelope."""
    client = open_client(NEW)
    client.request("tools/list")

    assert client.want_logs("warning") is None
    client.request("tools/list")

    before, after = sent_by(client)
    assert LOG_LEVEL not in before["params"]["_meta"]
    assert after["params"]["_meta"][LOG_LEVEL] == "warning"


@handshake_versions
def test_logs_are_wanted_once_in_the_handshake_era(version: str) -> None:
    """Spec: `logging/setLevel`, for the whole conversation."""
    client = open_client(version)
    request_id = client.want_logs("warning")

    assert sent_by(client) == [rpc(request_id, "logging/setLevel", {"level": "warning"})]
    assert give(client, rpc_error(request_id, -32601)) == [
        Refused(request_id, "logging/setLevel", -32601, "no", None)  # type: ignore[arg-type]
    ]


def test_logs_are_not_wanted_of_a_server_that_has_none() -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    client = open_client(OLD, capabilities={"tools": {}})

    assert client.want_logs("warning") is None
    assert sent_by(client) == []
    assert new_client().want_logs("warning") is None


def test_lists_are_watched_as_far_as_the_server_announces_them() -> None:
    """Spec 2026-07-28: `subscriptions/listen`."""
    client = open_client(
        NEW,
        capabilities={
            "tools": {"listChanged": True},
            "prompts": {"listChanged": "yes"},
            "resources": {"listChanged": True, "subscribe": True},
        },
    )

    client.watch_lists()
    client.watch_lists()

    (sent,) = sent_by(client)
    assert sent["method"] == "subscriptions/listen"
    assert sent["params"]["notifications"] == {"toolsListChanged": True, "resourcesListChanged": True}
    ack = note("notifications/subscriptions/acknowledged", {"notifications": {}})
    assert give(client, ack) == [Notified(ack["method"], ack["params"])]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_lists_are_not_watched_where_there_is_nothing_to_watch(version: str) -> None:
    """Spec: the handshake era announces unasked; a server without listChanged never does."""
    client = open_client(version, capabilities={"tools": {}, "prompts": "yes"})
    client.watch_lists()
    new = new_client()
    new.watch_lists()

    assert sent_by(client) == []
    assert sent_by(new) == []


@pytest.mark.parametrize("ending", ["result", "error", "broken", "cancelled", "cancelled, then result"])
def test_a_watch_that_the_server_ended_can_begin_again(ending: str) -> None:
    """Spec 2026-07-28: ended by a result or by a cancellation, for the specification says both."""
    client = open_client(NEW)
    client.watch_lists()
    (sent,) = sent_by(client)
    listening = sent["id"]

    cancelled = note("notifications/cancelled", {"requestId": listening})
    events = {
        "result": lambda: give(client, rpc_result(listening, {"resultType": "complete"})),
        "error": lambda: give(client, rpc_error(listening, -32601)),
        "broken": lambda: give(client, rpc_result(listening, None)),
        "cancelled": lambda: give(client, cancelled),
        "cancelled, then result": lambda: give(client, cancelled) + give(client, rpc_result(listening, {})),
    }[ending]()

    assert [event for event in events if not isinstance(event, Broken)] == []
    request_id = client.request("tools/list")
    assert give(client, rpc_result(request_id, {})) == [Answered(request_id, {})]
    sent_by(client)
    client.watch_lists()
    (again,) = sent_by(client)
    assert again["id"] not in (listening, request_id)


def test_the_handshake_is_never_cancelled() -> None:
    """Spec, LC-5."""
    for probe in (False, True):
        client, request_id = opening(probe=probe)
        client.abandon(request_id, "no longer wanted")
        assert sent_by(client) == []


# What the server asks.


@handshake_versions
def test_a_ping_is_answered_at_any_time(version: str) -> None:
    """Spec, LC-4: also before the answer to initialize, also while the era is not known."""
    for client in (opening()[0], opening(probe=False)[0], open_client(version)):
        assert give(client, rpc("p", "ping")) == []
        assert sent_by(client) == [rpc_result("p", {})]


@handshake_versions
def test_a_servers_question_is_handed_on_and_answered_once(version: str) -> None:
    """Spec: in the handshake era servers ask; the id goes back as it came."""
    client = open_client(version)

    (asked,) = give(client, rpc("1", "roots/list", {"a": 1}))

    assert isinstance(asked, Asked)
    assert (asked.id, asked.method, asked.params) == ("1", "roots/list", {"a": 1})
    assert asked.caller.version == version
    client.respond("1", {"roots": []})
    client.respond("1", {"roots": []})
    client.refuse("1", -32603, "again")
    assert sent_by(client) == [rpc_result("1", {"roots": []})]


def test_a_servers_question_can_be_refused() -> None:
    """Spec, LC-10: what we do not know gets an error, or the server's tool would hang."""
    client = open_client(OLD)
    give(client, rpc(7, "sampling/createMessage", {}))
    client.refuse(7, -32601, "Method not found")
    client.refuse(7, -32601, "Method not found")

    assert sent_by(client) == [rpc_error(7, -32601, "Method not found")]


def test_a_question_before_the_answer_to_initialize_is_handed_on_too() -> None:
    """Ours: the version is the one that was proposed."""
    (asked,) = give(opening(probe=False)[0], rpc(7, "roots/list"))

    assert isinstance(asked, Asked)
    assert asked.caller.version == OLD


def test_a_batch_of_questions_is_answered_where_the_revision_has_batches() -> None:
    """Spec 2025-03-26: a batch may hold requests too."""
    client = open_client("2025-03-26")

    (asked,) = give(client, [rpc("p", "ping"), rpc(7, "roots/list")])

    assert isinstance(asked, Asked)
    client.respond(asked.id, {"roots": []})
    assert sent_by(client) == [rpc_result("p", {}), rpc_result(7, {"roots": []})]


@pytest.mark.parametrize(
    "line",
    [
        b"Server listening on stdio",
        b"{not json}",
        b'{"level":"info","id":1,"msg":"started"}',
        b'{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":[]}',
    ],
)
def test_neither_noise_nor_a_broken_question_ends_the_handshake(line: bytes) -> None:
    """Ours: none of these answers anything."""
    client, handshake = opening(probe=False)

    (event,) = give(client, line)

    assert isinstance(event, Strayed)
    assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)


def test_nothing_but_the_codes_for_it_lacks_an_id_once_all_is_open() -> None:
    """Ours: a server that refuses `initialized` must not fail the first real request."""
    client = open_client(OLD)
    request_id = client.request("tools/list")

    assert isinstance(give(client, rpc_error(None, -32601))[0], Strayed)
    assert isinstance(give(client, rpc_error(None, -32600))[0], Refused)
    assert give(client, rpc_result(request_id, {})) != []


@pytest.mark.parametrize("method", ["roots/list", "elicitation/create", "ping"])
def test_a_stateless_servers_question_is_passed_over(method: str) -> None:
    """Spec 2026-07-28, IO-4: servers write no requests and clients write no responses."""
    client = open_client(NEW)

    (event,) = give(client, rpc(1, method))

    assert isinstance(event, Strayed)
    assert method in event.problem
    assert sent_by(client) == []
    client.respond(1, {})
    assert sent_by(client) == []


def test_a_question_that_was_withdrawn_is_not_answered() -> None:
    """Spec, cancellation: either side may cancel what it asked."""
    client = open_client(OLD)
    give(client, rpc(7, "elicitation/create", {}))
    assert give(client, note("notifications/cancelled", {"requestId": 7, "reason": "too late"})) == [
        Cancelled(7, "too late")
    ]

    client.respond(7, {"action": "decline"})

    assert sent_by(client) == []


@every_version
@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": 99}, {"requestId": True}, {"requestId": []}])
def test_a_cancellation_of_nothing_is_ignored(version: str, params: dict[str, Any]) -> None:
    """Spec, B-9; our own requests are not the server's to cancel."""
    client = open_client(version)
    client.watch_lists()
    request_id = client.request("tools/list")
    give(client, rpc(1, "roots/list"))

    assert give(client, note("notifications/cancelled", params)) == []
    assert give(client, note("notifications/cancelled", {"requestId": request_id})) == []
    assert give(client, rpc_result(request_id, {})) == [Answered(request_id, {})]
