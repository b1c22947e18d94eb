"""The client's end of a conversation, in both eras.

Opening: `server/discover` first; what is not a stateless answer falls back to `initialize` on the same pipe. Rules and
numbers are those of the specification 2026-07-28, basic/versioning, and of the measured servers behind it.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from gaia_mcp.errors import LocalProtocolError, PeerError, RemoteProtocolError, VersionError
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.connection import Connection
from gaia_mcp.protocol.envelope import (
    CAPABILITIES_KEY,
    INFO_KEY,
    LOG_LEVEL_KEY,
    SERVER_INFO_KEY,
    VERSION_KEY,
    with_meta,
)
from gaia_mcp.protocol.events import Asked, Caller, Cancelled, Opened, OpeningFailed, Peer
from gaia_mcp.protocol.jsonrpc import Error, Malformed, Message, Notification, Request, RequestId, Result
from gaia_mcp.protocol.shapes import capabilities_for, info_for
from gaia_mcp.protocol.versions import (
    ALL_VERSIONS,
    BATCH_VERSION,
    HANDSHAKE_VERSIONS,
    STATELESS_VERSIONS,
    Era,
    best_of,
)

_NAMED_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
# A server that refuses our version with these may still speak an older one, though it ought to have offered it.
_REFUSED_VERSION_CODES = (jsonrpc.INVALID_PARAMS, jsonrpc.INVALID_REQUEST)


class _State(Enum):
    NEW = "new"
    PROBING = "waiting for the answer to server/discover"
    INITIALIZING = "waiting for the answer to initialize"
    OPEN = "open"
    FAILED = "failed"


class ClientConnection(Connection):
    """The client's end. `probe=False` goes straight to `initialize`, for servers known to need it."""

    def __init__(self, server: str, *, info: dict[str, Any], capabilities: dict[str, Any], probe: bool = True) -> None:
        super().__init__()
        self.peer: Peer | None = None
        self._server = server
        self._info = info
        self._capabilities = capabilities
        self._probe = probe
        self._state = _State.NEW
        self._probes = 0
        self._opening_id: RequestId | None = None
        self._proposed = HANDSHAKE_VERSIONS[0]
        self._meta: dict[str, Any] | None = None
        self._listening: RequestId | None = None
        self._questions: set[RequestId] = set()

    @property
    def stage(self) -> str:
        """What the opening is waiting for, in words."""
        return self._state.value

    @property
    def is_probing(self) -> bool:
        """Whether the server has not answered anything yet, so that it may be one that ends on an unknown request."""
        return self._state is _State.PROBING

    def open(self) -> None:
        """Begin. `Opened` or `OpeningFailed` follows."""
        if self._state is not _State.NEW:
            raise LocalProtocolError("a connection can be opened only once")
        if self._probe:
            self._discover(STATELESS_VERSIONS[0])
        else:
            self._initialize(self._proposed)

    def probe_timed_out(self) -> None:
        """The server has not answered the probe: try `initialize` on the same pipe, whose answer decides."""
        if self._state is _State.PROBING:
            assert self._opening_id is not None  # noqa: S101 (the probe has one)
            self.abandon(self._opening_id, "no answer")
            self._initialize(self._proposed)

    def request(self, method: str, params: dict[str, Any] | None = None, *, progress: bool = False) -> RequestId:
        """Ask; `Answered`, `Refused` or `Broken` with this id follows. `progress` asks for `Progressed` on the way."""
        request_id = self._new_id()
        meta = dict(self._meta) if self._meta is not None else {}
        if progress:
            meta["progressToken"] = request_id
        self._send_request(request_id, method, with_meta(params, meta) if meta else params)
        return request_id

    def check_alive(self) -> RequestId:
        """The cheapest question that every server must answer."""
        return self.request("ping" if self._meta is None else "server/discover")

    def want_logs(self, level: str) -> RequestId | None:
        """Ask for log messages of `level` and above; an id when that takes a request of its own."""
        if self._meta is not None:
            self._meta[LOG_LEVEL_KEY] = level
        elif self.peer is not None and "logging" in self.peer.capabilities:
            return self.request("logging/setLevel", {"level": level})
        return None

    def watch_lists(self) -> None:
        """See to it that changed lists are announced, where the server offers that."""
        if self._meta is None or self.peer is None or self._listening is not None:
            return  # The handshake era announces them unasked.
        wanted = {
            f"{kind}ListChanged": True
            for kind in ("tools", "prompts", "resources")
            if isinstance(offer := self.peer.capabilities.get(kind), dict) and offer.get("listChanged") is True
        }
        if wanted:
            self._listening = self.request("subscriptions/listen", {"notifications": wanted})

    def respond(self, request_id: RequestId, value: dict[str, Any]) -> None:
        """Answer a server's request. Nothing is sent for one that was cancelled."""
        self._send_answer(request_id, jsonrpc.result(request_id, value))

    def refuse(self, request_id: RequestId, code: int, text: str) -> None:
        """Answer a server's request with an error. Nothing is sent for one that was cancelled."""
        self._send_answer(request_id, jsonrpc.error(request_id, code, text))

    def _send_answer(self, request_id: RequestId, answer: Message) -> None:
        if request_id in self._questions:
            self._questions.remove(request_id)
            self._outgoing.append(answer)

    # Opening.

    def _discover(self, version: str) -> None:
        self._state = _State.PROBING
        self._probes += 1
        self._meta = {VERSION_KEY: version, INFO_KEY: self._info, CAPABILITIES_KEY: self._capabilities}
        self._opening_id = _probe_id(self._probes)
        self._send_request(self._opening_id, "server/discover", {"_meta": dict(self._meta)})

    def _initialize(self, version: str) -> None:
        self._state = _State.INITIALIZING
        self._meta = None
        self._proposed = version
        self._opening_id = self._new_id()
        params = {
            "protocolVersion": version,
            "capabilities": capabilities_for(version, self._capabilities),
            "clientInfo": info_for(version, self._info),
        }
        self._send_request(self._opening_id, "initialize", params)

    def _receive_answer(self, method: str, answer: Result | Error) -> None:
        if answer.id != self._opening_id or self._state in (_State.OPEN, _State.FAILED):
            if answer.id == self._listening:
                self._listening = None  # Ended by the server; the owner asks again when it next needs the lists.
                return
            super()._receive_answer(method, answer)
        elif self._state is _State.PROBING:
            self._judge_probe(answer)
        else:
            self._judge_handshake(answer)

    def _match_answer(self, answer: Result | Error) -> None:
        given_up = _probe_id(self._probes)
        if isinstance(answer, Error) and answer.id is None and given_up in self._abandoned:
            # Servers answer in order: this is about the probe, which was sent before whatever is open now.
            answer = answer._replace(id=given_up)
        super()._match_answer(answer)

    def _judge_probe(self, answer: Result | Error) -> None:
        if isinstance(answer, Result):
            offered = answer.result.get("supportedVersions")
            version = best_of(offered, STATELESS_VERSIONS) if isinstance(offered, list) else None
            if version is None:
                self._initialize(self._proposed)  # A legacy advertisement, or no DiscoverResult at all.
            else:
                self._open_stateless(version, answer.result)
        elif answer.code == jsonrpc.UNSUPPORTED_VERSION and (supported := _supported(answer.data)) is not None:
            self._follow_supported(supported)
        else:
            # Never tied to one code: servers answer -32601, -32602, -32600, -32000 and others.
            self._initialize(self._proposed)

    def _follow_supported(self, supported: list[str]) -> None:
        version = best_of(supported, STATELESS_VERSIONS)
        # A handshake that was refused is only ever tried again with an older version.
        legacy = best_of(supported, HANDSHAKE_VERSIONS if self._state is _State.PROBING else self._older_versions())
        if version is not None and self._probes < 2:
            self._discover(version)
        elif legacy is not None:
            self._initialize(legacy)
        else:
            self._fail(VersionError(self._server, supported, ALL_VERSIONS))

    def _judge_handshake(self, answer: Result | Error) -> None:
        if isinstance(answer, Result):
            # Some answer without a version; they mean the one they were asked for.
            version = answer.result.get("protocolVersion", self._proposed)
            if version not in HANDSHAKE_VERSIONS:
                self._fail(VersionError(self._server, [str(version)], HANDSHAKE_VERSIONS))
            else:
                self._open_handshake(version, answer.result)
        elif answer.code == jsonrpc.UNSUPPORTED_VERSION and (supported := _supported(answer.data)) is not None:
            self._follow_supported(supported)
        elif answer.code in _REFUSED_VERSION_CODES and (older := self._older_version(answer)) is not None:
            self._initialize(older)
        else:
            self._fail(
                PeerError(
                    self._server,
                    "initialize",
                    answer.code,
                    answer.message,
                    answer.data,
                    hint=f"see each step with: gaia mcp test-client {self._server}",
                )
            )

    def _older_versions(self) -> tuple[str, ...]:
        return HANDSHAKE_VERSIONS[HANDSHAKE_VERSIONS.index(self._proposed) + 1 :]

    def _older_version(self, refusal: Error) -> str | None:
        """The next version to propose: the newest older one that the refusal names, else simply the next older."""
        rest = self._older_versions()
        named = best_of(_NAMED_VERSION.findall(f"{refusal.message} {refusal.data}"), rest)
        return named or (rest[0] if rest else None)

    def _open_stateless(self, version: str, found: dict[str, Any]) -> None:
        meta = found.get("_meta")
        info = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
        self._meta = {**(self._meta or {}), VERSION_KEY: version}
        self._open(version, Era.STATELESS, info, found)

    def _open_handshake(self, version: str, found: dict[str, Any]) -> None:
        self.notify("notifications/initialized")
        self._open(version, Era.HANDSHAKE, found.get("serverInfo"), found)

    def _open(self, version: str, era: Era, info: object, found: dict[str, Any]) -> None:
        self._state = _State.OPEN
        capabilities, instructions = found.get("capabilities"), found.get("instructions")
        self.peer = Peer(
            version,
            info if isinstance(info, dict) else {},
            capabilities if isinstance(capabilities, dict) else {},
            instructions if isinstance(instructions, str) else "",
            era.value,
        )
        self._events.append(Opened(self.peer))

    def _fail(self, error: PeerError | VersionError | RemoteProtocolError) -> None:
        self._state = _State.FAILED
        self._events.append(OpeningFailed(error))

    # What the server sends of its own accord.

    def _accepts_batches(self) -> bool:
        return self.peer is not None and self.peer.version == BATCH_VERSION

    def _receive_request(self, request: Request) -> None:
        if self._state is _State.OPEN and self._meta is not None:
            # Stateless servers send no requests and clients write no responses: say so and go on.
            self._stray(f"asked {request.method}, which a server of this revision may not", b"")
        elif request.method == "ping":
            self._outgoing.append(jsonrpc.result(request.id, {}))
        else:
            self._questions.add(request.id)
            caller = Caller(self.peer.version if self.peer else self._proposed, {}, {}, None, None)
            self._events.append(Asked(request.id, request.method, request.params, caller))

    def _receive_notification(self, notification: Notification) -> None:
        if notification.method == "notifications/cancelled":
            cancelled = notification.params.get("requestId")
            if not jsonrpc.is_id(cancelled):
                return
            if cancelled == self._listening:
                # The result may follow, or not: servers read the specification both ways.
                self._pending.pop(cancelled, None)
                self._ignore_answers_to(cancelled)
                self._listening = None
            elif cancelled in self._questions:
                self._questions.remove(cancelled)
                self._events.append(Cancelled(cancelled, str(notification.params.get("reason", ""))))
        else:
            super()._receive_notification(notification)

    def _receive_broken(self, request_id: RequestId, problem: str) -> None:
        if request_id == self._listening:
            self._listening = None
        if request_id != self._opening_id:
            super()._receive_broken(request_id, problem)
        elif self._state is _State.PROBING:
            self._initialize(self._proposed)
        else:
            self._fail(RemoteProtocolError(self._server, f"{problem}, when asked to initialize"))

    def _receive_garbage(self, record: bytes) -> None:
        start = record.lstrip()[:64]
        if start.startswith((b"{", b"[")) and b'"jsonrpc"' in record[:256]:
            self._break_pending(None, "answered with a line that is not valid JSON")
        else:
            super()._receive_garbage(record)

    def _receive_malformed(self, message: Malformed, record: bytes) -> None:
        is_ours = message.meant == "answer" and (message.id in self._pending or message.id in self._abandoned)
        if message.meant in ("request", "notification"):
            # Whatever it is, it answers nothing; its id, if any, is the server's own.
            super()._receive_malformed(message, record)
        elif is_ours or b'"jsonrpc"' in record[:256]:
            self._break_pending(message.id, f"answered with something that is no JSON-RPC message: {message.problem}")
        else:
            super()._receive_malformed(message, record)

    def _was_asked(self, request_id: RequestId) -> bool:
        return super()._was_asked(request_id) or request_id in {
            _probe_id(number) for number in range(1, self._probes + 1)
        }

    def _may_lack_id(self, error: Error) -> bool:
        # At the start nothing but the opening has been sent, so that there is nothing else that it could be about.
        return self._state in (_State.PROBING, _State.INITIALIZING) or super()._may_lack_id(error)


def _probe_id(number: int) -> str:
    # A string, which no later request uses: a late answer can never be taken for another.
    return f"discover-{number}"


def _supported(data: Any) -> list[str] | None:
    supported = data.get("supported") if isinstance(data, dict) else None
    if not isinstance(supported, list):
        return None
    return [version for version in supported if isinstance(version, str)]
