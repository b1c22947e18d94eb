"""The proxy for a URL, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in the environment, or from the
settings of the system.
"""

from __future__ import annotations

import ipaddress
import urllib.request
from urllib.parse import urlsplit


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
