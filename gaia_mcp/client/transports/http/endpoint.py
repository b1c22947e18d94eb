"""The address of a server and how to connect to it: its URL, headers, certificates and proxies."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import httpx2

from gaia_mcp.errors import EntryError
from gaia_mcp.protocol.headers import header_fault
from gaia_mcp.safetext import one_line

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# If an entry set one of these, a body would have two lengths: the rest of it could be read as another request.
_OF_BODIES = ("content-length", "transfer-encoding")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """The URL of a server, and the headers of its entry. `ca`, `cert` and `key` are files: the authorities to trust
    instead of the system's, and the client certificate with its key.
    """

    server: str
    url: str
    headers: Mapping[str, str] = NO_HEADERS
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Raise `EntryError` for a URL or headers that HTTP cannot carry. The error contains no header values."""
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name):
                raise EntryError(self.server, f"'headers' holds a header that cannot be named {name!r}")
            if name.lower() in _OF_BODIES:
                raise EntryError(self.server, f"'headers' holds {name!r}, which each request has of its own")
            if (fault := header_fault(value)) is not None:
                raise EntryError(self.server, f"the header {name!r} {fault}")
        try:
            # Hosts are looked up in this form, which allows no empty or very long label. UnicodeError is a ValueError.
            is_complete = (
                bool(httpx2.URL(self.url).raw_host.decode("ascii").encode("idna")) and urlsplit(self.url).port != 0
            )
        except (httpx2.InvalidURL, ValueError):
            is_complete = False
        if not is_complete:
            raise EntryError(self.server, "'url' is not a URL with a host and, if it has one, a valid port")

    def context(self) -> ssl.SSLContext:
        """The TLS context, with the authorities of the system, of `SSL_CERT_FILE` or `SSL_CERT_DIR`, or of `ca`. Raises
        `EntryError` for files that cannot be used.
        """
        if not self.url.lower().startswith("https:") and not proxy_of(self.url).startswith("https:"):
            # Loading the authorities takes longer than a call. Without them this context trusts nothing.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        file = self.ca or os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or "the system"
        try:
            if self.ca is not None:
                context = ssl.create_default_context(cafile=str(Path(self.ca).expanduser()))
            else:
                context = httpx2.create_ssl_context()
            if self.cert is not None:
                file = self.cert
                key = str(Path(self.key).expanduser()) if self.key is not None else None
                # A pass phrase cannot be prompted for here.
                context.load_cert_chain(str(Path(self.cert).expanduser()), key, password="")
        except (OSError, ValueError) as cause:
            is_missing = isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError)
            reason = cause.strerror if is_missing else "not certificates in PEM, or not the key that belongs to them"  # type: ignore[union-attr]
            raise EntryError(self.server, f"the certificates of {file!r} cannot be used: {reason}") from cause
        return context

    def proxy(self) -> str:
        """The host of the proxy that connections go through, empty without one. For errors."""
        return urlsplit(proxy_of(self.url)).hostname or ""


def same_origin(url: str, place: str) -> str | None:
    """`place`, which may be relative, resolved against `url`; None if it has another origin."""
    found = urljoin(url, place)
    try:
        return found if _origin(found) == _origin(url) else None
    except ValueError:
        return None


def shown_origin(url: str) -> str:
    """The origin of a URL, as it is shown in an error."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid URL"
    return one_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def proxy_of(url: str) -> str:
    """The URL of the proxy through which requests to `url` go, empty without one."""
    proxies = urllib.request.getproxies()
    parts = urlsplit(url)
    found = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not found or _is_spared(parts.hostname or "", parts.port, proxies.get("no", "")):
        return ""
    return found if "://" in found else f"http://{found}"


def _is_spared(host: str, port: int | None, no_proxy: str) -> bool:
    # curl supports networks and `*.`, the standard library does not.
    for name in no_proxy.lower().split(","):
        spared = name.strip().removeprefix("*.").strip("[]")
        if _is_in_network(host, spared) or (spared and host.endswith(f".{spared}")):
            return True
    return bool(urllib.request.proxy_bypass(host if port is None else f"{host}:{port}"))


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
