"""The sessions of several clients of a gateway, over a server in this process that has an instance for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.jsonrpc import Request
from gaia_mcp.protocol.subscriptions import Subscriptions
from tests.fleet.gateway.conftest import caller
from tests.fleet.gateway.offering import offering
from tests.waiting import wait_until

if TYPE_CHECKING:
    from gaia_mcp.fleet.gateway.provider import GatewayProvider
    from gaia_mcp.server.provider import Change
    from tests.fleet.gateway.conftest import MakeGateway

URI = "note://a"
UPDATED = jsonrpc.notification("notifications/resources/updated", {"uri": URI})


class Client:
    """A session of a client, which can be asked for its folders if it `has_roots`, and the changes that it is told."""

    def __init__(self, gate: GatewayProvider, session: str | None, *, has_roots: bool = True) -> None:
        self.subscriptions = Subscriptions()
        self.subscriptions.session = session
        self.changes: list[Change] = []
        self.end = gate.on_change(self.changes.append, self.subscriptions)
        self._gate = gate
        self._call = caller(session) if has_roots else caller(session, {})

    def request(self, method: str, **params: Any) -> None:
        """Send a request, also one that is answered by the front."""
        if method.startswith("resources/"):
            self.subscriptions.begin(Request(1, method, params), {})
        else:
            self._gate.answer(method, params, self._call)

    def has_heard_of(self, what: str) -> bool:
        """Whether it was told that this resource, or this list, has changed."""
        return any(what in (*change.uris, *change.lists) for change in self.changes)


def test_a_change_at_the_instance_of_a_session_reaches_that_session_only(gateway: MakeGateway) -> None:
    """Ours: what a server keeps for a client is not shown to another. The instance ends with the session."""
    with offering("touch") as server:
        server.accepted.add(URI)
        server.notifications = [UPDATED, jsonrpc.notification("notifications/tools/list_changed", None)]
        gate = gateway({"max_instances": 4, "settle_seconds": 60.0}, one=server.entry)
        ada, bob = Client(gate, "ada"), Client(gate, "bob")
        for client in (ada, bob):
            client.request("tools/list")
        ada.request("resources/subscribe", uri=URI)
        # Of a session that has ended, or has no listener yet.
        gate.answer("tools/call", {"name": "touch"}, caller("carol"))
        ada.request("tools/call", name="touch")
        wait_until(lambda: ada.has_heard_of(URI) and ada.has_heard_of("tools"))
        assert not bob.has_heard_of(URI)
        assert not bob.has_heard_of("tools")

        ada.end()
        wait_until(lambda: "DELETE" in server.web.methods())
        bob.request("tools/call", name="touch")
        wait_until(lambda: bob.has_heard_of("tools"))


def test_clients_that_cannot_be_asked_share_a_subscription(gateway: MakeGateway) -> None:
    """Ours: they share an instance. A subscription that no server accepts is silent."""
    with offering("touch") as server:
        server.accepted.add(URI)
        server.notifications = [UPDATED]
        gate = gateway({"max_instances": 4, "settle_seconds": 60.0}, one=server.entry)
        clients = [Client(gate, session, has_roots=False) for session in ("ada", "bob", None)]
        for client in clients:
            client.request("resources/subscribe", uri=URI)
        clients[0].request("resources/subscribe", uri="note://refused")
        clients[0].request("tools/call", name="touch")
        wait_until(lambda: all(client.has_heard_of(URI) for client in clients))

    messages = [asked.message for asked in server.web.asked]
    subscribed = [each["params"]["uri"] for each in messages if each.get("method") == "resources/subscribe"]
    assert subscribed.count(URI) == 1
    assert "note://refused" in subscribed
