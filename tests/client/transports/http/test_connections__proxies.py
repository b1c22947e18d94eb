"""Which proxy a URL is asked for through."""

from __future__ import annotations

import pytest

from gaia_mcp.client.transports.http.connections import proxy_of

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_environment_names_a_proxy_for_each_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: as curl and most programs read these variables."""
    assert proxy_of("http://host/") == ""

    monkeypatch.setenv("ALL_PROXY", "http://u:p@every:1")
    monkeypatch.setenv("HTTP_PROXY", "some:1")
    assert proxy_of("http://host/") == "http://some:1"
    assert proxy_of("https://host/") == "http://u:p@every:1"


SPARED = [
    ("host.example", "http://host.example/", False),
    ("host.example", "http://sub.host.example/", False),
    ("host.example", "http://otherhost.example/", True),
    (".host.example", "http://sub.host.example/", False),
    ("*.host.example", "http://sub.host.example/", False),
    ("other, host.example:8000", "http://host.example:8000/", False),
    ("host.example:8000", "http://host.example:8001/", True),
    ("10.0.0.0/8", "http://10.1.2.3/", False),
    ("10.0.0.0/8", "http://11.1.2.3/", True),
    ("10.0.0.0/8", "http://host/", True),
    ("[::1]", "http://[::1]:80/", False),
    ("fd00::/8", "http://[fd00::5]/", False),
    ("*", "http://host/", False),
    ("", "http://host/", True),
]


def test_hosts_in_no_proxy_are_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: names with the names below them, addresses, networks, and ports."""
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:1")

    def is_proxied(spared: str, url: str) -> bool:
        monkeypatch.setenv("NO_PROXY", spared)
        return bool(proxy_of(url))

    assert {(spared, url): is_proxied(spared, url) for spared, url, _ in SPARED} == {
        (spared, url): goes for spared, url, goes in SPARED
    }
