"""How a client agrees with a server on a revision: which request to send, and what each response to it means.

`server/discover` first; any response that is not one of the stateless era leads to `initialize` on the same connection.
The rules follow the specification 2026-07-28, basic/versioning, and the observed behaviour of servers. Knows no ids;
`client` assigns them and sends the requests.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from gaia_mcp.core.errors import LocalProtocolError, PeerError, RemoteProtocolError, VersionError
from gaia_mcp.protocol import HANDSHAKE_VERSIONS, STATELESS_VERSIONS, best_of, jsonrpc
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, SERVER_INFO_KEY, VERSION_KEY
from gaia_mcp.protocol.events import NegotiationFailed, Peer
from gaia_mcp.protocol.input_required import type_problem
from gaia_mcp.protocol.jsonrpc import Error, Fixed, Result
from gaia_mcp.protocol.revisions import capabilities_for, info_for

_NAMED_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
# A server that rejects our version with one of these may still know an older one, which it should have offered.
_REJECTED_VERSION_CODES = (jsonrpc.INVALID_PARAMS, jsonrpc.INVALID_REQUEST)


class NextRequest(NamedTuple):
    """Send this request; its response decides what comes next."""

    method: str
    params: dict[str, Any]


class Negotiated(NamedTuple):
    """Both ends use `peer.version`. `meta` is part of every request from now on; None in the handshake era."""

    peer: Peer
    meta: Fixed | None


Step: TypeAlias = NextRequest | Negotiated | NegotiationFailed


class _State(Enum):
    NEW = "new"
    PROBING = "probing"
    INITIALIZING = "initializing"
    OVER = "over"


class Negotiation:
    """One attempt to agree with `server`. Each method returns the next step.

    `probe=False` goes straight to `initialize`, for servers known to need it. `revision`, if given, is the only
    acceptable one.
    """

    def __init__(
        self,
        server: str,
        info: dict[str, Any],
        capabilities: dict[str, Any],
        *,
        probe: bool,
        revision: str | None = None,
    ) -> None:
        self._stateless = _allowed(STATELESS_VERSIONS, revision)
        self._handshakes = _allowed(HANDSHAKE_VERSIONS, revision)
        self.proposed = (self._handshakes or HANDSHAKE_VERSIONS)[0]
        self._server = server
        self._info = info
        self._capabilities = capabilities
        self._probe = probe
        self._probes = 0
        # The revisions requested so far, with discover or initialize.
        self._asked: set[str] = set()
        self._state = _State.NEW

    @property
    def is_probing(self) -> bool:
        """Whether `server/discover` was sent and has no response yet."""
        return self._state is _State.PROBING

    @property
    def may_prefer_handshake(self) -> bool:
        """Whether a new connection that begins with `initialize` may succeed where this one does not."""
        return self._probes > 0 and bool(self._handshakes)

    def begin(self) -> NextRequest:
        """The first request. Raises `LocalProtocolError` if called again."""
        if self._state is not _State.NEW:
            raise LocalProtocolError("a connection can be opened only once")
        if self._stateless and (self._probe or not self._handshakes):
            return self._discover(self._stateless[0])
        return self._initialize(self.proposed)

    def skip_probe(self) -> NextRequest | None:
        """The next request for a server that does not respond to the probe; from now on only its response counts. None
        if there is no other request to try.
        """
        return self._initialize(self.proposed) if self._handshakes else None

    def receive(self, response: Result | Error) -> Step:
        """The step that follows from the response to the last request."""
        return self._after_discover(response) if self.is_probing else self._after_initialize(response)

    def receive_invalid(self, problem: str) -> Step:
        """The step that follows from an invalid response."""
        asked = "discover its revisions" if self.is_probing else "initialize"
        error = RemoteProtocolError(self._server, f"{problem}, when asked to {asked}")
        return self._fall_back(error) if self.is_probing else self._fail(error)

    # Requests.

    def _discover(self, version: str) -> NextRequest:
        self._state = _State.PROBING
        self._probes += 1
        self._asked.add(version)
        return NextRequest("server/discover", {"_meta": self._envelope(version)})

    def _initialize(self, version: str) -> NextRequest:
        self._state = _State.INITIALIZING
        self.proposed = version
        self._asked.add(version)
        params = {
            "protocolVersion": version,
            "capabilities": capabilities_for(version, self._capabilities),
            "clientInfo": info_for(version, self._info),
        }
        return NextRequest("initialize", params)

    def _envelope(self, version: str) -> Fixed:
        return Fixed({VERSION_KEY: version, INFO_KEY: self._info, CAPABILITIES_KEY: self._capabilities})

    # Responses.

    def _after_discover(self, response: Result | Error) -> Step:
        if isinstance(response, Result):
            offered = response.result.get("supportedVersions")
            if not isinstance(offered, list) or type_problem("server/discover", response.result) is not None:
                offered = []
            version = best_of(offered, self._stateless)
            if version is None:
                # It advertises the handshake era, or is not a DiscoverResult.
                named = [jsonrpc.as_text(each) for each in offered]
                return self._fall_back(VersionError(self._server, named, self._stateless))
            return self._agree_stateless(version, response.result)
        if response.code == jsonrpc.UNSUPPORTED_VERSION and (supported := _supported(response.data)) is not None:
            return self._follow_supported(supported)
        # Whatever the code: servers respond with -32601, -32602, -32600, -32000 and others.
        return self._fall_back(self._refusal("server/discover", response))

    def _fall_back(self, error: PeerError | VersionError | RemoteProtocolError) -> Step:
        return self._initialize(self.proposed) if self._handshakes else self._fail(error)

    def _after_initialize(self, response: Result | Error) -> Step:
        if isinstance(response, Result):
            # Some servers respond without a version, and use the proposed one.
            version = response.result.get("protocolVersion", self.proposed)
            if version not in self._handshakes:
                return self._fail(VersionError(self._server, [jsonrpc.as_text(version)], self._handshakes))
            return self._agree(version, None, response.result.get("serverInfo"), response.result)
        if response.code == jsonrpc.UNSUPPORTED_VERSION and (supported := _supported(response.data)) is not None:
            return self._follow_supported(supported)
        if response.code in _REJECTED_VERSION_CODES and (older := self._older_version(response)) is not None:
            return self._initialize(older)
        return self._fail(self._refusal("initialize", response))

    def _refusal(self, asked: str, error: Error) -> PeerError:
        return PeerError(self._server, asked, error.code, error.message, error.data)

    def _follow_supported(self, supported: list[str]) -> Step:
        version = best_of(supported, self._stateless)
        # After a rejected handshake only an older version is proposed.
        legacy = best_of(supported, self._handshakes if self.is_probing else self._older_versions())
        if version is not None and self._probes < 2:
            return self._discover(version)
        if legacy is not None:
            return self._initialize(legacy)
        ours = self._stateless + self._handshakes
        if (common := best_of(supported, ours)) in self._asked:
            return self._fail(RemoteProtocolError(self._server, f"rejected {common}, which it lists as supported"))
        return self._fail(VersionError(self._server, supported, ours))

    def _older_versions(self) -> tuple[str, ...]:
        return self._handshakes[self._handshakes.index(self.proposed) + 1 :]

    def _older_version(self, error: Error) -> str | None:
        """The next version to propose: the newest older one that the error names, else the next older one."""
        rest = self._older_versions()
        named = best_of([*_NAMED_VERSION.findall(error.message), *(_supported(error.data) or ())], rest)
        return named or (rest[0] if rest else None)

    # The end.

    def _agree_stateless(self, version: str, found: dict[str, Any]) -> Negotiated:
        meta = found.get("_meta")
        info = meta.get(SERVER_INFO_KEY) if isinstance(meta, dict) else None
        return self._agree(version, self._envelope(version), info, found)

    def _agree(self, version: str, meta: Fixed | None, info: object, found: dict[str, Any]) -> Negotiated:
        self._state = _State.OVER
        capabilities, instructions = found.get("capabilities"), found.get("instructions")
        peer = Peer(
            version,
            info if isinstance(info, dict) else {},
            capabilities if isinstance(capabilities, dict) else {},
            instructions if isinstance(instructions, str) else "",
            "handshake" if meta is None else "stateless",
        )
        return Negotiated(peer, meta)

    def _fail(self, error: PeerError | VersionError | RemoteProtocolError) -> NegotiationFailed:
        self._state = _State.OVER
        return NegotiationFailed(error)


def _allowed(versions: tuple[str, ...], only: str | None) -> tuple[str, ...]:
    return tuple(version for version in versions if only in (None, version))


def contradicts_itself(error: Error, version: str) -> bool:
    """Whether a server rejects the revision of a request and lists it as supported."""
    return error.code == jsonrpc.UNSUPPORTED_VERSION and version in (_supported(error.data) or ())


def _supported(data: Any) -> list[str] | None:
    supported = data.get("supported") if isinstance(data, dict) else None
    if not isinstance(supported, list):
        return None
    return [version for version in supported if isinstance(version, str)]
