"""The subscriptions of one client, in both eras: to lists, to resources by URI, and to tasks; and its notifications.

Does not know the server's resources: a subscription is to a URI, whether or not the resource exists (yet). The
specification leaves the meaning of a URI to the server, and rejects an unknown one only when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY
from gaia_mcp.protocol.jsonrpc import Request, RequestId

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import RequestReceived

# The open subscriptions of one client; the official SDK's limit.
MAX_SUBSCRIPTIONS = 1024
# The URIs in all of them together, and the characters of each: some megabytes at most.
MAX_URIS = 4096
MAX_URI_CHARS = 2048

# The subscription request of the stateless era.
LISTEN = "subscriptions/listen"
# The requests of the handshake era that begin and end a subscription to a resource.
SUBSCRIBING = ("resources/subscribe", "resources/unsubscribe")
_LISTS = ("tools", "prompts", "resources")
# A subscriber: the id of a `subscriptions/listen` request, None for the client of a handshake.
_Subscriber = RequestId | None


class SubscriptionError(Exception):
    """The subscription is refused with `code` and this text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def names_tasks(params: dict[str, Any]) -> bool:
    """Whether a `subscriptions/listen` request names tasks, perhaps among others."""
    wanted = params.get("notifications")
    return isinstance(wanted, dict) and wanted.get("taskIds") is not None


def tasks_in(params: dict[str, Any]) -> list[str]:
    """The ids of the tasks that such a request names, each once. Raises `SubscriptionError`."""
    ids = params["notifications"]["taskIds"]
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise SubscriptionError(jsonrpc.INVALID_PARAMS, "taskIds must be a list of strings")
    return list(dict.fromkeys(ids))


def declares(capabilities: dict[str, Any], kind: str, feature: str) -> bool:
    """Whether a server declares "listChanged" or "subscribe" for tools, prompts or resources."""
    return capabilities.get(kind, {}).get(feature) is True


class _Granted(NamedTuple):
    lists: tuple[str, ...]
    uris: tuple[str, ...]
    tasks: frozenset[str]


