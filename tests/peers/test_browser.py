"""A real browser behind the Playwright server: what one call opens is there for the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import gaia, no_orphans, shared
from tests.contrib.handlers.loopback import http_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia
    from tests.contrib.handlers.loopback import Request

# The first of them proves that no browser is left.
__all__ = ["gaia", "no_orphans", "shared"]

PAGE = b"<!DOCTYPE html><title>Harbour</title><h1>Ships</h1><button>Sail</button>"


class Page:
    """A page on a loopback port; `visits` counts how often it has been requested."""

    def __init__(self) -> None:
        self.url = ""
        self.visits = 0

    def answer(self, request: Request) -> tuple[int, bytes]:
        """The page. A browser requests its icon too."""
        if request.path != "/":
            return 404, b""
        self.visits += 1
        return 200, PAGE


@pytest.fixture
def page() -> Iterator[Page]:
    """The page that the browser opens."""
    served = Page()
    with http_server(served.answer) as url:
        served.url = f"{url}/"
        yield served


@pytest.fixture
def pw(gaia: Gaia, playwright: list[str]) -> Gaia:
    """The program, with the server configured as `pw`."""
    command, *args = playwright
    gaia.write({"pw": {"command": command, "args": args}})
    return gaia


def assert_is_shown(page: Page, result: dict[str, Any]) -> None:
    """That the result of `browser_snapshot` is of the page, and that it was not opened again for it."""
    (block,) = result["content"]
    assert f"Page URL: {page.url}" in block["text"]
    assert "Page Title: Harbour" in block["text"]
    assert 'button "Sail"' in block["text"]
    assert page.visits == 1


def test_the_calls_of_a_batch_share_one_browser(pw: Gaia, page: Page) -> None:
    """Ours: they have one connection, so the server has one browser. It ends with them."""
    lines = [
        json.dumps({"tool": "browser_navigate", "arguments": {"url": page.url}}),
        json.dumps({"tool": "browser_snapshot"}),
    ]

    ran = pw("call", "pw", "--batch", "-", stdin="\n".join(lines))

    assert (ran.code, ran.stderr) == (0, "")
    opened, shown = [json.loads(line) for line in ran.stdout.splitlines()]
    assert "Page Title: Harbour" in opened["result"]["content"][0]["text"]
    assert_is_shown(page, shown["result"])


def test_the_commands_about_a_held_server_share_one_browser(pw: Gaia, page: Page) -> None:
    """Ours: each is a process of its own, and the page is there until the server is ended."""
    try:
        assert pw("up", "pw").code == 0
        assert "Page Title: Harbour" in pw("call", "pw", "browser_navigate", f"url={page.url}").stdout

        shown = pw("call", "pw", "browser_snapshot", "--json")
    finally:
        ended = pw("down", "pw")

    assert_is_shown(page, shown.json)
    assert ended.stdout == "ended 'pw'\n"
