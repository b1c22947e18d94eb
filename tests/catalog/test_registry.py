"""The client of a registry, against one on loopback."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from gaia_mcp.catalog.registry import MAX_PAGES, MAX_RESPONSE_BYTES, Registry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import CatalogError, DeadlineError, RegistryError, RegistryUnknownError
from tests.registry_support import ServedRegistry, document, served_registry
from tests.waiting import ENOUGH_SECONDS

SERVERS = "/v0.1/servers"
TIME = "/v0.1/servers/io.github.a%2Ftime/versions/latest"


@pytest.fixture
def served() -> Iterator[ServedRegistry]:
    with served_registry() as registry:
        registry.documents = [
            document("io.github.a/time"),
            document("io.github.a/time", version="1.1.0+b"),
            document("io.github.a/clock", description="Tells the Time, twice."),
            document("io.github.b/timer", title="Egg"),
            document("io.github.b/timeless"),
        ]
        yield registry


def _opened(url: str, seconds: float = ENOUGH_SECONDS) -> Registry:
    return Registry(url, Deadline(seconds))


def test_a_document_is_read_by_name_and_version(served: ServedRegistry) -> None:
    """Registry API v0.1: names and versions are encoded."""
    with _opened(f"{served.url}/") as registry:
        assert registry.document("io.github.a/time").version == "1.1.0+b"
        assert registry.document("io.github.a/time", "1.1.0+b").version == "1.1.0+b"

    assert served.asked == [TIME, TIME.replace("latest", "1.1.0%2Bb")]


def test_a_search_reads_all_pages_and_descriptions(served: ServedRegistry) -> None:
    """Registry API v0.1: it searches names alone, and only the newest versions are asked for."""
    served.notes["io.github.b/timeless"] = {"status": "deleted"}
    served.documents.append({"name": "io.github.c/time-of-no-version"})

    with _opened(served.url) as registry:
        assert [one.name for one in registry.search(["TIME"])] == ["io.github.a/time", "io.github.b/timer"]
        assert [one.name for one in registry.search(["time", "egg"])] == ["io.github.b/timer"]
        # The longest word is in no name.
        assert [one.name for one in registry.search(["twice.", "clock"])] == ["io.github.a/clock"]
        assert list(registry.search(["nothing"])) == []
        # Thousands of names begin so.
        assert list(registry.search(["github"])) == []
        assert [one.name for one in registry.search(["github", "clock"])] == []

    assert served.asked[:2] == [
        f"{SERVERS}?version=latest&limit=100&search=time",
        f"{SERVERS}?version=latest&limit=100&search=time&cursor=2",
    ]


def test_an_unknown_server_or_version_is_reported(served: ServedRegistry) -> None:
    """Ours: a version is missing, or the whole server."""
    with _opened(served.url) as registry:
        for version, what in (("latest", "server 'a.b/c'"), ("9", "version '9' of 'a.b/c'")):
            with pytest.raises(RegistryUnknownError) as caught:
                registry.document("a.b/c", version)
            assert str(caught.value) == f"the registry {served.url} has no {what}"


def test_an_invalid_document_is_named(served: ServedRegistry) -> None:
    """Ours: the document is at fault, not the connection."""
    body = json.dumps({"server": document("io.github.a/time", version="latest")}).encode()
    served.answers[TIME] = (200, body)

    with _opened(served.url) as registry, pytest.raises(CatalogError) as caught:
        registry.document("io.github.a/time")

    assert caught.value.name == "io.github.a/time"
    assert str(caught.value).endswith("invalid document: version is 'latest', not one version such as '1.0.2'")


def test_an_invalid_response_is_an_error(served: ServedRegistry) -> None:
    """Ours: any web server may be at the URL."""
    cases = [
        (500, b"", "responded with status 500"),
        (302, b"", "responded with status 302"),
        (429, b"", "responded with status 429: too many requests"),
        (401, b"", "demands authorization: it responded with status 401"),
        (403, b"", "demands authorization: it responded with status 403"),
        (200, b"<html>", "did not return a JSON object: is it the URL of a registry?"),
        (200, b"\xff", "did not return a JSON object: is it the URL of a registry?"),
        (200, b"{}", "returned a server that is not an object"),
        (200, b" " * (MAX_RESPONSE_BYTES + 1), "sent more than 10 MiB"),
    ]

    def problem(status: int, body: bytes) -> str | None:
        served.answers[TIME] = (status, body)
        try:
            with _opened(served.url) as registry:
                registry.document("io.github.a/time")
        except RegistryError as error:
            return str(error).removeprefix(f"the registry {served.url} ")
        return None

    wrong = [(status, found) for status, body, expected in cases if (found := problem(status, body)) != expected]

    assert not wrong


def test_a_registry_that_has_moved_is_named_with_its_new_url(served: ServedRegistry) -> None:
    """Ours: a redirect is not followed, for the user has chosen this registry."""
    served.answers[TIME] = (301, f"http://other.example:80/api{TIME}".encode())

    with _opened(served.url) as registry, pytest.raises(RegistryError) as caught:
        registry.document("io.github.a/time")

    assert str(caught.value) == f"the registry {served.url} redirects to http://other.example:80/api"
    assert caught.value.moved == "http://other.example:80/api"


def test_a_missing_list_of_servers_is_an_error(served: ServedRegistry) -> None:
    """Ours: most likely the path of the URL is wrong."""
    served.answers[SERVERS] = (404, b"<html>")

    with _opened(served.url) as registry, pytest.raises(RegistryError) as caught:
        list(registry.search(["time"]))
    assert str(caught.value) == f"the registry {served.url} has no list of servers: is it the URL of a registry?"


def test_pages_that_repeat_end_a_search(served: ServedRegistry) -> None:
    """Ours: each server is found once, however often it is listed."""
    one = {"server": served.documents[0]}
    served.answers[SERVERS] = (200, json.dumps({"servers": [one, one], "metadata": {"nextCursor": "x"}}).encode())

    with _opened(served.url) as registry:
        assert [found.name for found in registry.search(["time"])] == ["io.github.a/time"]
    assert len(served.asked) == 2


def test_a_search_reads_a_limited_number_of_pages(served: ServedRegistry) -> None:
    """Ours: the pages of a registry may have no end. A search with more matches has to be narrowed down."""
    served.page_servers = 1
    served.documents = [document(f"io.github.a/time{number}") for number in range(MAX_PAGES + 1)]

    with _opened(served.url) as registry:
        assert len(list(registry.search(["time"]))) == MAX_PAGES
    assert len(served.asked) == MAX_PAGES


def test_a_registry_may_lie_below_a_path(served: ServedRegistry) -> None:
    """Ours: companies mount it beside other services."""
    for path in ("", "/", "/api/mcp", "/api/mcp//"):
        below = path.rstrip("/")
        served.answers[below + TIME] = (200, json.dumps({"server": served.documents[0]}).encode())
        with _opened(served.url + path) as registry:
            assert registry.document("io.github.a/time").name == "io.github.a/time", path
        assert registry.url == served.url + below


def test_credentials_and_a_token_go_to_the_registry_and_nowhere_else(served: ServedRegistry) -> None:
    """Ours: not into its name either, which is shown and saved."""
    host = served.url.removeprefix("http://")
    with _opened(f"http://ada:pa%20ss@{host}") as registry:
        registry.document("io.github.a/time")
    with Registry(served.url, Deadline(ENOUGH_SECONDS), token="t0ken") as other:
        other.document("io.github.a/time")

    assert registry.url == served.url
    assert served.authorization == ["Basic YWRhOnBhIHNz", "Bearer t0ken"]


def test_an_invalid_page_ends_a_search(served: ServedRegistry) -> None:
    """Ours: what the registry returns besides servers is not followed."""
    served.answers[SERVERS] = (200, b'{"servers": [7, {"server": 1}], "metadata": 5}')

    with _opened(served.url) as registry:
        assert list(registry.search(["time"])) == []


def test_an_unreachable_or_silent_registry_is_an_error() -> None:
    """Ours: within the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with _opened(url, 0.2) as registry, pytest.raises(DeadlineError):
            registry.document("a.b/c")
    with _opened(url) as registry, pytest.raises(RegistryError, match="cannot be reached"):
        registry.document("a.b/c")
    with _opened("http://a..b") as registry, pytest.raises(RegistryError, match="cannot be reached"):
        registry.document("a.b/c")
    for wrong in ("ftp://x", "http://", "http://x?a=1", "http://x/#a", "http://[x", "http://x:y"):
        with pytest.raises(RegistryError, match="is not an http or https URL without a query"):
            _opened(wrong)


@pytest.mark.parametrize("head", [b"content-length: 999999\r\n\r\n", b"\r\n", b"x: "])
def test_a_response_that_never_ends_is_cut_at_the_deadline(head: bytes) -> None:
    """Ours: each byte would begin the wait anew."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def drip() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)
                while not ended.wait(0.02):
                    connection.sendall(b" ")

        thread = threading.Thread(target=drip)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        try:
            with _opened(url, 0.3) as registry, pytest.raises(DeadlineError):
                registry.document("a.b/c")
        finally:
            ended.set()
            # On a busy machine the deadline may have expired before the connection was made.
            with contextlib.suppress(OSError):
                socket.create_connection(server.getsockname()).close()
            thread.join()
