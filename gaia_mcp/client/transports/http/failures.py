"""The errors for failures of HTTP and of the layers below. Each cause has an error message of its own."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

import httpcore2
import httpx2

from gaia_mcp.core.errors import ConnectError, ConnectionLostError, MCPError, RemoteProtocolError, StatusError
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Endpoint, Response

# After these statuses the request has not run; after the other 5xx statuses it may have.
_NOTHING_DONE = {501, 503, 505}
# The first requests. A TLS server closes the connection on them without a response.
_OPENING = ("server/discover", "initialize")
# Long enough to recognise a page or a message.
EXCERPT_CHARS = 120


class _Fault(NamedTuple):
    reason: str
    case: str


# OpenSSL's numbers for problems of a certificate (X509_V_ERR_…).
_CERTIFICATES = {
    9: _Fault("its certificate is not valid yet", case="tls-not-yet-valid"),
    10: _Fault("its certificate has expired", case="tls-expired"),
    18: _Fault("its certificate is self-signed", case="tls-self-signed"),
    **dict.fromkeys(
        (19, 20, 21),
        _Fault("its certificate is signed by an authority that is not trusted here", case="tls-unknown-authority"),
    ),
    62: _Fault("its certificate is for another host name", case="tls-other-name"),
    64: _Fault("its certificate is for another IP address", case="tls-other-name"),
}


# Failures at the host that the connection is made to: the proxy, if there is one.
_OF_FIRST_HOST = ("dns", "refused", "unreachable")
_REFUSES_CLIENT = _Fault("it refuses TLS without a certificate that it accepts", case="tls-client")


def _unreachable(endpoint: Endpoint, host: str, reason: str, *, case: str) -> ConnectError:
    """The error for a connection that could not be made."""
    proxy = endpoint.proxy()
    through = f" through the proxy {proxy}" if proxy else ""
    if proxy and case in _OF_FIRST_HOST:
        case = "proxy"
    return ConnectError(
        f"server {endpoint.server!r} could not be reached at {host}{through}: {reason}",
        server=endpoint.server,
        case=case,
    )


def failure_of(error: Exception, endpoint: Endpoint, stage: str) -> MCPError:
    """The error for an exception of `httpx2` during `stage`.

    It is a `ConnectionLostError` if the request may have been sent.
    """
    host = httpx2.URL(endpoint.url).netloc.decode(errors="replace")
    causes = list(_causes(error))
    if isinstance(error, httpcore2.ConnectTimeout):
        return _unreachable(endpoint, host, "no connection in time", case="unreachable")
    if isinstance(error, httpcore2.ProxyError):
        return _unreachable(endpoint, host, f"the proxy refused: {one_line(str(error))}", case="proxy")
    if isinstance(error, httpcore2.ConnectError):
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError):
                unknown = _Fault(f"its certificate is invalid: {cause.verify_message}", case="tls")
                fault = _CERTIFICATES.get(cause.verify_code, unknown)
                return _unreachable(endpoint, host, fault.reason, case=fault.case)
            if isinstance(cause, ssl.SSLError):
                fault = _of_tls(cause)
                return _unreachable(endpoint, host, fault.reason, case=fault.case)
            if isinstance(cause, socket.gaierror):
                return _unreachable(endpoint, host, f"no host has this name ({cause.strerror})", case="dns")
            if isinstance(cause, ConnectionRefusedError):
                return _unreachable(endpoint, host, "nothing listens there", case="refused")
        reason = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
        return _unreachable(endpoint, host, one_line(reason), case="unreachable")
    if isinstance(error, httpx2.DecodingError):
        return RemoteProtocolError(endpoint.server, f"answered {stage} with a body that cannot be decompressed")
    if isinstance(error, httpcore2.LocalProtocolError):
        return ConnectError(
            f"{stage} cannot be sent to server {endpoint.server!r}: {one_line(str(error))}", server=endpoint.server
        )
    if any(isinstance(cause, ssl.SSLError) and "ALERT" in str(cause.reason) for cause in causes):
        # TLS 1.3 rejects a client after the client's part is done.
        return _unreachable(endpoint, host, _REFUSES_CLIENT.reason, case=_REFUSES_CLIENT.case)
    if isinstance(error, httpcore2.RemoteProtocolError) and not _is_end(error):
        return RemoteProtocolError(endpoint.server, f"does not speak HTTP at {host}: {one_line(str(error))}")
    if "complete" in str(error):
        return lost(endpoint.server, stage, when="in the middle of its answer to")
    case = "url-closed" if stage in _OPENING and endpoint.url.lower().startswith("http:") else ""
    return lost(endpoint.server, stage, case=case)


def lost(server: str, stage: str, *, when: str = "before it answered", case: str = "") -> ConnectionLostError:
    """The error for a connection that ended before the response was complete."""
    problem = f"server {server!r} closed the connection {when} {stage}"
    return ConnectionLostError(problem, server=server, case=case)


def refused(endpoint: Endpoint, stage: str, response: Response, body: bytes) -> MCPError:
    """The error for a status that is not a success, and a body that is not a JSON-RPC error."""
    status = response.status_code
    phrase = _phrase(status)
    told = f"{status} {phrase}".rstrip()
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if is_page(kind, body):
        told += ", and an HTML page"
    else:
        text = _repeated(body[: 4 * EXCERPT_CHARS].decode(errors="replace"), response)[:EXCERPT_CHARS].strip()
        if text.lower() not in ("", phrase.lower()):
            told += f": {text}"
    message = f"server {endpoint.server!r} answered {stage} with {told}"
    if status >= 500 and status not in _NOTHING_DONE:
        lost_error = ConnectionLostError(message, server=endpoint.server, case=f"http-{status}")
        lost_error.facts = {"status": status}
        return lost_error
    return StatusError(endpoint.server, message, status)


def _repeated(text: str, response: Response) -> str:
    """`text` from the server on one line, without the credentials of the request, which some servers echo."""
    from gaia_mcp.text.redaction.masker import Masker, secrets_in

    request = response.request
    return one_line(Masker(secrets_in(request.headers, [request.url])).text(text))


def redirected(endpoint: Endpoint, status: int, place: str) -> MCPError:
    """The error for a redirect that is not followed."""
    from gaia_mcp.text.redaction import masked_url

    shown = masked_url(one_line(place)) if place else "nowhere"
    message = f"server {endpoint.server!r} redirects to {shown} ({status})"
    return StatusError(endpoint.server, message, status, case="redirect")


def not_mcp(endpoint: Endpoint, stage: str, kind: str, body: bytes) -> RemoteProtocolError:
    """The error for a success status without an MCP message."""
    if is_page(kind, body):
        return RemoteProtocolError(
            endpoint.server,
            f"answered {stage} with an HTML page: this URL is a web page, not an MCP endpoint",
            case="url-page",
        )
    if not body:
        return RemoteProtocolError(endpoint.server, f"answered {stage} with an empty body")
    if not kind or kind == "application/json":
        return RemoteProtocolError(endpoint.server, f"answered {stage} with a body that is not valid JSON")
    return RemoteProtocolError(
        endpoint.server, f"answered {stage} with {one_line(kind)!r}, where MCP has JSON or an event stream"
    )


def is_page(kind: str, body: bytes) -> bool:
    """Whether a body is an HTML page, by its type or its beginning."""
    start = body[:64].lstrip().lower()
    return kind in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype html", b"<html"))


def _of_tls(error: ssl.SSLError) -> _Fault:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return _Fault("it does not speak TLS there; perhaps the URL begins with http://", case="tls-none")
    if reason == "UNEXPECTED_EOF_WHILE_READING":
        return _Fault("it closes the connection when TLS begins; perhaps the URL begins with http://", case="tls-none")
    if reason in ("UNSUPPORTED_PROTOCOL", "NO_PROTOCOLS_AVAILABLE") or "PROTOCOL_VERSION" in reason:
        return _Fault("it speaks only versions of TLS that are not accepted here", case="tls-version")
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason or "BAD_CERTIFICATE" in reason:
        return _REFUSES_CLIENT
    return _Fault(f"TLS failed ({reason.lower().replace('_', ' ') or one_line(str(error))})", case="tls")


def _is_end(error: Exception) -> bool:
    """Whether the connection was closed, and everything before was valid HTTP."""
    return "disconnected" in str(error) or "closed" in str(error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
