"""The loopback listener, asked as browsers and others ask."""

from __future__ import annotations

import socket
import threading

import httpx2
import pytest

from gaia_mcp.client.transports.http.auth.listener import (
    LOCALHOST,
    REFUSED,
    TAKEN,
    Listener,
    PortTakenError,
    RedirectUriError,
    without_port,
)
from tests.waiting import ENOUGH_SECONDS, wait_until


def is_bound(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_redirect_of_a_login_is_accepted_once() -> None:
    """Spec: AC-12: on the loopback address; AC-5: one that is replayed is refused."""
    with Listener() as listener:
        assert listener.redirect_uri == f"http://127.0.0.1:{listener.port}/callback"
        listener.expect(lambda path: "state=ours" in path)

        page = httpx2.get(f"{listener.redirect_uri}?code=C&state=ours")
        again = httpx2.get(f"{listener.redirect_uri}?code=C&state=ours")

        assert (page.status_code, again.status_code) == (200, 400)
        assert TAKEN in page.text
        assert listener.take(ENOUGH_SECONDS) == "/callback?code=C&state=ours"
        assert listener.take(0.01) is None


def test_an_unrelated_request_is_refused_and_the_listener_keeps_waiting() -> None:
    """Ours: a browser asks for an icon, and another page may guess the port; nothing of a request is shown."""
    with Listener() as listener:
        early = httpx2.get(f"{listener.redirect_uri}?state=ours")
        listener.expect(lambda path: "state=ours" in path)
        pages = [
            httpx2.get(f"http://127.0.0.1:{listener.port}/favicon.ico"),
            httpx2.get(f"{listener.redirect_uri}?state=stolen&error=%3Cscript%3E"),
            httpx2.post(f"{listener.redirect_uri}?state=ours"),
        ]

        assert [page.status_code for page in [early, *pages]] == [400, 404, 400, 501]
        assert pages[1].text.count("script") == 0
        assert REFUSED in pages[1].text
        assert listener.take(0.01) is None
        assert httpx2.get(f"{listener.redirect_uri}?state=ours").status_code == 200


def test_a_page_runs_no_script_and_is_not_cached() -> None:
    """Ours: the URL of the page holds the code."""
    with Listener() as listener:
        headers = httpx2.get(listener.redirect_uri).headers

    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["server"] == "gaia-mcp"


def test_a_listener_may_be_closed_twice_and_with_open_connections() -> None:
    """Ours: browsers open connections in advance, and send nothing."""
    listener = Listener()
    with socket.create_connection(("127.0.0.1", listener.port)), socket.create_connection(("127.0.0.1", listener.port)):
        listener.close()
        listener.close()
    port = listener.port

    assert not is_bound(port)
    wait_until(lambda: not [each for each in threading.enumerate() if each.name == "gaia-mcp login"])


def test_a_connection_reset_by_the_browser_is_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    """Ours: nothing is printed."""
    with Listener() as listener:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", listener.port)) as gone:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                gone.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        assert httpx2.get(f"http://127.0.0.1:{listener.port}/").status_code == 404
        for server in listener._servers:
            server.handle_error(None, None)

    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_an_error() -> None:
    """Ours: a client that was registered by hand has one port."""
    with Listener() as first, pytest.raises(PortTakenError):
        Listener(port=first.port)


def test_localhost_listens_on_ipv4_and_ipv6() -> None:
    """Ours: browsers look the name up, and some try IPv6 first."""
    with Listener(LOCALHOST) as listener:
        assert listener.redirect_uri == f"http://localhost:{listener.port}/callback"
        for host in ["127.0.0.1"] + ["[::1]"] * has_ipv6():
            assert httpx2.get(f"http://{host}:{listener.port}/").status_code == 404


def test_a_port_in_use_on_ipv6_alone_is_an_error() -> None:
    """Ours: the code would go to that program."""
    if not has_ipv6():
        pytest.skip("this machine has no IPv6, which a browser on it does not use either")
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other, pytest.raises(PortTakenError):
        Listener(LOCALHOST, other.getsockname()[1])


def test_an_unavailable_address_is_skipped() -> None:
    """Ours: without IPv6 no browser goes there; without 127.0.0.1 there is no login."""
    listener = Listener()
    try:
        listener._listen("::2:3", 0, is_needed=False)
        assert len(listener._servers) == 1
    finally:
        listener.close()
    with pytest.raises(OverflowError):
        Listener(port=70000)


def test_the_redirect_uri_is_used_as_it_was_registered() -> None:
    """RFC 6749, §3.1.2.3: servers compare it as text; RFC 8252, §7.3: a server that compares no port allows any."""
    port = free_port()
    uris = [
        f"http://LocalHost:{port}/oauth/callback",
        f"http://127.0.0.1:{port}",
        *[f"http://[::1]:{port}/cb"] * has_ipv6(),
    ]
    for uri in uris:
        with Listener(uri, 9) as listener:
            assert (listener.redirect_uri, listener.port) == (uri, port)
            listener.expect(lambda path: "state=ours" in path)
            assert httpx2.get(f"{uri}?state=ours").status_code == 200
            assert httpx2.get(f"http://{httpx2.URL(uri).netloc.decode()}/elsewhere?state=ours").status_code == 404
    with Listener("http://localhost/oauth/callback", port) as listener:
        assert listener.redirect_uri == f"http://localhost:{port}/oauth/callback"
        assert without_port(listener.redirect_uri) == "http://localhost/oauth/callback"


def test_a_redirect_uri_of_another_machine_is_refused() -> None:
    """RFC 8252, §7.3: the code would go there, or in the clear; RFC 6749, §3.1.2: without a fragment."""
    taken = []
    for uri in (
        "https://127.0.0.1:3118/callback",
        "http://example.com:3118/callback",
        "http://127.0.0.1.example.com/callback",
        "http://localhost@example.com/callback",
        "http://0.0.0.0:3118/callback",
        "http://me@localhost:3118/callback",
        "http://localhost:3118/callback?x=1",
        "http://localhost:3118/callback#x",
        "http://localhost:99999/callback",
        "http://[::1/callback",
        "myapp://callback",
        "localhost:3118/callback",
        "",
    ):
        try:
            Listener(uri).close()
        except RedirectUriError:
            continue
        taken.append(uri)

    assert not taken


def test_an_oserror_of_the_socket_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a machine without sockets left."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    # A limit of open files would also stop what reports this test.
    monkeypatch.setattr(socket, "socket", refused)
    with pytest.raises(OSError, match="Too many"):
        Listener()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False
