"""Fetching for authorization: which URLs may be used, and documents and tokens with a limit on the size, the time and
the redirects of each.

A metadata document is untrusted, and its URLs are fetched from this machine. So they must be https, except on this
machine, and a server on the Internet must not name addresses of this machine or its network. Token requests follow no
redirect.

The URLs come from servers. No request uses plain http, or goes to a network closer to this machine than the MCP server;
token requests follow no redirect.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from gaia_mcp.core.errors import AuthorizationError, DeadlineError
from gaia_mcp.protocol import NEWEST
from gaia_mcp.text.strict_json import JSONTextError, parse_json

if TYPE_CHECKING:
    import httpx2

    from gaia_mcp.core.deadline import Deadline

# Of any document: metadata has a few hundred bytes, tokens have some thousand.
MAX_BYTES = 1 << 20
# A document that takes longer will not arrive.
FETCH_SECONDS = 15.0
# Between `/path` and `/path/`, for instance.
MAX_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
# A compressed response could expand to a huge one.
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "MCP-Protocol-Version": NEWEST}
DEFAULT_PORTS = {"http": 80, "https": 443}
# Longer than any real one; it is printed, and opened in a browser.
MAX_URL_CHARS = 4096
# The characters of a URL: no blanks, no control characters, only ASCII.
_URL = re.compile(r"[!-~]+")


class Reply(NamedTuple):
    """The response of an endpoint. `document` is empty if the body is not a JSON object; `nonce` is that for DPoP."""

    status: int
    document: Mapping[str, Any]
    nonce: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300


class Fetcher:
    """Sends the requests for the authorization of one server; `server` is its name, for errors. Must be closed.

    With `is_trusted` the user has configured the authorization server: it may be on any network.
    """

    def __init__(
        self,
        server: str,
        url: str,
        *,
        is_trusted: bool = False,
        client: httpx2.Client | None = None,
        resolve: Callable[[str], Sequence[str]] | None = None,
        fetch_seconds: float = FETCH_SECONDS,
    ) -> None:
        import httpx2

        self.server = server
        self._url = url
        self._client = client or httpx2.Client(follow_redirects=False)
        self._limit = TimeLimit()
        self._resolve = resolve or addresses_of
        self._fetch_seconds = fetch_seconds
        self._nearest = Reach.MACHINE if is_trusted else None

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections. May be called twice."""
        self._client.close()

    @property
    def nearest(self) -> Reach:
        """The closest network that requests may go to: that of the server."""
        if self._nearest is None:
            self._nearest = self._reach(urlsplit(self._url).hostname or "")
        return self._nearest

    def document(self, url: str, about: str, deadline: Deadline) -> dict[str, Any] | None:
        """The JSON object at `url`; None for other responses, for example a 404 or an HTML page.

        `about` names it in errors. Raises `AuthorizationError` and `DeadlineError`.
        """
        for _ in range(MAX_REDIRECTS + 1):
            status, headers, data = self._exchange("GET", url, about, deadline)
            if status in _REDIRECTS and "location" in headers:
                url = self._redirected(url, headers["location"], about)
                continue
            if status == 429 or status >= 500:
                raise self.error(f"cannot be used: {about} at {url} answered with status {status}")
            if status != 200 or "json" not in headers.get("content-type", ""):
                return None
            value = _parsed(data)
            if value is None:
                raise self.unusable(f"{about} at {url} is not a JSON object")
            return value
        raise self.unusable(f"{about} at {url} is redirected without end")

    def post(
        self,
        url: str,
        about: str,
        deadline: Deadline,
        *,
        form: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a form, or a JSON `body`, to an endpoint. Raises `AuthorizationError` and `DeadlineError`, but returns
        an error response.
        """
        content: dict[str, Any] = {"data": dict(form)} if form is not None else {"json": body}
        status, answered, data = self._exchange("POST", url, about, deadline, headers=headers, **content)
        return Reply(status, _parsed(data) or {}, answered.get("dpop-nonce", ""))

    def refusal(self, headers: Mapping[str, str], body: bytes, deadline: Deadline) -> tuple[int, list[str]]:
        """Send a request to the server itself. Returns the status and the challenges; the rest of the response is not
        read. Raises `AuthorizationError` and `DeadlineError`.
        """
        import httpx2

        part = deadline.sooner(self._fetch_seconds)
        try:
            with self._asked("POST", self._url, part, headers=dict(headers), content=body) as response:
                return response.status_code, response.headers.get_list("www-authenticate")
        except (httpx2.HTTPError, httpx2.InvalidURL) as cause:
            if part.expired:
                allowed = min(deadline.allowed, self._fetch_seconds)
                raise DeadlineError(self.server, "while it was asked for its challenge", allowed) from cause
            raise self.error(f"cannot be reached: {cause}") from cause

    def error(self, problem: str, *, case: str = "") -> AuthorizationError:
        """An `AuthorizationError` for the server."""
        return AuthorizationError(self.server, problem, case=case)

    def unusable(self, reason: str) -> AuthorizationError:
        """The error for a server whose authorization violates a specification, which only its owner can fix."""
        return AuthorizationError(self.server, f"cannot be used: {reason}", case="authorization-invalid")

    def _exchange(
        self, method: str, url: str, about: str, deadline: Deadline, **content: Any
    ) -> tuple[int, httpx2.Headers, bytes]:
        import httpx2

        self._check(url, about)
        part = deadline.sooner(self._fetch_seconds)
        headers = {**_HEADERS, **(content.pop("headers", None) or {})}
        pieces, size = [], 0
        try:
            with self._asked(method, url, part, headers=headers, **content) as response:
                for piece in response.iter_raw():
                    pieces.append(piece)
                    size += len(piece)
                    if size > MAX_BYTES:
                        raise self.unusable(f"{about} at {url} is larger than {MAX_BYTES >> 20} MB")
                # A body without a length ends with its connection, even when the time limit closed it.
                if part.expired:
                    raise self._late(url, about, deadline)
                return response.status_code, response.headers, b"".join(pieces)
        except (httpx2.HTTPError, httpx2.InvalidURL) as cause:
            if part.expired:
                raise self._late(url, about, deadline) from cause
            reason = str(cause) or type(cause).__name__
            raise self.error(f"cannot be used: {about} at {origin_of(url)} cannot be reached: {reason}") from cause

    @contextmanager
    def _asked(self, method: str, url: str, deadline: Deadline, **content: Any) -> Iterator[httpx2.Response]:
        """The response to a request, which fails once `deadline` has passed."""
        seconds = max(deadline.remaining(), 0.001)
        asking = self._client.stream(method, url, timeout=seconds, extensions=self._limit.extensions, **content)
        with self._limit.until(deadline), asking as response:
            yield response

    def _late(self, url: str, about: str, deadline: Deadline) -> Exception:
        if deadline.expired:
            return DeadlineError(self.server, f"while {about} was fetched", deadline.allowed)
        return self.error(
            f"cannot be used: {about} at {origin_of(url)} did not answer within {self._fetch_seconds:g} s"
        )

    def _check(self, url: str, about: str) -> None:
        try:
            check_url(url, about, self.nearest)
            if self._reach(urlsplit(url).hostname or "") < self.nearest:
                raise UnacceptableError(f"{about} is an address of a private network")
        except UnacceptableError as cause:
            raise self.unusable(f"{cause}: {url[:200]!r}") from cause

    def _reach(self, host: str) -> Reach:
        reach = reach_of(host)
        # A proxy resolves the name itself, in its own network.
        if reach is not Reach.INTERNET or is_proxied(host):
            return reach
        return nearest(self._resolve(host))

    def _redirected(self, url: str, location: str, about: str) -> str:
        target = urljoin(url, location)
        try:
            is_same = origin_of(target) == origin_of(url)
        except UnacceptableError:
            is_same = False
        if not is_same:
            raise self.unusable(f"{about} at {url} is redirected to another origin")
        return target


def is_proxied(host: str) -> bool:
    """Whether requests to `host` go through a proxy, according to the environment."""
    from urllib.request import getproxies, proxy_bypass

    return bool({"http", "https", "all"} & set(getproxies())) and not proxy_bypass(host)


def addresses_of(host: str) -> list[str]:
    """The addresses of a host; none if it cannot be resolved, which the connection will report."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(data.decode())
    except (UnicodeDecodeError, JSONTextError):
        return None
    return value if isinstance(value, dict) else None


class TimeLimit:
    """Limits the requests of one client, one at a time. Pass `extensions` to each request."""

    def __init__(self) -> None:
        self.extensions: dict[str, Any] = {"trace": self._trace}
        # Whether the last request exceeded its limit.
        self.has_passed = False
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @contextmanager
    def until(self, deadline: Deadline) -> Iterator[None]:
        """Close the connection of the requests in this context once `deadline` has passed, so that they fail."""
        self.has_passed = False
        timer = threading.Timer(deadline.remaining(), self._pass)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _pass(self) -> None:
        with self._lock:
            self.has_passed = True
            self._shut_down()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.has_passed:
                    self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            # The shutdown of the plain socket, also for TLS: the TLS state belongs to the reading thread.
            with suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class UnacceptableError(ValueError):
    """A value from a server violates a rule. The message completes a sentence whose subject is the value."""


class Reach(IntEnum):
    """How far away a host is."""

    MACHINE = 0
    NETWORK = 1
    INTERNET = 2


def reach_of(host: str) -> Reach:
    """How far away a host is, judged by its name: an address or `localhost`. Any other name counts as Internet."""
    if is_localhost(host):
        return Reach.MACHINE
    try:
        return _reach_of_address(ipaddress.ip_address(host.strip("[]").partition("%")[0]))
    except ValueError:
        # Resolvers accept these as addresses too: 127.1, 2130706433, 0x7f000001.
        return Reach.MACHINE if _is_number(host) else Reach.INTERNET


def nearest(addresses: Iterable[str]) -> Reach:
    """How far away a host with these addresses is: as far as the nearest of them."""
    return min((reach_of(address) for address in addresses), default=Reach.INTERNET)


def is_localhost(host: str) -> bool:
    """Whether the name always means this machine."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def check_url(url: object, about: str, nearest_allowed: Reach) -> str:
    """`url`, if it may be fetched or opened. Raises `UnacceptableError`, which names it as `about`."""
    parts = split(url, about)
    assert isinstance(url, str)  # noqa: S101 (`split` has seen to that)
    reach = reach_of(parts.hostname or "")
    if parts.scheme != "https" and reach is not Reach.MACHINE:
        raise UnacceptableError(f"{about} is not https")
    if reach < nearest_allowed:
        raise UnacceptableError(f"{about} is an address of a private network")
    return url


def split(url: object, about: str) -> SplitResult:
    """The parts of an absolute HTTP URL without user and fragment. Raises `UnacceptableError`."""
    if not isinstance(url, str) or not _URL.fullmatch(url) or len(url) > MAX_URL_CHARS:
        raise UnacceptableError(f"{about} is not a URL")
    try:
        parts = urlsplit(url)
        # Hosts are looked up in this form, which allows no empty or very long label. UnicodeError is a ValueError.
        is_whole = parts.scheme in DEFAULT_PORTS and bool((parts.hostname or "").encode("idna")) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or parts.username is not None or "#" in url:
        raise UnacceptableError(f"{about} is not a URL that begins with https:// and has a host alone before its path")
    return parts


def origin_of(url: str) -> str:
    """Scheme, host and port, in lower case and without a default port. Raises `UnacceptableError`."""
    parts = split(url.partition("#")[0], "the URL")
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def path_of(url: str) -> str:
    """The path of a URL without a trailing slash. Raises `UnacceptableError`."""
    return split(url.partition("#")[0], "the URL").path.rstrip("/")


def canonical(url: str) -> str:
    """The URL of a server as a resource (RFC 8707): no query, no fragment, no trailing slash.

    Raises `UnacceptableError`.
    """
    return origin_of(url) + path_of(url)


def covers(resource: str, url: str) -> bool:
    """Whether a grant for `resource` covers the server at `url`: the same origin, and the same or a parent path.

    Raises `UnacceptableError`.
    """
    above, path = path_of(resource), path_of(url)
    return origin_of(resource) == origin_of(url) and (path == above or path.startswith(f"{above}/"))


def _reach_of_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Reach:
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if mapped is not None:
        return _reach_of_address(mapped)
    if address.is_loopback or address.is_unspecified:
        return Reach.MACHINE
    return Reach.INTERNET if address.is_global else Reach.NETWORK


def _is_number(host: str) -> bool:
    return all(re.fullmatch(r"\d+|0x[0-9a-f]+", part) for part in host.rstrip(".").split("."))
