"""URLs that may be used, and those that a hostile document names."""

from __future__ import annotations

import pytest

from gaia_mcp.client.transports.http.auth.addresses import (
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


@pytest.mark.parametrize(
    ("host", "reach"),
    [
        ("localhost", Reach.MACHINE),
        ("LOCALHOST.", Reach.MACHINE),
        ("app.localhost", Reach.MACHINE),
        ("127.0.0.1", Reach.MACHINE),
        ("127.8.9.1", Reach.MACHINE),
        ("0.0.0.0", Reach.MACHINE),
        ("::1", Reach.MACHINE),
        ("[::1]", Reach.MACHINE),
        ("::ffff:127.0.0.1", Reach.MACHINE),
        ("2002:7f00:1::", Reach.MACHINE),
        ("2130706433", Reach.MACHINE),
        ("0x7f.1", Reach.MACHINE),
        ("10.0.0.8", Reach.NETWORK),
        ("192.168.1.1", Reach.NETWORK),
        ("169.254.169.254", Reach.NETWORK),
        ("100.64.0.1", Reach.NETWORK),
        ("fe80::1%eth0", Reach.NETWORK),
        ("fd00::1", Reach.NETWORK),
        ("93.184.216.34", Reach.INTERNET),
        ("2606:2800:220:1::1", Reach.INTERNET),
        ("auth.example.com", Reach.INTERNET),
        ("1password.com", Reach.INTERNET),
        ("a1", Reach.INTERNET),
    ],
)
def test_an_address_tells_how_far_away_it_is(host: str, reach: Reach) -> None:
    """Ours: addresses are recognized in every form that a resolver reads."""
    assert reach_of(host) is reach


def test_a_host_is_as_near_as_the_nearest_of_its_addresses() -> None:
    """Ours: the connection may be made to any of them."""
    assert nearest(["93.184.216.34", "10.0.0.1"]) is Reach.NETWORK
    assert nearest([]) is Reach.INTERNET
    assert not is_localhost("localhost.example.com")


@pytest.mark.parametrize(
    "url",
    ["https://auth.example.com/token?x=1", "http://localhost:8000/token", "http://127.0.0.1/", "https://10.0.0.1/a"],
)
def test_https_may_be_used_and_plain_http_on_this_machine(url: str) -> None:
    """Spec: AC-12, endpoints are https; loopback is for development."""
    assert check_url(url, "its token_endpoint", Reach.MACHINE) == url


@pytest.mark.parametrize(
    ("url", "problem"),
    [
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
    ],
)
def test_every_other_url_is_refused(url: object, problem: str) -> None:
    """Spec: AC-12."""
    with pytest.raises(UnacceptableError, match=f"its issuer {problem}"):
        check_url(url, "its issuer", Reach.MACHINE)


@pytest.mark.parametrize("url", ["https://127.0.0.1/a", "https://169.254.169.254/a", "http://localhost/a"])
def test_a_server_of_the_internet_names_no_address_of_this_network(url: str) -> None:
    """Ours: its documents would otherwise have us send requests where only we can."""
    with pytest.raises(UnacceptableError, match="private network"):
        check_url(url, "its token_endpoint", Reach.INTERNET)


def test_the_origin_and_the_path_of_a_url_are_compared_in_one_form() -> None:
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