class Subscriptions:
    """The subscriptions of one client, of this `session` if its front has sessions. `uri in subscriptions` may be
    tested from any thread.

    `on_change` is called after a resource gained its first subscriber or lost its last one; it must not block.
    """

    def __init__(self) -> None:
        self.on_change: Callable[[], None] = lambda: None
        self.session: str | None = None
        # By the id of the request that subscribed.
        self._listening: dict[RequestId, _Granted] = {}
        self._resources: dict[str, dict[_Subscriber, None]] = {}
        self._uri_count = 0
        # For the client of a handshake: nothing is sent before `initialize`; until `initialized` it is queued.
        self._has_handshake = False
        self._unsent: dict[tuple[str, str], Outgoing] | None = None

    def __contains__(self, uri: object) -> bool:
        return uri in self._resources

    def __iter__(self) -> Iterator[RequestId]:
        """The ids of the open `subscriptions/listen` requests."""
        return iter(tuple(self._listening))

    def uris(self) -> set[str]:
        """The URIs of the subscribed resources. May be called from any thread."""
        return set(self._resources)

    def begin(
        self, request: Request | RequestReceived, capabilities: dict[str, Any], tasks: Sequence[str] = ()
    ) -> list[Outgoing]:
        """Begin the subscription of a `subscriptions/listen` request, as far as the server has the capabilities, or
        begin or end that of a request in `SUBSCRIBING`. Returns the messages to send, without the result of the latter.
        `tasks` are the client's tasks among those that `tasks_in` returned.

        Raises `SubscriptionError`.
        """
        if request.method == LISTEN:
            return self._listen(request.id, request.params.get("notifications"), capabilities, tasks)
        uri = _checked(request.params.get("uri"))
        is_subscribed = None in self._resources.get(uri, ())
        if request.method == "resources/unsubscribe":
            if is_subscribed:
                self._remove(uri, None)
        elif not is_subscribed:
            self._add((uri,), None)
        return []

    def _listen(
        self, request_id: RequestId, wanted: Any, capabilities: dict[str, Any], tasks: Sequence[str]
    ) -> list[Outgoing]:
        uris = wanted.get("resourceSubscriptions") if isinstance(wanted, dict) else None
        if not isinstance(wanted, dict) or not isinstance(uris, list | None):
            text = "subscriptions/listen needs params.notifications, an object, where resourceSubscriptions is a list"
            raise SubscriptionError(jsonrpc.INVALID_PARAMS, text)
        if len(self._listening) >= MAX_SUBSCRIPTIONS:
            raise SubscriptionError(jsonrpc.INTERNAL_ERROR, f"more than {MAX_SUBSCRIPTIONS} subscriptions")
        if tasks and sum(len(granted.tasks) for granted in self._listening.values()) + len(tasks) > MAX_URIS:
            raise SubscriptionError(jsonrpc.INTERNAL_ERROR, f"more than {MAX_URIS} subscribed tasks")
        lists = [
            kind
            for kind in _LISTS
            if wanted.get(f"{kind}ListChanged") is True and declares(capabilities, kind, "listChanged")
        ]
        has_resources = declares(capabilities, "resources", "subscribe")
        known = tuple(dict.fromkeys(map(_checked, uris or ()))) if has_resources else ()
        self._add(known, request_id)
        self._listening[request_id] = _Granted(tuple(lists), known, frozenset(tasks))
        granted: dict[str, Any] = {f"{kind}ListChanged": True for kind in lists}
        if known:
            granted["resourceSubscriptions"] = list(known)
        if tasks:
            granted["taskIds"] = list(tasks)
        return [_about(request_id, "notifications/subscriptions/acknowledged", {"notifications": granted})]

    def end(self, request_id: RequestId) -> bool:
        """End the subscription of a `subscriptions/listen` request. Returns whether the request was one."""
        granted = self._listening.pop(request_id, None)
        if granted is None:
            return False
        for uri in granted.uris:
            self._remove(uri, request_id)
        return True

    def begin_handshake(self) -> None:
        """The client has sent `initialize`: it has no subscriptions, and is sent nothing before `initialized`."""
        for uri in [uri for uri, subscribers in self._resources.items() if None in subscribers]:
            self._remove(uri, None)
        self._has_handshake = True
        self._unsent = {}

    def initialized(self) -> list[Outgoing]:
        """The client is ready. Returns the notifications of changes since `initialize`."""
        unsent, self._unsent = self._unsent, None
        return list((unsent or {}).values())

    # Changes.

    def list_changed(self, kind: str, capabilities: dict[str, Any]) -> list[Outgoing]:
        """The notifications of a changed list: in the handshake era without a request, if the server declares that."""
        method = f"notifications/{kind}/list_changed"
        messages = [_about(one, method, {}) for one, granted in self._listening.items() if kind in granted.lists]
        if self._has_handshake and declares(capabilities, kind, "listChanged"):
            messages += self._unasked(method, "", None)
        return messages

    def resource_updated(self, uri: str) -> list[Outgoing]:
        """The notifications of a changed resource."""
        messages: list[Outgoing] = []
        for subscriber in self._resources.get(uri, ()):
            if subscriber is None:
                messages += self._unasked("notifications/resources/updated", uri, {"uri": uri})
            else:
                messages.append(_about(subscriber, "notifications/resources/updated", {"uri": uri}))
        return messages

    def task_changed(self, task_id: str, described: dict[str, Any]) -> list[Outgoing]:
        """The notifications of a changed task, described as in the result of `tasks/get`."""
        return [
            _about(one, "notifications/tasks", described)
            for one, granted in self._listening.items()
            if task_id in granted.tasks
        ]

    def _unasked(self, method: str, uri: str, params: dict[str, Any] | None) -> list[Outgoing]:
        """A notification that belongs to no request; queued until `initialized`."""
        message = Outgoing(jsonrpc.notification(method, params))
        if self._unsent is None:
            return [message]
        self._unsent[method, uri] = message
        return []

    def _add(self, uris: tuple[str, ...], subscriber: _Subscriber) -> None:
        if uris and self._uri_count + len(uris) > MAX_URIS:
            raise SubscriptionError(jsonrpc.INTERNAL_ERROR, f"more than {MAX_URIS} subscribed URIs")
        known = len(self._resources)
        for uri in uris:
            self._resources.setdefault(uri, {})[subscriber] = None
        self._uri_count += len(uris)
        if len(self._resources) > known:
            self.on_change()

    def _remove(self, uri: str, subscriber: _Subscriber) -> None:
        del self._resources[uri][subscriber]
        self._uri_count -= 1
        if not self._resources[uri]:
            del self._resources[uri]
            self.on_change()


def _checked(uri: Any) -> str:
    if not isinstance(uri, str):
        raise SubscriptionError(jsonrpc.INVALID_PARAMS, "the URI of a resource must be a string")
    if len(uri) > MAX_URI_CHARS:
        raise SubscriptionError(jsonrpc.INVALID_PARAMS, f"a URI of more than {MAX_URI_CHARS} characters")
    return uri


def _about(subscription: RequestId, method: str, params: dict[str, Any]) -> Outgoing:
    """A notification for a subscription, with the subscription's id."""
    message = jsonrpc.notification(method, {**params, "_meta": {SUBSCRIPTION_KEY: subscription}})
    return Outgoing(message, subscription)
