"""How a conversation begins, seen on the client that it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.errors import LocalProtocolError, PeerError, RemoteProtocolError, VersionError
from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.events import NegotiationFailed, Opened, Peer, RequestReceived
from gaia_mcp.protocol.jsonrpc import Error, Result
from gaia_mcp.protocol.negotiation import contradicts_itself
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    SERVER_CAPABILITIES,
    SERVER_INFO,
    VERSION,
    Pair,
    check_each,
    discovered,
    give,
    initialized,
    new_client,
    new_server,
    note,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.client import ClientConnection

OLD, NEW = "2025-11-25", "2026-07-28"


def opening(*, probe: bool = True, revision: str | None = None) -> tuple[ClientConnection, Any]:
    """A client that has sent its first message, and the id of that."""
    client = new_client(probe=probe, revision=revision)
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
    assert isinstance(event, NegotiationFailed)
    return event.error


def test_a_client_sends_discover_first() -> None:
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
def test_invalid_server_metadata_is_ignored(members: dict[str, Any]) -> None:
    """Spec, MC-12: names are for display only."""
    client, probe = opening()

    assert give(client, rpc_result(probe, discovered(**members))) == [Opened(Peer(NEW, {}, {}, "", "stateless"))]


def test_any_error_to_the_probe_falls_back_to_the_handshake() -> None:
    """Spec 2026-07-28, IO-8: the fallback is never tied to one code."""
    cases = [-32601, -32602, -32600, -32603, -32700, -32000, -32001, -32020, -32021, 0, 1, 404]

    def check(code: int) -> None:
        client, probe = opening()

        assert give(client, rpc_error(probe, code, "whatever")) == []

        assert sent_by(client) == [
            rpc(1, "initialize", {"protocolVersion": OLD, "capabilities": CLIENT_CAPABILITIES, "clientInfo": CLIENT})
        ]

    check_each(check, cases)


def test_an_error_without_an_id_answers_the_probe() -> None:
    """Ours: nothing else was sent, so it can be about nothing else."""

    def check(code: int, request_id: object) -> None:
        client, _ = opening()

        assert give(client, rpc_error(request_id, code)) == []
        assert proposal(client) == (1, OLD)

    check_each(check, [-32601, -32000, -32700], [..., None])


def test_a_rejected_version_without_a_list_falls_back_to_the_handshake() -> None:
    """Spec 2026-07-28: only -32022 with `data.supported` is a modern error."""
    cases = [None, {}, "2025-11-25", {"supported": None}, {"supported": "2025-11-25"}, ["2025-11-25"]]

    def check(data: object) -> None:
        client, probe = opening()

        give(client, rpc_error(probe, -32022, "no", data))

        assert proposal(client) == (1, OLD)

    check_each(check, cases)


def test_an_invalid_discover_result_falls_back_to_the_handshake() -> None:
    """Spec 2026-07-28, MC-2: an invalid result means an older server."""
    cases = [
        {},
        {"tools": []},
        {"supportedVersions": "2026-07-28"},
        {"supportedVersions": []},
        discovered(resultType="task"),
        discovered(resultType="input_required"),
    ]

    def check(answer: dict[str, Any]) -> None:
        client, probe = opening()

        assert give(client, rpc_result(probe, answer)) == []
        assert proposal(client) == (1, OLD)

    check_each(check, cases)


def test_a_discover_result_without_a_stateless_version_falls_back_to_the_handshake() -> None:
    """Spec 2026-07-28 and the official SDKs: it advertises the handshake era."""
    cases = [["2025-11-25"], ["2024-11-05", "2025-03-26"], ["2027-01-01"], [5, None]]

    def check(versions: list[object]) -> None:
        client, probe = opening()

        give(client, rpc_result(probe, discovered(supportedVersions=versions)))

        assert proposal(client) == (1, OLD)

    check_each(check, cases)


def test_an_invalid_response_falls_back_to_the_handshake() -> None:
    """Spec 2026-07-28: an older server may do anything with what it does not know."""
    cases = [
        b'{"jsonrpc":"2.0","id":"discover-1","result":null}',
        b'{"jsonrpc":"2.0","id":"discover-1","result":"hello"}',
        b'{"jsonrpc":"2.0","id":"discover-1","error":"Unknown method"}',
        b'{"jsonrpc":"2.0","id":"discover-1"}',
        b'{"jsonrpc":"2.0","id":"discover-1","result":{',
        b'{"jsonrpc":"2.0","id":0,"result":{}}',
        b'{"id":"discover-1","error":{"code":-32601,"message":"no"}}',
    ]

    def check(line: bytes) -> None:
        client, _ = opening()

        assert give(client, line) == []
        assert proposal(client) == (1, OLD)

    check_each(check, cases)


def test_a_rejected_version_is_retried_with_a_mutual_version() -> None:
    """Spec 2026-07-28, MC-3 and IO-8: no initialize after a modern error with a usable version."""
    client, probe = opening()

    assert give(client, refused_version(probe, NEW, OLD)) == []

    (again,) = sent_by(client)
    assert (again["id"], again["method"]) == ("discover-2", "server/discover")
    assert again["params"]["_meta"][VERSION] == NEW
    assert isinstance(give(client, rpc_result("discover-2", discovered()))[0], Opened)


def test_a_version_rejected_twice_is_an_error() -> None:
    """Ours: a server that contradicts itself must not keep the client in a loop."""
    client, probe = opening()
    give(client, refused_version(probe, NEW))
    (again,) = sent_by(client)

    error = failure(give(client, refused_version(again["id"], NEW)))

    assert isinstance(error, RemoteProtocolError)
    assert str(error) == f"server 'peer' rejected {NEW}, which it lists as supported"
    assert sent_by(client) == []


def test_a_version_rejected_twice_falls_back_to_a_listed_handshake_version() -> None:
    """Ours: it is the only version left to try."""
    client, probe = opening()
    give(client, refused_version(probe, NEW, "2025-06-18"))
    (again,) = sent_by(client)

    give(client, refused_version(again["id"], NEW, "2025-06-18"))

    assert proposal(client) == (1, "2025-06-18")


@pytest.mark.parametrize(("listed", "proposed"), [(["2025-11-25", "2024-11-05"], OLD), (["2025-03-26"], "2025-03-26")])
def test_a_rejection_that_lists_only_handshake_versions_falls_back_to_the_newest(
    listed: list[str], proposed: str
) -> None:
    """The official SDKs: such a list advertises the handshake era."""
    client, probe = opening()

    give(client, refused_version(probe, *listed))

    assert proposal(client) == (1, proposed)


@pytest.mark.parametrize("listed", [["2027-01-01"], [], ["2027-01-01", "2028-01-01"]])
def test_a_rejection_without_a_mutual_version_is_an_error(listed: list[str]) -> None:
    """Spec 2026-07-28, MC-3: the error has both lists."""
    client, probe = opening()

    error = failure(give(client, refused_version(probe, *listed)))

    assert isinstance(error, VersionError)
    assert error.theirs == tuple(listed)
    assert error.ours == ALL_VERSIONS
    assert sent_by(client) == []
    assert not client.is_probing


def test_invalid_entries_in_a_list_of_versions_are_ignored() -> None:
    """Ours: one entry of another type must not hide the versions beside it."""
    client, probe = opening()

    give(client, rpc_error(probe, -32022, "no", {"supported": [None, {"a": 1}, "2025-06-18"]}))

    assert proposal(client) == (1, "2025-06-18")


def test_a_handshake_rejected_with_a_stateless_version_is_followed_by_discover() -> None:
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


def test_a_rejected_handshake_is_retried_with_the_newest_listed_version() -> None:
    """Ours: the rejected version itself is not proposed again."""
    client, handshake = opening(probe=False)

    give(client, refused_version(handshake, OLD, "2025-03-26", "2025-06-18"))

    assert proposal(client) == (2, "2025-06-18")


def test_a_handshake_rejected_without_a_mutual_version_is_an_error() -> None:
    """Spec 2026-07-28, MC-3."""
    client, handshake = opening(probe=False)

    error = failure(give(client, refused_version(handshake, "2027-01-01")))

    assert isinstance(error, VersionError)
    assert error.theirs == ("2027-01-01",)


def test_a_handshake_rejected_with_its_own_version_is_a_remote_protocol_error() -> None:
    """Spec 2026-07-28, MC-3: the user gets the contradiction; the two lists of versions would show no difference."""
    client, handshake = opening(probe=False)

    error = failure(give(client, refused_version(handshake, "2027-01-01", OLD)))

    assert isinstance(error, RemoteProtocolError)
    assert str(error) == f"server 'peer' rejected {OLD}, which it lists as supported"


def test_a_version_that_is_rejected_and_listed_is_a_contradiction() -> None:
    """Spec 2026-07-28, MC-3."""
    cases = [
        (-32022, {"supported": [OLD, NEW]}, True),
        (-32022, {"supported": [OLD]}, False),
        (-32022, None, False),
        (-32602, {"supported": [NEW]}, False),
    ]

    wrong = [
        (code, data, contradicts, found)
        for code, data, contradicts in cases
        if (found := contradicts_itself(Error(1, code, "no", data), NEW)) is not contradicts
    ]

    assert not wrong


def test_a_server_that_rejects_each_era_with_a_version_of_the_other_is_an_error() -> None:
    """Ours: each version is the one that it has rejected before."""
    client, handshake = opening(probe=False)
    give(client, refused_version(handshake, NEW))
    (probe,) = sent_by(client)
    give(client, refused_version(probe["id"], OLD))
    again, version = proposal(client)

    error = failure(give(client, refused_version(again, OLD)))

    assert version == OLD
    assert isinstance(error, RemoteProtocolError)
    assert OLD in str(error)


def test_without_a_probe_initialize_is_sent_first() -> None:
    """Ours: for servers known to exit on an unknown request."""
    client, _ = opening(probe=False)

    assert not client.is_probing
    (event,) = give(client, rpc_result(1, initialized()))
    assert isinstance(event, Opened)


def test_the_version_of_the_initialize_result_is_used() -> None:
    """Spec, LC-1 and LS-1: then, and only then, `initialized` is sent."""

    def check(version: str) -> None:
        client, handshake = opening(probe=False)

        (event,) = give(client, rpc_result(handshake, initialized(version, instructions="Be kind.")))

        assert event == Opened(
            Peer(version, {"name": "peer", "version": "3"}, SERVER_CAPABILITIES, "Be kind.", "handshake")
        )
        assert sent_by(client) == [note("notifications/initialized")]

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_missing_version_means_the_proposed_one() -> None:
    """Ours: some servers leave it out and work."""
    client, handshake = opening(probe=False)
    answer = initialized()
    del answer["protocolVersion"]

    (event,) = give(client, rpc_result(handshake, answer))

    assert isinstance(event, Opened)
    assert event.peer.version == OLD


def test_an_unknown_version_in_the_initialize_result_is_an_error() -> None:
    """Spec, LC-2; the user sees both lists."""
    cases = ["2024-10-07", "2027-01-01", NEW, "1.0", "", 5, None, ["2025-11-25"]]

    def check(version: Any) -> None:
        client, handshake = opening(probe=False)

        error = failure(give(client, rpc_result(handshake, initialized(version))))

        assert isinstance(error, VersionError)
        assert error.theirs == (str(version),)
        assert error.ours == HANDSHAKE_VERSIONS
        assert sent_by(client) == []

    check_each(check, cases)


@pytest.mark.parametrize("code", [-32602, -32600])
def test_a_rejected_handshake_is_retried_with_every_older_version(code: int) -> None:
    """Ours: servers should propose another version, but some reject a newer one."""
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
def test_a_rejected_handshake_is_retried_with_the_version_named_in_the_error(text: str, data: object) -> None:
    """Ours: the newest that is older than what was refused."""
    client, handshake = opening(probe=False)

    give(client, rpc_error(handshake, -32602, text, data))

    assert proposal(client) == (2, "2025-03-26")


def test_a_deeply_nested_rejection_is_read() -> None:
    """Ours: `receive` never raises; the version is searched in the message and in the list, whatever else is there."""
    for depth in range(900, 1000):
        client, handshake = opening(probe=False)
        answer = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"2024-11-05","data":%s}}'

        give(client, answer % (handshake, b"[" * depth + b"]" * depth))

        # An error that is nested too deeply to be parsed is an invalid response instead.
        assert client._negotiation.proposed in ("2024-11-05", OLD)


def test_an_older_proposal_has_the_members_of_its_revision() -> None:
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
def test_any_other_error_to_initialize_is_reported(request_id: object) -> None:
    """Ours: with the server's own words."""
    client, _ = opening(probe=False)

    error = failure(give(client, rpc_error(request_id, -32603, "database down", {"d": 1})))

    assert isinstance(error, PeerError)
    assert (error.code, error.text, error.data, error.asked) == (-32603, "database down", {"d": 1}, "initialize")
    assert error.server == "peer"


