"""Fetching from servers that do everything wrong."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx2
import pytest

from gaia_mcp.client.transports.http.auth.fetching import (
    MAX_BYTES,
    Fetcher,
    Reach,
    Reply,
    addresses_of,
    is_proxied,
)
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError, DeadlineError
from tests.client.transports.http.auth.world import Answer, World
from tests.waiting import ENOUGH_SECONDS, deadline_until

if TYPE_CHECKING:
    from collections.abc import Iterator

ABOUT = "the metadata of the resource"


@pytest.fixture
def fetcher(world: World) -> Iterator[Fetcher]:
    with Fetcher("web", world.url) as made:
        yield made


def fetched(fetcher: Fetcher, world: World, answer: Answer) -> object:
    world.routes["/meta"] = lambda _: answer
    return fetcher.document(f"{world.origin}/meta", ABOUT, Deadline(ENOUGH_SECONDS))


def test_a_document_is_a_json_object(world: World, fetcher: Fetcher) -> None:
    """Ours: asked for uncompressed, so that the limit of its size is that of what arrives."""
    assert fetched(fetcher, world, Answer(value={"a": 1})) == {"a": 1}
    (request,) = world.requests
    assert request.headers["accept"] == "application/json"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["mcp-protocol-version"] == "2026-07-28"


def test_a_4xx_or_an_html_page_means_that_there_is_no_document(world: World, fetcher: Fetcher) -> None:
    """Spec: AC-1: the next place is tried. Many a web server has an HTML page for every path."""
    answers = [
        Answer(404),
        Answer(403, {"error": "x"}),
        Answer(204),
        Answer(200, b"<html>", {"Content-Type": "text/html"}),
        Answer(302),
    ]

    assert [(answer, found) for answer in answers if (found := fetched(fetcher, world, answer)) is not None] == []


BROKEN = [
    (Answer(500), "status 500"),
    (Answer(503, {"a": 1}), "status 503"),
    (Answer(429), "status 429"),
    (Answer(200, b"{"), "not a JSON object"),
    (Answer(200, b"\xff{}"), "not a JSON object"),
    (Answer(200, b"[" * 100_000), "not a JSON object"),
    (Answer(200, ["a"]), "not a JSON object"),
    (Answer(200, b" " * (MAX_BYTES + 1)), "larger than 1 MB"),
    (Answer(headers={"Content-Length": "5"}, pieces=lambda: [b"{"]), "cannot be reached"),
]


def refusal_of(fetcher: Fetcher, world: World, answer: Answer) -> object:
    """The error of a document; what was read if there is none."""
    try:
        return fetched(fetcher, world, answer)
    except Exception as error:
        return error


def test_a_5xx_or_an_invalid_document_is_an_error(world: World, fetcher: Fetcher) -> None:
    """Spec: a status of 5xx or 429 does not mean that there is no document."""
    wrong = []
    for answer, problem in BROKEN:
        error = refusal_of(fetcher, world, answer)
        if not (isinstance(error, AuthorizationError) and problem in str(error) and error.server == "web"):
            wrong.append((answer, error))

    assert not wrong


def test_an_endless_document_is_an_error(world: World, fetcher: Fetcher) -> None:
    """Ours: 50 MB, or more, are not read."""
    sent = []

    def pieces() -> Iterator[bytes]:
        while True:
            sent.append(1)
            yield b" " * 65536

    with pytest.raises(AuthorizationError, match="larger than 1 MB"):
        fetched(fetcher, world, Answer(pieces=pieces))
    assert len(sent) < 800


def test_the_deadline_applies_to_a_document_sent_byte_by_byte(world: World, fetcher: Fetcher) -> None:
    """Ours: the time is that of the whole document."""
    stopped = threading.Event()

    def pieces() -> Iterator[bytes]:
        while not stopped.wait(0.02):
            yield b" "

    world.routes["/meta"] = lambda _: Answer(pieces=pieces)
    with pytest.raises(DeadlineError):
        fetcher.document(f"{world.origin}/meta", ABOUT, Deadline(0.5))
    stopped.set()


def test_a_document_that_ends_after_the_deadline_is_an_error(world: World, fetcher: Fetcher) -> None:
    """Ours: a body without a length ends with its connection, also when the deadline closed that."""
    sent = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield b"{}"
        sent.set()

    world.routes["/meta"] = lambda _: Answer(pieces=pieces)
    with pytest.raises(DeadlineError):
        fetcher.document(f"{world.origin}/meta", ABOUT, deadline_until(sent.is_set))


def test_the_deadline_applies_to_a_silent_server(world: World, fetcher: Fetcher) -> None:
    """Ours: a connection alone is no response, and must not block the login."""
    ended = threading.Event()
    world.routes["/meta"] = lambda _: Answer() if ended.wait(ENOUGH_SECONDS) else Answer(404)

    with pytest.raises(DeadlineError):
        fetcher.document(f"{world.origin}/meta", ABOUT, Deadline(0.1))
    ended.set()


def test_each_document_has_a_time_limit(world: World) -> None:
    """Ours: a login may take minutes, but one document must not use them up."""
    ended = threading.Event()
    world.routes["/meta"] = lambda _: Answer() if ended.wait(ENOUGH_SECONDS) else Answer(404)

    with (
        Fetcher("web", world.url, fetch_seconds=0.1) as fetcher,
        pytest.raises(AuthorizationError, match="did not answer within"),
    ):
        fetcher.document(f"{world.origin}/meta", ABOUT, Deadline(100))
    ended.set()


def test_a_refused_connection_is_an_error(fetcher: Fetcher) -> None:
    """Ours: another well-known URL would not be reachable either."""
    with pytest.raises(AuthorizationError, match="cannot be reached"):
        fetcher.document("http://127.0.0.1:9/meta", ABOUT, Deadline(ENOUGH_SECONDS))


def test_a_redirect_within_an_origin_is_followed(world: World, fetcher: Fetcher) -> None:
    """Ours: from `/meta` to `/meta/`."""
    world.routes["/meta/"] = lambda _: Answer(value={"a": 1})

    assert fetched(fetcher, world, Answer(307, headers={"Location": "/meta/"})) == {"a": 1}


def test_a_redirect_to_another_origin_is_refused(world: World, fetcher: Fetcher) -> None:
    """Ours: a document of another origin must not describe this one."""
    for location in ["https://evil.example/", "http://127.0.0.1:9/", "file:///etc/passwd", "//x y/"]:
        error = refusal_of(fetcher, world, Answer(302, headers={"Location": location}))

        assert isinstance(error, AuthorizationError), (location, error)
        assert "another origin" in str(error), location


def test_a_redirect_loop_is_refused(world: World, fetcher: Fetcher) -> None:
    """Ours: a server must not keep us busy for ever."""
    with pytest.raises(AuthorizationError, match="without end"):
        fetched(fetcher, world, Answer(302, headers={"Location": "/meta"}))
    assert len(world.requests) == 4


def test_a_token_request_follows_no_redirect(world: World, fetcher: Fetcher) -> None:
    """Spec: AC-9: what it holds is for this endpoint alone."""
    world.routes["/token"] = lambda _: Answer(307, headers={"Location": "/other", "DPoP-Nonce": "N"})

    reply = fetcher.post(f"{world.origin}/token", "its token endpoint", Deadline(ENOUGH_SECONDS), form={"a": "b c"})

    assert reply == Reply(307, None or {}, "N")
    assert not reply.is_success
    assert world.paths() == ["/token"]
    assert world.requests[0].form == {"a": "b c"}
    assert world.requests[0].headers["content-type"] == "application/x-www-form-urlencoded"


def test_a_body_is_sent_as_json(world: World, fetcher: Fetcher) -> None:
    """Spec: RFC 7591."""
    reply = fetcher.post(
        f"{world.origin}/register", "its registration", Deadline(ENOUGH_SECONDS), body={"x": 1}, headers={"X-Own": "1"}
    )

    assert (reply.status, reply.document["x"], reply.is_success) == (201, 1, True)
    assert world.requests[0].headers["x-own"] == "1"


def test_a_url_that_a_server_may_not_name_is_not_fetched() -> None:
    """Spec: AC-12. Ours: nothing near this machine for a server that is not."""
    with Fetcher("web", "https://93.184.216.34/mcp") as fetcher:
        assert fetcher.nearest is Reach.INTERNET
        for url in ["http://auth.example.com/", "https://10.0.0.1/", "https://localhost/", "file:///x", "x"]:
            with pytest.raises(AuthorizationError, match="cannot be used"):
                fetcher.document(url, ABOUT, Deadline(ENOUGH_SECONDS))


def test_a_host_that_resolves_to_a_private_address_is_not_fetched() -> None:
    """Ours: a hostile document may name a host of its author's, whose address is one of ours."""
    addresses = {"mcp.example.com": ["93.184.216.34"], "evil.example": ["93.184.216.34", "169.254.169.254"]}
    with (
        Fetcher("web", "https://mcp.example.com/mcp", resolve=lambda host: addresses[host]) as fetcher,
        pytest.raises(AuthorizationError, match="private network"),
    ):
        fetcher.document("https://evil.example/meta", ABOUT, Deadline(ENOUGH_SECONDS))


