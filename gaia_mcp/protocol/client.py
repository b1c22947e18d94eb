"""The client's end of a conversation, in both eras: requests, responses to a server's requests, subscriptions.

`negotiation` decides how the two agree on a version.
"""

from __future__ import annotations

import re
from typing import Any

from gaia_mcp.protocol import BATCH_VERSION, jsonrpc
from gaia_mcp.protocol.connection import Connection, Outgoing, excerpt_of
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, LOG_LEVEL_KEY, SUBSCRIPTION_KEY, meta_of, with_meta
from gaia_mcp.protocol.events import (
    Cancelled,
    ErrorResponse,
    Garbled,
    ListChanged,
    NotGranted,
    Opened,
    Peer,
    RequestContext,
    RequestReceived,
    ResourceUpdated,
    SubscriptionEnded,
)
from gaia_mcp.protocol.input_required import RESULT_TYPES, ResultTypes, type_problem
from gaia_mcp.protocol.jsonrpc import Error, Fixed, Malformed, Message, Notification, Request, RequestId, Result
from gaia_mcp.protocol.negotiation import Negotiated, Negotiation, NextRequest, Step, contradicts_itself
from gaia_mcp.protocol.revisions import server_request_problem

# A subscription that the server ends is renewed. This stops a loop with a server that ends each one at once, and lasts
# a day with one that ends each after a quarter of an hour.
MAX_WATCHES = 100
# The methods whose results have no members. Some servers answer with null or a list, in which nothing is missing.
WITHOUT_MEMBERS = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
# The beginning of a JSON object that is not empty. What Python prints of a dict begins otherwise.
_OBJECT = re.compile(rb'\{\s*"')