def test_an_invalid_initialize_response_is_an_error() -> None:
    """Ours: no other message is pending, so waiting would only end with the timeout."""
    client, _ = opening(probe=False)

    error = failure(give(client, b'{"jsonrpc":"2.0","id":1,"result":null}'))

    assert isinstance(error, RemoteProtocolError)
    assert "initialize" in error.message


def test_our_client_and_our_server_negotiate_every_revision() -> None:
    """Ours: both ends, every revision, also one byte at a time."""

    def check(version: str, bit_by_bit: bool) -> None:
        client, server = new_client(probe=version in STATELESS_VERSIONS), new_server()
        client._negotiation.proposed = version if version in HANDSHAKE_VERSIONS else OLD
        pair = Pair(client, server, bit_by_bit=bit_by_bit)

        peer = pair.open()

        assert (peer.version, peer.instructions, peer.info["name"]) == (version, "Be kind.", "test-server")
        request_id = client.request("tools/call", {"name": "echo"}, progress=True)
        pair.settle()
        (asked,) = pair.server_events
        assert isinstance(asked, RequestReceived)
        assert (asked.id, asked.context.version) == (request_id, version)
        server.report_progress(asked.id, 1, 2, "half")
        server.respond(asked.id, {"content": [{"type": "text", "text": "ü\n"}]})
        pair.settle()
        progressed, answered = pair.client_events
        assert progressed[:3] == (request_id, 1, 2)
        assert isinstance(answered, Result)
        assert answered.result["content"] == [{"type": "text", "text": "ü\n"}]

    check_each(check, ALL_VERSIONS, [False, True])