def test_a_server_on_a_private_network_may_name_a_private_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: of a company, for instance; and what the user has named may be anywhere."""
    assert Fetcher("web", "https://mcp.corp/mcp", resolve=lambda _: ["10.0.0.1"]).nearest is Reach.NETWORK
    assert Fetcher("web", "https://93.184.216.34/mcp", is_trusted=True).nearest is Reach.MACHINE


def test_host_names_are_not_resolved_behind_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the proxy looks them up, and often nothing else can."""
    for name in ("HTTP_PROXY", "http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert not is_proxied("mcp.example.com")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert is_proxied("mcp.example.com")

    def unexpected(host: str) -> list[str]:
        raise AssertionError(host)

    client = httpx2.Client(trust_env=False)
    assert Fetcher("web", "https://mcp.example.com/mcp", client=client, resolve=unexpected).nearest is Reach.INTERNET
    monkeypatch.setenv("no_proxy", "mcp.example.com")
    assert not is_proxied("mcp.example.com")


def test_host_names_are_resolved() -> None:
    """Ours: a name that does not exist has no addresses, which is not an error here."""
    assert set(addresses_of("localhost")) <= {"127.0.0.1", "::1"}
    assert addresses_of("a" * 300 + ".example") == []


def test_the_challenge_of_a_401_is_returned(world: World, fetcher: Fetcher) -> None:
    """Spec: AC-1; the body of the response may have no end."""

    def pieces() -> Iterator[bytes]:
        while True:
            yield b" " * 65536

    challenge = {"WWW-Authenticate": "Bearer scope=x"}
    world.routes["/mcp"] = lambda _: Answer(401, headers=challenge, pieces=pieces)

    assert fetcher.refusal({"X-Own": "1"}, b"{}", Deadline(ENOUGH_SECONDS)) == (401, ["Bearer scope=x"])
    assert (world.requests[0].headers["x-own"], world.requests[0].body) == ("1", b"{}")


def test_a_server_that_does_not_respond_to_the_probe_is_an_error(world: World, fetcher: Fetcher) -> None:
    """Ours: the error says whether it was silent or could not be reached."""
    ended = threading.Event()
    world.routes["/mcp"] = lambda _: Answer() if ended.wait(ENOUGH_SECONDS) else Answer(404)
    with pytest.raises(DeadlineError):
        fetcher.refusal({}, b"{}", Deadline(0.1))
    ended.set()
    with Fetcher("web", "http://127.0.0.1:9/mcp") as none, pytest.raises(AuthorizationError, match="cannot be reached"):
        none.refusal({}, b"{}", Deadline(ENOUGH_SECONDS))


def test_a_fetcher_may_be_closed_twice() -> None:
    """Ours: as everything that can be closed."""
    fetcher = Fetcher("web", "https://a.example")
    fetcher.close()
    fetcher.close()
