"""Where a server is, and how connections to it are made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.client.transports.http.endpoint import Endpoint, same_origin, shown_origin
from gaia_mcp.errors import EntryError
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import Answer, Asked, line_to, result, serving

USABLE_URLS = [
    "http://127.0.0.1",
    "https://host:8443/mcp?a=b",
    "http://[::1]:80/mcp",
    "https://user:x@host/",
    "HTTP://host/mcp",
]


def refusal_of(url: str, headers: dict[str, str] | None = None) -> Exception | None:
    """The error that an entry with this URL and these headers raises."""
    try:
        Endpoint("web", url, headers or {}).check()
    except Exception as error:
        return error
    return None


def refuses(error: Exception | None, words: str) -> bool:
    return isinstance(error, EntryError) and words in str(error)


def test_a_url_with_a_host_is_valid() -> None:
    """Ours: whatever else it holds."""
    headers = {"X-A": "b\tc", "Authorization": "Bearer é"}

    assert [(url, error) for url in USABLE_URLS if (error := refusal_of(url, headers)) is not None] == []


UNUSABLE_URLS = [
    "http://",
    "http:///mcp",
    "http://host:0/",
    "http://host:99999/",
    "http://host:x/",
    "http://[::1/",
    "http://a..b/",
]


def test_a_url_without_a_valid_host_or_port_is_an_error() -> None:
    """Ours: before anything is sent."""
    found = {url: refusal_of(url) for url in UNUSABLE_URLS}

    assert {url: error for url, error in found.items() if not refuses(error, "'url' is not a URL with a host")} == {}


def test_an_invalid_header_name_is_an_error() -> None:
    """HTTP: names are tokens."""
    found = {name: refusal_of("http://host", {name: "b"}) for name in ("X A", "", "X:", "X-é")}

    assert {name: error for name, error in found.items() if not refuses(error, "cannot be named")} == {}


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding"])
def test_content_length_and_transfer_encoding_cannot_be_configured(name: str) -> None:
    """HTTP: a request with two ends may be read as two requests."""
    with pytest.raises(EntryError, match=f"'headers' holds '{name}', which each request has of its own"):
        Endpoint("web", "http://host", {name: "1"}).check()


def test_a_header_value_with_control_characters_is_an_error() -> None:
    """Ours: it may come from a variable; and it is not shown."""
    faults = {
        "hunter22\r\nX-Evil: 1": "contains a line break",
        "hunter22\n": "contains a line break",
        "hunter22\0": "contains characters that HTTP does not allow",
        "hunter22\x7f": "contains characters that HTTP does not allow",
        "hunter22\ud800": "contains characters that HTTP does not allow",
        "hunter22 ": "ends with a space",
        "\thunter22": "begins with a tab",
    }
    for value, fault in faults.items():
        error = refusal_of("http://host", {"Authorization": value})

        assert refuses(error, f"the header 'Authorization' {fault}"), (value, error)
        assert "hunter22" not in str(error), value


def test_the_certificate_authorities_are_loaded_only_for_https(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: reading them takes longer than a call."""
    monkeypatch.delenv("https_proxy", raising=False)
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] == 0

    assert Endpoint("web", "https://host").context().cert_store_stats()["x509"] > 0
    monkeypatch.setenv("http_proxy", "https://proxy")
    assert Endpoint("web", "http://host").context().cert_store_stats()["x509"] > 0


def test_certificate_authorities_are_read_from_the_entry_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as other programs read `SSL_CERT_FILE`; `~` is the home folder."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(result, server_context(authority.signed("web"))) as web:
        with line_to(web, ca="~/authority.pem") as line:
            assert "result" in line.ask("tools/list").message()
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        with line_to(web) as line:
            assert "result" in line.ask("tools/list").message()


def test_a_client_certificate_may_have_its_key_in_another_file(tmp_path: Path) -> None:
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
def test_a_missing_or_invalid_certificate_file_is_an_error(
    files: dict[str, Any], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it is named."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("hi")

    with pytest.raises(EntryError) as caught:
        Endpoint("web", "https://host", **files).context()
    assert named in str(caught.value)


def test_headers_of_the_entry_are_sent_with_those_of_the_protocol(tmp_path: Path) -> None:
    """Ours: what a message is, no entry can change."""

    def answer(asked: Asked) -> Answer:
        return result(asked)

    headers = {"X-Key": "k", "X-Other": "é", "Accept": "text/html", "User-Agent": "mine"}
    with serving(answer) as web, line_to(web, headers=headers) as line:
        line.ask("tools/list").message()
        sent = web.asked[0].headers
    assert (sent["x-key"], sent["user-agent"]) == ("k", "mine")
    assert sent["accept"] == "application/json, text/event-stream"


def test_the_proxy_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
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


PLACES = {
    "/mcp/": "https://host/mcp/",
    "other": "https://host/other",
    "https://host:443/x": "https://host:443/x",
    "https://HOST/x": "https://HOST/x",
    "http://host/x": None,
    "https://host:444/x": None,
    "https://host.evil/x": None,
    "//evil/x": None,
    "https://host@evil/x": None,
    "https://host:x/": None,
    "javascript:alert(1)": None,
}


def test_an_origin_is_shown_without_the_rest_of_the_url() -> None:
    """Ours: the path, the query and the user may hold secrets."""
    urls = {
        "https://me:secret@host:8443/sse?key=secret": "https://host:8443",
        "http://[::1]:80/x": "http://[::1]:80",
        "https://host\x07/": "https://host\\x07",
        "http://[::1": "an invalid URL",
    }

    assert {url: shown_origin(url) for url in urls} == urls


def test_a_url_of_another_origin_is_rejected() -> None:
    """Ours: scheme, host and port."""
    assert {place: same_origin("https://host/mcp", place) for place in PLACES} == PLACES