def test_a_fixed_revision_of_the_handshake_era_is_proposed_at_once() -> None:
    """IO-10, ours: an entry may fix its revision; the server is not probed then."""

    def check(version: str) -> None:
        client = new_client(revision=version)
        client.open()

        request_id, proposed = proposal(client)
        (event,) = give(client, rpc_result(request_id, initialized(version)))

        assert (proposed, client.may_prefer_handshake) == (version, False)
        assert isinstance(event, Opened)

    check_each(check, HANDSHAKE_VERSIONS)


@pytest.mark.parametrize("listed", [(), (NEW,), ("2025-06-18",)])
def test_a_fixed_revision_is_not_renegotiated(listed: tuple[str, ...]) -> None:
    """IO-10, ours: the error names both sides."""
    client, handshake = opening(revision=OLD)

    answer = refused_version(handshake, *listed) if listed else rpc_result(handshake, initialized("2024-11-05"))
    error = failure(give(client, answer))

    assert isinstance(error, VersionError)
    assert (error.theirs, error.ours) == (listed or ("2024-11-05",), (OLD,))


def test_a_rejected_fixed_revision_is_an_error() -> None:
    """IO-10, ours: no older one is proposed."""
    client, handshake = opening(revision=OLD)

    error = failure(give(client, rpc_error(handshake, -32602, "Unsupported protocol version")))

    assert isinstance(error, PeerError)
    assert (error.asked, error.code) == ("initialize", -32602)


