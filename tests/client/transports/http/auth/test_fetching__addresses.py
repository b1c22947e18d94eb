"""URLs that may be used, and those that a hostile document names."""

from __future__ import annotations

import pytest

from gaia_mcp.client.transports.http.auth.fetching import (
    MAX_URL_CHARS,
    Reach,
    UnacceptableError,
    canonical,
    check_url,
    covers,
    is_localhost,
    nearest,
    origin_of,
    path_of,
    reach_of,
)

REACHES = {
    "localhost": Reach.MACHINE,
    "LOCALHOST.": Reach.MACHINE,
    "app.localhost": Reach.MACHINE,
    "127.0.0.1": Reach.MACHINE,
    "127.8.9.1": Reach.MACHINE,
    "0.0.0.0": Reach.MACHINE,
    "::1": Reach.MACHINE,
    "[::1]": Reach.MACHINE,
    "::ffff:127.0.0.1": Reach.MACHINE,
    "2002:7f00:1::": Reach.MACHINE,
    "2130706433": Reach.MACHINE,
    "0x7f.1": Reach.MACHINE,
    "10.0.0.8": Reach.NETWORK,
    "192.168.1.1": Reach.NETWORK,
    "169.254.169.254": Reach.NETWORK,
    "100.64.0.1": Reach.NETWORK,
    "fe80::1%eth0": Reach.NETWORK,
    "fd00::1": Reach.NETWORK,
    "93.184.216.34": Reach.INTERNET,
    "2606:2800:220:1::1": Reach.INTERNET,
    "auth.example.com": Reach.INTERNET,
    "1password.com": Reach.INTERNET,
    "a1": Reach.INTERNET,
}


def test_an_address_is_of_this_machine_of_a_private_network_or_of_the_internet() -> None:
    """Ours: addresses are recognized in every form that a resolver reads."""
    assert {host: reach_of(host) for host in REACHES} == REACHES


def test_a_host_is_classified_by_the_nearest_of_its_addresses() -> None:
    """Ours: the connection may be made to any of them."""
    assert nearest(["93.184.216.34", "10.0.0.1"]) is Reach.NETWORK
    assert nearest([]) is Reach.INTERNET
    assert not is_localhost("localhost.example.com")


def refusal_of(url: object, about: str = "its token_endpoint", nearest: Reach = Reach.MACHINE) -> Exception | None:
    """The error that a URL raises; None if it may be used."""
    try:
        assert check_url(url, about, nearest) == url
    except Exception as error:
        return error
    return None


def test_https_is_accepted_and_plain_http_on_loopback() -> None:
    """Spec: AC-12, endpoints are https; loopback is for development."""
    urls = [
        "https://auth.example.com/token?x=1",
        "http://localhost:8000/token",
        "http://127.0.0.1/",
        "https://10.0.0.1/a",
    ]

    assert [refusal_of(url) for url in urls] == [None] * len(urls)


REFUSED_URLS: list[tuple[object, str]] = [
    ("http://auth.example.com/token", "is not https"),
    ("http://10.0.0.1/token", "is not https"),
    ("ftp://auth.example.com/", "is not a URL that begins with https://"),
    ("https:///token", "is not a URL that begins with https://"),
    ("https://auth.example.com:99999/", "is not a URL that begins with https://"),
    ("https://auth.example.com:0/", "is not a URL that begins with https://"),
    ("https://user@auth.example.com/", "is not a URL that begins with https://"),
    ("https://auth.example.com/#x", "is not a URL that begins with https://"),
    ("https://a..b/", "is not a URL that begins with https://"),
    ("https://[::1/", "is not a URL that begins with https://"),
    ("javascript:alert(1)", "is not a URL that begins with https://"),
    ("https://auth.example.com/a b", "is not a URL"),
    ("https://auth.example.com/\r\nX: y", "is not a URL"),
    ("https://auth.example.com/ä", "is not a URL"),
    ("https://a/" + "a" * MAX_URL_CHARS, "is not a URL"),
    ("", "is not a URL"),
    (None, "is not a URL"),
    (["https://a/"], "is not a URL"),
]


def test_every_other_url_is_refused() -> None:
    """Spec: AC-12: each of them would send a request or a secret in the clear, or is not an HTTP URL at all."""
    wrong = []
    for url, problem in REFUSED_URLS:
        error = refusal_of(url, "its issuer")
        if not (isinstance(error, UnacceptableError) and f"its issuer {problem}" in str(error)):
            wrong.append((url, error))

    assert not wrong


@pytest.mark.parametrize("url", ["https://127.0.0.1/a", "https://169.254.169.254/a", "http://localhost/a"])
def test_a_server_on_the_internet_may_not_name_a_private_address(url: str) -> None:
    """Ours: its documents would otherwise have us send requests where only we can."""
    with pytest.raises(UnacceptableError, match="private network"):
        check_url(url, "its token_endpoint", Reach.INTERNET)


def test_origins_and_paths_are_normalized_before_they_are_compared() -> None:
    """Spec: RFC 3986, §6.2: scheme and host ignore case, a default port may be left out."""
    assert origin_of("HTTPS://MCP.Example.com:443/Mcp/?q#f") == "https://mcp.example.com"
    assert origin_of("http://[::1]:8000/x") == "http://[::1]:8000"
    assert path_of("https://mcp.example.com/Mcp/?q#f") == "/Mcp"
    assert canonical("https://MCP.example.com/mcp/?a=b#c") == "https://mcp.example.com/mcp"


def test_a_resource_covers_its_own_url_and_those_below() -> None:
    """Spec: the resource of the metadata has the server's origin, and a path that leads to the server's."""
    assert covers("https://a.example/mcp", "https://A.example:443/mcp/")
    assert covers("https://a.example", "https://a.example/mcp")
    assert covers("https://a.example/", "https://a.example/mcp")
    assert covers("https://a.example/x", "https://a.example/x/mcp")
    assert not covers("https://a.example/x", "https://a.example/xy")
    assert not covers("https://a.example/mcp/more", "https://a.example/mcp")
    assert not covers("https://b.example/mcp", "https://a.example/mcp")
    assert not covers("https://a.example:444/mcp", "https://a.example/mcp")
