"""URLs of authorization: which may be used, and which are closer to this machine than the server that named them.

A metadata document is untrusted, and its URLs are fetched from this machine. So they must be https, except on this
machine, and a server on the Internet must not name addresses of this machine or its network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from enum import IntEnum
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
# Longer than any real one; it is printed, and opened in a browser.
MAX_URL_CHARS = 4096
# The characters of a URL: no blanks, no control characters, only ASCII.
_URL = re.compile(r"[!-~]+")


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