def test_a_fixed_stateless_revision_never_leads_to_initialize() -> None:
    """IO-10, ours: the entry has ruled out the other era."""
    wrong: list[tuple[Any, type[Exception]]] = [
        (rpc_error("discover-1", -32601), PeerError),
        (rpc_result("discover-1", discovered(supportedVersions=[OLD])), VersionError),
        (refused_version("discover-1", OLD), VersionError),
        ({"jsonrpc": "2.0", "id": "discover-1", "result": 5}, RemoteProtocolError),
    ]
    for answer, kind in wrong:
        client, _ = opening(revision=NEW, probe=False)
        assert (client.is_probing, client.may_prefer_handshake) == (True, False)

        client.probe_timed_out()
        assert (sent_by(client), client.is_probing) == ([], True)
        assert isinstance(failure(give(client, answer)), kind)

    client, _ = opening(revision=NEW)
    (event,) = give(client, rpc_result("discover-1", discovered()))
    assert isinstance(event, Opened)


def test_the_handshake_may_be_preferred_after_any_probe() -> None:
    """IO-10: whatever the response to the probe was."""
    assert not opening(probe=False)[0].may_prefer_handshake
    client, probe = opening()
    assert client.may_prefer_handshake

    give(client, rpc_error(probe, -32601))

    assert client.may_prefer_handshake
