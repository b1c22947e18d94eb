"""What a gateway asks of all its servers at once, also of slow ones: lists, and subscriptions to resources."""

from __future__ import annotations

import shlex
import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet.gateway.backend import Backend, Heard
from gaia_mcp.fleet.gateway.listing import PATIENCE_SECONDS, Listing
from gaia_mcp.fleet.gateway.questions import Declared, ServerRequests
from gaia_mcp.protocol.envelope import UNAVAILABLE_KEY
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.testing import client_for
from tests.fleet.gateway.conftest import ERAS, HANDSHAKE, STATELESS, MakeGateway, held, script
from tests.fleet.gateway.shelf import answer, names
from tests.waiting import Clock, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story


def test_a_slow_server_is_announced_when_it_has_answered(gateway: MakeGateway, tmp_path: Path) -> None:
    """Ours: the list does not wait for it for long, and the client reads it again."""
    slow, may_start = held(tmp_path, "good_handshake.py")
    gate = gateway({"patience_seconds": 0.0}, slow=slow)
    changed = threading.Event()
    gate.on_change(lambda change: changed.set() if "tools" in change.lists else None)

    first = gate.answer("tools/list", {}, Call())
    assert first["tools"] == []
    assert first["_meta"][UNAVAILABLE_KEY] == {"slow": "it has not answered yet"}
    may_start.touch()
    wait_until(changed.is_set)
    wait_until(lambda: "echo" in names(gate))


@pytest.mark.parametrize("kind", ["prompts", "resources"])
@pytest.mark.parametrize("is_changed", [True, False])
def test_the_last_list_of_a_slow_server_is_shown_meanwhile(
    gateway: MakeGateway, tmp_path: Path, kind: str, is_changed: bool
) -> None:
    """Ours: hosts that list once do not lose its tools. They are announced only if they have changed since."""
    slow, may_start = held(tmp_path, "offers.py", HANDSHAKE)
    may_start.touch()
    first = gateway(slow=slow)
    first.answer("resources/templates/list", {}, Call())
    before = first.answer(f"{kind}/list", {}, Call())[kind]
    may_start.unlink()
    entry = read_entry("slow", slow)
    if is_changed:
        ServerCache(cache_folder(), entry).keep_seen([{"name": "old", "uri": "old://one"}], kind)

    late: list[str] = []
    backend = Backend("slow", entry, Heard(lambda _: None, lambda _: None, lambda: None), ServerRequests(Declared({})))
    listing = Listing(late.append, 0.0)
    assert listing.ask(kind, Call(), [backend]) == [backend]
    assert (backend.lists[kind] == before) is not is_changed
    may_start.touch()
    wait_until(lambda: not any(thread.name == "list" for thread in threading.enumerate()))

    assert backend.lists[kind] == before
    assert late == ([kind] if is_changed else [])
    backend.close()


def test_a_slow_server_delays_only_one_list() -> None:
    """Ours: hosts that list tools, prompts and resources one after the other, and again, wait for it once."""
    heard = Heard(lambda _: None, lambda _: None, lambda: None)
    mute = Backend("mute", read_entry("mute", script("hangs_at_start.py")), heard, ServerRequests(Declared({})))
    clock = Clock()
    listing = Listing(lambda _: None, clock=clock)
    waiting = threading.Thread(target=listing.ask, args=("tools", Call(), [mute]))
    waiting.start()
    wait_until(lambda: mute.has_connected)
    clock.now += PATIENCE_SECONDS
    waiting.join()

    # The clock stands still.
    assert listing.ask("prompts", Call(), [mute]) == []
    assert listing.ask("tools", Call(), [mute]) == []
    mute.close()
    wait_until(lambda: not listing._asking)


def test_a_slow_server_that_has_failed_delays_no_list_again(tmp_path: Path) -> None:
    """Ours: it is connected again and again, and clients are notified once it has answered."""
    slow, may_start = held(tmp_path, "exits_at_once.py")
    heard = Heard(lambda _: None, lambda _: None, lambda: None)
    requests = ServerRequests(Declared({}))
    backend = Backend("slow", read_entry("slow", slow), heard, requests, first_pause_seconds=0.0)
    clock = Clock()
    listing = Listing(lambda _: None, clock=clock)
    waiting = threading.Thread(target=listing.ask, args=("tools", Call(), [backend]))
    waiting.start()
    wait_until(lambda: backend.has_connected)
    clock.now += PATIENCE_SECONDS
    waiting.join()
    may_start.touch()
    wait_until(lambda: not listing._asking)
    assert backend.problem is not None
    may_start.unlink()

    wait_until(lambda: backend.may_try("tools"))
    assert listing.ask("tools", Call(), [backend]) == []
    # The clock stands still, and the server is still being connected.
    assert listing._asking
    backend.close()
    wait_until(lambda: not listing._asking)


def test_lists_that_are_requested_while_a_server_starts_wait_for_it(gateway: MakeGateway, tmp_path: Path) -> None:
    """Ours: hosts request all lists at once, and the first request starts the server."""
    entry = script("offers.py")
    started = tmp_path / "started"
    start = f"touch {started}; sleep 0.5; exec {shlex.join([entry['command'], *entry['args'], HANDSHAKE])}"
    gate = gateway({"patience_seconds": 60.0}, offers={"command": "/bin/sh", "args": ["-c", start]})

    first = threading.Thread(target=answer, args=(gate, "resources/list"))
    first.start()
    wait_until(started.exists)
    assert [prompt["name"] for prompt in answer(gate, "prompts/list")["prompts"]] == ["review", "second"]
    first.join()


@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("front", ERAS)
def test_a_subscription_reaches_the_server_and_its_updates_the_client(
    gateway: MakeGateway, front: str, behind: str
) -> None:
    """Spec, resources: subscribed to in either era, and ended where the client ends it."""
    entry = script("offers.py")
    entry["args"].append(behind)
    # On a busy machine the server takes longer to start than a call usually waits for it.
    gate = gateway({"settle_seconds": 60.0}, offers=entry)
    updated: list[str] = []
    with client_for(gate, revision=front) as client:
        client.on_resource_updated = updated.append
        client.subscribe_resource("file:///a")
        client.call("touch", {})
        wait_until(lambda: updated == ["file:///a"])
        client.unsubscribe_resource("file:///a")
        wait_until(lambda: client.call("touch", {})["content"][0]["text"] == "")
    assert updated == ["file:///a"]


def test_a_subscription_that_no_server_accepted_is_made_once_a_server_has_connected(
    gateway: MakeGateway, tmp_path: Path
) -> None:
    """Ours: the client was answered that it is subscribed, and cannot know that the server did not start then."""
    may_start = tmp_path / "may-start"
    entry = script("offers.py")
    entry["args"].append(STATELESS)
    started = shlex.join([entry["command"], *entry["args"]])
    offers = {"command": "sh", "args": ["-c", f"[ -e {shlex.quote(str(may_start))} ] && exec {started}"]}
    gate = gateway({"settle_seconds": 60.0, "first_pause_seconds": 0.0}, offers=offers)
    updated: list[str] = []
    with client_for(gate) as client:
        client.on_resource_updated = updated.append
        client.subscribe_resource("file:///a")
        assert client.call("touch", {})["isError"]

        may_start.touch()
        client.call("touch", {})
        wait_until(lambda: updated == ["file:///a"])
