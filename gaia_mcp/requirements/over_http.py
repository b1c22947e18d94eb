"""What only HTTP shows of a server: statuses and headers. Each request is written as it is meant, also wrongly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import httpx2

from gaia_mcp.client.transports.factory import authorizer_of
from gaia_mcp.client.transports.http.connections import NO_HEADERS, Endpoint
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.protocol import BATCH_VERSION, has_sessions, since
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY
from gaia_mcp.protocol.headers import METHOD_HEADER, SESSION_HEADER, VERSION_HEADER
from gaia_mcp.protocol.jsonrpc import HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION
from gaia_mcp.protocol.sse import EventParser
from gaia_mcp.requirements.conversation import CLIENT_INFO, code_of
from gaia_mcp.requirements.handshake import UNKNOWN, UNKNOWN_METHOD, UNKNOWN_REVISION
from gaia_mcp.server.http.security import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.requirements.listed import Judgement

Wire = dict[str, Any]
Headers = Mapping[str, str | None]

EVENTS = "text/event-stream"
_JSON = "application/json"
# No server of a person is called so.
FOREIGN_ORIGIN = "http://gaia-mcp-foreign.example"
# Of the body of a response, which may be a stream without an end.
MAX_BYTES = 1 << 20
# Revisions of a stricter text: one that names the header, and one that names the status of a foreign origin.
_NAMED_SINCE, _FORBIDDEN_SINCE = "2025-06-18", "2025-11-25"


class Reply(NamedTuple):
    """A response: its status, its media type, and its first message; `headers` in lower case."""

    status: int
    kind: str
    headers: Wire
    message: Wire

    @property
    def code(self) -> int | None:
        """The code of the error in it; None for any other message."""
        return code_of(self.message)

    @property
    def shown(self) -> str:
        """The status, with the code of an error."""
        return f"{self.status}" + (f" with {self.code}" if self.code is not None else "")


def ask(entry: ServerEntry, revision: str, judgement: Judgement, seconds: float) -> None:
    """Ask a server behind a URL. Raises `MCPError` as the client does before it sends anything."""
    target = entry.target
    if not isinstance(target, Remote) or target.transport == "sse" or revision == "2024-11-05":
        return
    peer = _Peer(entry, revision, seconds)
    with peer.client:
        try:
            if has_sessions(revision):
                _ask_in_session(peer, judgement)
            else:
                _ask_stateless(peer, judgement)
        except httpx2.HTTPError as problem:
            what = "HS-3" if not has_sessions(revision) else "LS-3"
            judgement.hold(what, f"an exchange was cut off: {type(problem).__name__}")


class _Peer:
    """A server behind a URL."""

    def __init__(self, entry: ServerEntry, revision: str, seconds: float) -> None:
        target = entry.resolved().target
        assert isinstance(target, Remote)  # noqa: S101 (`ask` has looked)
        self.revision = revision
        self._authorizer = authorizer_of(entry)
        self._seconds = seconds
        self._url = target.url
        self.is_local = is_loopback(urlsplit(target.url).hostname or "")
        endpoint = Endpoint(entry.name, target.url, target.headers, ca=target.ca, cert=target.cert, key=target.key)
        endpoint.check()
        self.client = httpx2.Client(
            headers=dict(target.headers), verify=endpoint.context(), timeout=seconds, follow_redirects=True
        )

    def send(self, method: str, message: Wire | list[Wire] | None = None, headers: Headers = NO_HEADERS) -> Reply:
        """Send one request with these headers; None leaves one out. Raises `httpx2.HTTPError`."""
        with self._reply(method, message, headers) as reply:
            return reply

    @contextmanager
    def _reply(self, method: str, message: Wire | list[Wire] | None, headers: Headers) -> Iterator[Reply]:
        fields = {"Accept": f"{_JSON}, {EVENTS}" if method == "POST" else EVENTS}
        if message is not None:
            fields["Content-Type"] = _JSON
        fields |= {name: held for name, held in headers.items() if held is not None}
        fields |= self._authorizer.headers(method, self._url, Deadline(self._seconds))
        content = json.dumps(message).encode() if message is not None else None
        with self.client.stream(method, self._url, headers=fields, content=content) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            # The stream of a GET has nothing to say at first.
            body = b"" if method == "GET" and response.status_code == 200 else _read(response, kind)
            yield Reply(response.status_code, kind, dict(response.headers), _message_in(body, kind))


def _read(response: httpx2.Response, kind: str) -> bytes:
    """The body; of a stream as much as has the first response."""
    body = b""
    for piece in response.iter_bytes():
        body += piece
        if len(body) > MAX_BYTES or (
            kind == EVENTS and (b'"result"' in body or b'"error"' in body) and body.endswith(b"\n\n")
        ):
            break
    return body


def _message_in(body: bytes, kind: str) -> Wire:
    """The response in a body, empty without one."""
    records = [event.data for event in EventParser().feed(body)] if kind == EVENTS else [body]
    for record in records:
        try:
            value = json.loads(record)
        except ValueError:
            continue
        if isinstance(value, dict) and ("result" in value or "error" in value):
            return value
    return {}


def _request(method: str, params: Wire | None = None) -> Wire:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params is not None else {})}


def _ask_in_session(peer: _Peer, judgement: Judgement) -> None:
    hold, revision = judgement.hold, peer.revision
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}
    opened = peer.send("POST", _request("initialize", params))
    if "result" not in opened.message:
        hold("LS-1", f"initialize is answered with {opened.shown}", opened.message)
        return
    session = opened.headers.get(SESSION_HEADER.lower())
    named = revision if since(revision, _NAMED_SINCE) else None
    usual: dict[str, str | None] = {SESSION_HEADER: session, VERSION_HEADER: named}
    told = peer.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, usual)
    hold("LS-3", "" if told.status == 202 else f"a notification is answered with {told.status}, not 202")
    if named is not None:
        reply = peer.send("POST", _request("ping"), {**usual, VERSION_HEADER: UNKNOWN_REVISION})
        problem = "" if reply.status == 400 else f"{VERSION_HEADER}: {UNKNOWN_REVISION} is answered with {reply.shown}"
        hold("LS-4", problem, reply.message)
    if revision == BATCH_VERSION:
        batch = [{**_request("ping"), "id": number} for number in (1, 2)]
        reply = peer.send("POST", batch, usual)
        problem = "" if reply.status == 200 else f"an array of two requests is answered with {reply.shown}"
        hold("LC-9", problem, batch, is_minor=True)
    _judge_origin(peer, judgement, "LS-5", peer.send("POST", _request("ping"), {**usual, "Origin": FOREIGN_ORIGIN}))
    reply = peer.send("GET", headers=usual)
    is_either = reply.status == 405 or (reply.status == 200 and reply.kind == EVENTS)
    hold("LS-3", "" if is_either else f"GET is answered with {reply.status} {reply.kind or 'without a type'}")
    if session is None:
        return
    reply = peer.send("POST", _request("ping"), {**usual, SESSION_HEADER: None})
    problem = "" if reply.status == 400 else f"a request without {SESSION_HEADER} is answered with {reply.shown}"
    hold("LS-3", problem, reply.message, is_minor=True)
    # The end of a session is optional. Of one that has ended no request is answered.
    if 200 <= peer.send("DELETE", headers=usual).status < 300:
        reply = peer.send("POST", _request("ping"), usual)
        hold(
            "LS-3",
            "" if reply.status == 404 else f"a session that has ended is answered with {reply.shown}",
            reply.message,
        )


def _ask_stateless(peer: _Peer, judgement: Judgement) -> None:
    hold = judgement.hold
    meta = {VERSION_KEY: peer.revision, CAPABILITIES_KEY: {}, INFO_KEY: CLIENT_INFO}
    discover = _request("server/discover", {"_meta": meta})
    usual: dict[str, str | None] = {VERSION_HEADER: peer.revision, METHOD_HEADER: "server/discover"}
    reply = peer.send("POST", discover, usual)
    hold("HS-3", "" if reply.kind in (_JSON, EVENTS) else f"a request is answered with {reply.kind or 'no type'}")
    _judge_origin(peer, judgement, "HS-1", peer.send("POST", discover, {**usual, "Origin": FOREIGN_ORIGIN}))
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": UNKNOWN, "_meta": meta}}
    reply = peer.send("POST", cancelled, {**usual, METHOD_HEADER: "notifications/cancelled"})
    is_either = reply.status == 202 or 400 <= reply.status < 500
    hold("HS-2", "" if is_either else f"a notification is answered with {reply.status}", reply.message)
    wrongly: dict[str, Headers] = {
        f"a request without {METHOD_HEADER}": {**usual, METHOD_HEADER: None},
        f"another method in {METHOD_HEADER}": {**usual, METHOD_HEADER: "tools/list"},
        f"another revision in {VERSION_HEADER}": {**usual, VERSION_HEADER: UNKNOWN_REVISION},
    }
    for what, headers in wrongly.items():
        reply = peer.send("POST", discover, headers)
        is_right = (reply.status, reply.code) == (400, HEADER_MISMATCH)
        hold("HS-5", "" if is_right else f"{what} is answered with {reply.shown}", reply.message)
    unknown = _request("server/discover", {"_meta": {**meta, VERSION_KEY: UNKNOWN_REVISION}})
    reply = peer.send("POST", unknown, {**usual, VERSION_HEADER: UNKNOWN_REVISION})
    is_right = (reply.status, reply.code) == (400, UNSUPPORTED_VERSION)
    hold("HS-6", "" if is_right else f"the revision {UNKNOWN_REVISION} is answered with {reply.shown}", reply.message)
    reply = peer.send("POST", _request(UNKNOWN_METHOD, {"_meta": meta}), {**usual, METHOD_HEADER: UNKNOWN_METHOD})
    is_right = (reply.status, reply.code) == (404, METHOD_NOT_FOUND)
    hold("HS-6", "" if is_right else f"an unknown method is answered with {reply.shown}", reply.message)
    lacking = _request("server/discover", {"_meta": {VERSION_KEY: peer.revision}})
    reply = peer.send("POST", lacking, usual)
    is_right = (reply.status, reply.code) == (400, INVALID_PARAMS)
    hold(
        "MS-2",
        "" if is_right else f"a request without {CAPABILITIES_KEY} is answered with {reply.shown}",
        reply.message,
    )
    for method in ("GET", "DELETE"):
        reply = peer.send(method, headers={VERSION_HEADER: peer.revision})
        hold("HS-7", "" if reply.status == 405 else f"{method} is answered with {reply.status}")


def _judge_origin(peer: _Peer, judgement: Judgement, number: str, reply: Reply) -> None:
    """A server that everybody may reach may allow every origin; a local one is what the rule protects."""
    is_refused = 400 <= reply.status < 500
    is_right = reply.status == 403 if since(peer.revision, _FORBIDDEN_SINCE) else is_refused
    problem = "" if is_right else f"Origin: {FOREIGN_ORIGIN} is answered with {reply.shown}"
    judgement.hold(number, problem, reply.message, is_minor=is_refused or not peer.is_local)
