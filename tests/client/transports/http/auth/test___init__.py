"""The settings of an entry."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from gaia_mcp import HttpTransport, MCPClient, Person
from gaia_mcp.client.transports.http.auth import NoAuthorizer, Settings, settings_of
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError
from gaia_mcp.core.grant_kinds import CLIENT_CREDENTIALS
from tests.client.transports.http.auth.world import Answer, Request, World

if TYPE_CHECKING:
    from pathlib import Path


def test_settings_are_the_members_of_an_entry() -> None:
    """Ours: what an entry does not name has its default."""
    assert settings_of({}) == Settings()
    assert settings_of({"client_id": "x", "scopes": ["a"]}) == Settings(client_id="x", scopes=("a",))
    assert not Settings().is_for_programs
    assert Settings(grant=CLIENT_CREDENTIALS).is_for_programs


class Window(Person):
    """Opens each URL in a browser, which takes its time."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def show(self, url: str) -> None:
        self.shown.append(url)
        threading.Thread(target=httpx2.get, args=(url,), kwargs={"follow_redirects": True}).start()


@pytest.fixture
def protected(world: World) -> World:
    """The protected server, with a tool behind its protection."""
    check = world.mcp

    def answer(request: Request) -> Answer:
        refusal = check(request)
        if refusal.status != 200:
            return refusal
        message = json.loads(request.body)
        results: dict[str, Any] = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/call": {"content": [{"type": "text", "text": "hi"}]},
        }
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **results[message["method"]]}
        return Answer(value={"jsonrpc": "2.0", "id": message["id"], "result": result})

    world.routes["/mcp"] = answer
    return world


def test_a_login_may_use_a_custom_person(protected: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec, AC-10: with the scopes that its entry names; the next program needs no person."""
    monkeypatch.setenv("GAIA_CONFIG_DIR", str(tmp_path))
    entry = {"url": protected.url, "oauth": {"scopes": ["read"]}}
    with pytest.raises(AuthorizationError), MCPClient.from_config("web", entry):
        pass

    window = Window()
    with MCPClient.from_config("web", entry, person=window) as client:
        assert isinstance(client.transport, HttpTransport)
        assert client.call("t", {})["content"][0]["text"] == "hi"
    assert len(window.shown) == 1
    assert "scope=read" in window.shown[0]
    with MCPClient.from_config("web", entry) as client:
        assert client.call("t", {})["content"][0]["text"] == "hi"


def test_a_person_pastes_nothing_by_default() -> None:
    """Ours: a browser on this machine comes back by itself."""
    assert Window().pasted() is None


URL = "https://mcp.example.com/mcp"


def refused(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("POST", URL))


def test_no_authorization_header_is_added_without_oauth() -> None:
    """Ours: the headers of its entry are all that it gets."""
    assert NoAuthorizer("web").headers("POST", URL, Deadline(1)) == {}
    assert NoAuthorizer("web").secrets() == ()


def test_a_refused_header_of_an_entry_is_named() -> None:
    """Ours: the person has to correct that header, and not to log in."""
    with pytest.raises(AuthorizationError) as caught:
        NoAuthorizer("web", has_header=True).challenged(refused(401), Deadline(1))

    assert (caught.value.server, caught.value.case) == ("web", "header")


def test_a_challenge_to_an_entry_that_turns_oauth_off_is_an_error() -> None:
    """Ours: the person has to allow OAuth in the entry before a login can help."""
    with pytest.raises(AuthorizationError) as caught:
        NoAuthorizer("web").challenged(refused(401), Deadline(1))

    assert caught.value.case == "oauth-off"


def test_a_403_is_left_to_the_channel() -> None:
    """Ours: a 403 may be about the origin, or about the arguments."""
    assert not NoAuthorizer("web").challenged(refused(403), Deadline(1))