class ClientConnection(Connection):
    """The client's end. `probe=False` goes straight to `initialize`, for servers known to need it. `revision`, if
    given, is the only acceptable one.

    `result_types` are the values of `resultType` that this client understands, see `input_required.RESULT_TYPES`.
    """

    def __init__(
        self,
        server: str,
        *,
        info: dict[str, Any],
        capabilities: dict[str, Any],
        probe: bool = True,
        revision: str | None = None,
        result_types: ResultTypes = RESULT_TYPES,
    ) -> None:
        super().__init__()
        self._result_types = result_types
        self.peer: Peer | None = None
        self._negotiation = Negotiation(server, info, capabilities, probe=probe, revision=revision)
        self._negotiation_id: RequestId | None = None
        self._probe_ids: set[RequestId] = set()
        # The envelope of every stateless request; None before the negotiation is over, and in the handshake era.
        self._meta: Fixed | None = None
        self._listening: RequestId | None = None
        self._watched: list[str] = []
        self._is_watch_acknowledged = False
        self._watches_left = MAX_WATCHES
        # Resource URIs by the request that subscribes to them; then the requests that have been acknowledged.
        self._subscriptions: dict[RequestId, str] = {}
        self._acknowledged: set[RequestId] = set()
        self._server_requests: set[RequestId] = set()

    @property
    def is_probing(self) -> bool:
        """Whether the server has not responded yet: it may be one that exits at an unknown request."""
        return self._negotiation.is_probing

    @property
    def may_prefer_handshake(self) -> bool:
        """Whether a new connection with `probe=False` may succeed where this one does not."""
        return self._negotiation.may_prefer_handshake

    def open(self) -> None:
        """Begin the negotiation. `Opened` or `NegotiationFailed` follows."""
        self._advance(self._negotiation.begin())

    def probe_timed_out(self) -> None:
        """The server has not responded to the probe in time: send `initialize`, whose response decides."""
        if self._negotiation.is_probing and (step := self._negotiation.skip_probe()) is not None:
            assert self._negotiation_id is not None  # noqa: S101 (the probe has one)
            self.abandon(self._negotiation_id, "no response")
            self._advance(step)

    def request(self, method: str, params: dict[str, Any] | None = None, *, progress: bool = False) -> RequestId:
        """Send a request; a `Result`, `ErrorResponse` or `InvalidResponse` with this id follows. Capabilities in the
        `_meta` of `params` replace those of this client.

        `progress` requests `Progressed` events until then.
        """
        request_id = self._new_id()
        meta: dict[str, Any] | None = self._meta
        if progress:
            meta = {**(meta or {}), "progressToken": request_id}
        if meta is not None:
            if params and "_meta" in params and (own := meta_of(params).get(CAPABILITIES_KEY)) is not None:
                # The request is sent on behalf of another client, whose capabilities may differ.
                meta = {**meta, CAPABILITIES_KEY: own}
            params = with_meta(params, meta)
        self._send_request(request_id, method, params)
        return request_id

    def check_alive(self) -> RequestId:
        """Send the cheapest request that every server must respond to."""
        return self.request("ping" if self._meta is None else "server/discover")

    def want_logs(self, level: str) -> RequestId | None:
        """Request log messages of `level` and above; returns an id if that takes a request of its own."""
        if self._meta is not None:
            self._meta = Fixed({**self._meta, LOG_LEVEL_KEY: level})
        elif self.peer is not None and "logging" in self.peer.capabilities:
            return self.request("logging/setLevel", {"level": level})
        return None

    def watch_lists(self) -> None:
        """Subscribe to changes of lists, where the server declares `listChanged`."""
        if self._meta is None or self.peer is None:
            return  # Servers of the handshake era announce them without a request.
        if self._listening is not None or self._watches_left == 0:
            return
        self._watched = [
            kind
            for kind in ("tools", "prompts", "resources")
            if isinstance(declared := self.peer.capabilities.get(kind), dict) and declared.get("listChanged") is True
        ]
        if self._watched:
            self._watches_left -= 1
            self._is_watch_acknowledged = False
            wanted = {f"{kind}ListChanged": True for kind in self._watched}
            self._listening = self.request("subscriptions/listen", {"notifications": wanted})

    def subscribe(self, uri: str) -> RequestId:
        """Subscribe to a resource. A `Result` acknowledges that; `ResourceUpdated` then follows for each change."""
        if self._meta is None:
            return self.request("resources/subscribe", {"uri": uri})
        request_id = self.request("subscriptions/listen", {"notifications": {"resourceSubscriptions": [uri]}})
        self._subscriptions[request_id] = uri
        return request_id

    def unsubscribe(self, uri: str) -> RequestId | None:
        """End the subscription to a resource; returns an id if that takes a request of its own."""
        if self._meta is None:
            return self.request("resources/unsubscribe", {"uri": uri})
        # Not the unacknowledged ones: their callers still wait for the acknowledgement.
        for request_id in [known for known in self._acknowledged if self._subscriptions[known] == uri]:
            self.abandon(request_id, "no longer wanted")
        return None

    def abandon(self, request_id: RequestId, reason: str) -> None:
        self._subscriptions.pop(request_id, None)
        self._acknowledged.discard(request_id)
        super().abandon(request_id, reason)

    def respond(self, request_id: RequestId, value: dict[str, Any]) -> None:
        """Send the result of a server's request. Nothing is sent for a cancelled one."""
        self._send_response(request_id, jsonrpc.result(request_id, value))

    def respond_error(self, request_id: RequestId, code: int, text: str) -> None:
        """Send an error in response to a server's request. Nothing is sent for a cancelled one."""
        self._send_response(request_id, jsonrpc.error(request_id, code, text))

    def _send_response(self, request_id: RequestId, response: Message) -> None:
        if request_id in self._server_requests:
            self._server_requests.remove(request_id)
            self._outgoing.append(Outgoing(response))

    # Negotiation.

    def _advance(self, step: Step) -> None:
        if isinstance(step, NextRequest):
            self._negotiation_id = self._new_probe_id() if self._negotiation.is_probing else self._new_id()
            self._send_request(self._negotiation_id, step.method, step.params)
            return
        self._negotiation_id = None
        if isinstance(step, Negotiated):
            self.peer, self._meta = step
            if self._meta is None:
                self.notify("notifications/initialized")
            self._events.append(Opened(self.peer))
        else:
            self._events.append(step)

    def _new_probe_id(self) -> str:
        # A string, which no later request has as its id: a late response cannot match another request.
        probe_id = f"discover-{len(self._probe_ids) + 1}"
        self._probe_ids.add(probe_id)
        return probe_id

    # Responses.

    def _receive_response(self, method: str, response: Result | Error) -> None:
        if response.id == self._negotiation_id:
            self._advance(self._negotiation.receive(response))
        elif response.id == self._listening:
            self._stop_watching()
        elif response.id in self._subscriptions:
            self._end_subscription(method, response)
        elif isinstance(response, Result):
            self._receive_result(method, response)
        else:
            self._receive_error(method, response)

    def _end_subscription(self, method: str, response: Result | Error) -> None:
        assert response.id is not None  # noqa: S101 (looked up by it)
        if response.id in self._acknowledged:
            self._stop_subscription(response.id)
        elif isinstance(response, Result):
            self._receive_invalid_response(response.id, "ended a subscription that it had not acknowledged")
        else:
            del self._subscriptions[response.id]
            self._receive_error(method, response)

    def _receive_result(self, method: str, response: Result) -> None:
        if "resultType" not in response.result:
            self._events.append(response)
        elif self._meta is None:
            if response.result["resultType"] == "input_required" and "inputRequests" in response.result:
                # The request has not been carried out; without an error the caller would see an empty result.
                self._receive_invalid_response(response.id, "asked for input as no server of this revision does")
                return
            # Before 2026-07-28 the member has no meaning; readers of the result need not know that.
            bare = {key: value for key, value in response.result.items() if key != "resultType"}
            self._events.append(Result(response.id, bare))
        elif (problem := type_problem(method, response.result, self._result_types)) is not None:
            self._receive_invalid_response(response.id, problem)
        else:
            self._events.append(response)

    def _receive_error(self, method: str, error: Error) -> None:
        assert error.id is not None  # noqa: S101 (looked up by it)
        text = error.message
        if self.peer is not None and contradicts_itself(error, self.peer.version):
            text += f": it rejected {self.peer.version}, which it lists as supported"
        self._events.append(ErrorResponse(error.id, method, error.code, text, error.data))

    def _match_without_id(self, error: Error) -> RequestId | None:
        # Servers read in order: this is about the probe, which was sent before every pending request.
        abandoned = self._probe_ids & self._abandoned.keys()
        return abandoned.pop() if abandoned else super()._match_without_id(error)

    def _receive_invalid_response(self, request_id: RequestId, problem: str, excerpt: str = "") -> None:
        if request_id == self._negotiation_id:
            self._advance(self._negotiation.receive_invalid(problem))
        elif request_id == self._listening:
            self._stop_watching()
        elif request_id in self._acknowledged:
            self._stop_subscription(request_id)
        else:
            self._subscriptions.pop(request_id, None)
            super()._receive_invalid_response(request_id, problem, excerpt)

    def _stop_watching(self) -> None:
        """The server has ended the subscription: changes are no longer announced, so the lists must be read again."""
        self._listening = None
        if not self._is_watch_acknowledged:
            self._watches_left = 0  # It was rejected; servers respond with an error or with an empty result.
            self._events += [NotGranted(kind) for kind in self._watched]
        self._events += [ListChanged(kind) for kind in self._watched]

    def _stop_subscription(self, request_id: RequestId) -> None:
        self._acknowledged.remove(request_id)
        self._events.append(SubscriptionEnded(self._subscriptions.pop(request_id)))

    # Requests and notifications from the server.

    def _accepts_batches(self) -> bool:
        return self.peer is not None and self.peer.version == BATCH_VERSION

    def _receive_request(self, request: Request) -> None:
        if self._meta is not None:
            # In the stateless era servers send no requests, and clients no responses.
            self._discard(f"sent the request {request.method}, which servers of this revision may not send", b"")
        elif request.method == "ping":
            self._outgoing.append(Outgoing(jsonrpc.result(request.id, {})))
        else:
            version = self.peer.version if self.peer else self._negotiation.proposed
            self._server_requests.add(request.id)
            if (problem := server_request_problem(version, request.method, request.params)) is not None:
                self.respond_error(request.id, *problem)
                return
            context = RequestContext(version, {}, {}, None, None)
            self._events.append(RequestReceived(request.id, request.method, request.params, context))

    def _receive_notification(self, notification: Notification) -> None:
        if notification.method == "notifications/cancelled":
            self._receive_cancelled(notification.params)
        elif notification.method == "notifications/subscriptions/acknowledged":
            self._receive_acknowledgement(notification.params)
        elif notification.method == "notifications/resources/updated":
            self._receive_update(notification.params)

    def _receive_list_changed(self, kind: str, params: dict[str, Any]) -> None:
        subscription = meta_of(params).get(SUBSCRIPTION_KEY)
        # Some servers send no subscription id at all.
        if self._meta is None or not jsonrpc.is_id(subscription) or subscription == self._listening:
            super()._receive_list_changed(kind, params)

    def _receive_update(self, params: dict[str, Any]) -> None:
        uri, subscription = params.get("uri"), meta_of(params).get(SUBSCRIPTION_KEY)
        # An update may still arrive after its subscription ended. Some servers send no subscription id at all.
        is_known = self._meta is None or not jsonrpc.is_id(subscription) or subscription in self._subscriptions
        if isinstance(uri, str) and is_known:
            self._events.append(ResourceUpdated(uri))

    def _receive_acknowledgement(self, params: dict[str, Any]) -> None:
        request_id, granted = meta_of(params).get(SUBSCRIPTION_KEY), params.get("notifications")
        if request_id == self._listening or not jsonrpc.is_id(request_id):
            self._acknowledge_watch(granted)  # Without an id it can only be about this subscription.
            return
        if request_id not in self._subscriptions:
            return
        if request_id in self._acknowledged:
            return  # The caller has its result already; a second acknowledgement changes nothing.
        uris = granted.get("resourceSubscriptions") if isinstance(granted, dict) else None
        if isinstance(uris, list) and self._subscriptions[request_id] in uris:
            self._acknowledged.add(request_id)
            self._events.append(Result(request_id, {}))
        else:
            self.abandon(request_id, "not acknowledged")
            problem = "acknowledged a subscription without the resource that it was for"
            super()._receive_invalid_response(request_id, problem)

    def _acknowledge_watch(self, granted: Any) -> None:
        if self._listening is None or self._is_watch_acknowledged:
            return
        self._is_watch_acknowledged = True
        if isinstance(granted, dict):  # Some servers do not repeat what they grant.
            missing = [kind for kind in self._watched if granted.get(f"{kind}ListChanged") is not True]
            self._watched = [kind for kind in self._watched if kind not in missing]
            self._events += [NotGranted(kind) for kind in missing]

    def _receive_cancelled(self, params: dict[str, Any]) -> None:
        cancelled = params.get("requestId")
        if not jsonrpc.is_id(cancelled):
            return
        if cancelled == self._listening or cancelled in self._subscriptions:
            # A result may follow or not: servers interpret the specification both ways.
            self._pending.pop(cancelled, None)
            self._ignore_responses_to(cancelled)
            if cancelled == self._listening:
                self._stop_watching()
            else:
                self._receive_invalid_response(cancelled, "cancelled a subscription that it had not acknowledged")
        elif cancelled in self._server_requests:
            self._server_requests.remove(cancelled)
            self._events.append(Cancelled(cancelled, jsonrpc.as_text(params.get("reason", ""))))

    def _receive_invalid_json(self, record: bytes) -> None:
        start = record.lstrip()[:64]
        if start.startswith((b"{", b"[")) and b'"jsonrpc"' in record[:256]:
            self._fail_pending(None, "answered with a line that is not valid JSON", record)
            return
        super()._receive_invalid_json(record)
        if _OBJECT.match(start) and (request_id := self._only_pending()) is not None:
            self._events.append(Garbled(request_id, excerpt_of(record)))

    def _receive_stray_response(self, problem: str) -> None:
        # Some servers respond with an id of their own; the request would otherwise wait until its deadline.
        self._fail_pending(None, problem)

    def _receive_malformed(self, message: Malformed, record: bytes) -> None:
        if message.has_result and message.id is not None and self._pending.get(message.id) in WITHOUT_MEMBERS:
            self._match_response(Result(message.id, {}))
            return
        is_ours = message.kind == "response" and (message.id in self._pending or message.id in self._abandoned)
        if message.kind in ("request", "notification"):
            # It is not a response; its id, if it has one, is the server's own.
            super()._receive_malformed(message, record)
        elif is_ours or b'"jsonrpc"' in record[:256]:
            self._fail_pending(message.id, f"answered with an invalid JSON-RPC message: {message.problem}", record)
        else:
            super()._receive_malformed(message, record)

    def _was_sent(self, request_id: RequestId) -> bool:
        return super()._was_sent(request_id) or request_id in self._probe_ids

    def _may_lack_id(self, error: Error) -> bool:
        # During the negotiation only one request is pending, so the error must be about it.
        return self._negotiation_id is not None or super()._may_lack_id(error)
