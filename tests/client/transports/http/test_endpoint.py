"""Where a server is, and how connections to it are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.client.transports.http.endpoint import Endpoint, same_origin
from gaia_mcp.errors import EntryError
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import Answer, Asked, line_to, result, serving


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1", "https://host:8443/mcp?a=b", "http://[::1]:80/mcp", "https://user:x@host/", "HTTP://host/mcp"],
)
def test_a_url_with_a_host_can_be_used(url: str) -> None:
    """Ours: whatever else it holds."""
    Endpoint("web", url, {"X-A": "b\tc", "Authorization": "Bearer é"}).check()


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///mcp",
        "http://host:0/",
        "http://host:99999/",
        "http://host:x/",
        "http://[::1/",
        "http://a..b/",
    ],
)
def test_a_url_that_leads_nowhere_is_an_error(url: str) -> None:
    """Ours: before anything is sent."""
    with pytest.raises(EntryError, match="'url' is not a URL with a host"):
        Endpoint("web", url).check()


@pytest.mark.parametrize("headers", [{"X A": "b"}, {"": "b"}, {"X:": "b"}, {"X-é": "b"}])
def test_a_header_that_has_no_possible_name_is_an_error(headers: dict[str, str]) -> None:
    """HTTP: names are tokens."""
    with pytest.raises(EntryError, match="cannot be named"):
        Endpoint("web", "http://host", headers).check()


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_a_header_cannot_tell_where_a_body_ends(name: str) -> None:
    """HTTP: a request with two ends may be read as two requests."""
    with pytest.raises(EntryError, match=f"'headers' holds '{name}', which each request has of its own"):
        Endpoint("web", "http://host", {name: "1"}).check()


@pytest.mark.parametrize(
    "value", ["hunter22\r\nX-Evil: 1", "hunter22\n", "hunter22\0", "hunter22\x7f", "hunter22\ud800"]
)
def test_a_value_cannot_begin_another_header(value: str) -> None:
    """Ours: it may come from a variable; and it is not shown."""
    with pytest.raises(EntryError, match="the header 'Authorization' holds characters") as caught:
        Endpoint("web", "http://host", {"Authorization": value}).check()
    assert "hunter22" not in str(caught.value)


def test_only_an_encrypted_connection_reads_the_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: reading them takes longer than a call."""
    monkeypatch.delenv("https_proxy", raising=False)
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] == 0

    assert Endpoint("web", "https://host").context().cert_store_stats()["x509"] > 0
    monkeypatch.setenv("http_proxy", "https://proxy")
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] > 0


def test_authorities_come_from_the_entry_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: as other programs read `SSL_CERT_FILE`; `~` is the home folder."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(result, server_context(authority.signed("web"))) as web:
        with line_to(web, ca="~/authority.pem") as line:
            assert "result" in line.ask("tools/list").message()
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        with line_to(web) as line:
            assert "result" in line.ask("tools/list").message()


def test_a_certificate_may_have_its_key_in_another_file(tmp_path: Path) -> None:
    """Ours: both are in PEM."""
    authority = Authority(tmp_path)
    signed = authority.signed("client")
    endpoint = Endpoint("web", "https://host", cert=signed, key=signed)

    assert endpoint.context()


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"ca": "none.pem"}, "'none.pem' cannot be used: No such file"),
        ({"cert": "none.pem"}, "'none.pem' cannot be used: No such file"),
        ({"ca": "text"}, "'text' cannot be used: not certificates in PEM"),
    ],
)
def test_a_file_that_holds_no_certificate_is_an_error(
    files: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it is named."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("hi")

    with pytest.raises(EntryError) as caught:
        Endpoint("web", "https://host", **files).context()
    assert named in str(caught.value)


def test_headers_of_the_entry_are_sent_with_ours(tmp_path: Path) -> None:
    """Ours: what a message is, no entry can change."""

    def answer(asked: Asked) -> Answer:
        return result(asked)

    headers = {"X-Key": "k", "X-Other": "é", "Accept": "text/html", "User-Agent": "mine"}
    with serving(answer) as web, line_to(web, headers=headers) as line:
        line.ask("tools/list").message()
        sent = web.asked[0].headers
    assert (sent["x-key"], sent["user-agent"]) == ("k", "mine")
    assert sent["accept"] == "application/json, text/event-stream"


def test_the_proxy_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: for errors, without credentials."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert Endpoint("web", "http://host/").proxy() == ""

    monkeypatch.setenv("all_proxy", "http://u:p@every:1")
    monkeypatch.setenv("http_proxy", "http://u:p@some:1")
    monkeypatch.setenv("no_proxy", "spared")
    assert Endpoint("web", "http://host/").proxy() == "some"
    assert Endpoint("web", "https://host/").proxy() == "every"
    assert Endpoint("web", "http://spared/").proxy() == ""


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("/mcp/", "https://host/mcp/"),
        ("other", "https://host/other"),
        ("https://host:443/x", "https://host:443/x"),
        ("https://HOST/x", "https://HOST/x"),
        ("http://host/x", None),
        ("https://host:444/x", None),
        ("https://host.evil/x", None),
        ("//evil/x", None),
        ("https://host@evil/x", None),
        ("https://host:x/", None),
        ("javascript:alert(1)", None),
    ],
)
def test_a_place_is_of_the_same_origin_or_nothing(place: str, found: str | None) -> None:
    """Ours: scheme, host and port."""
    assert same_origin("https://host/mcp", place) == found
