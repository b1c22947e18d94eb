"""What is remembered of a server's lists, and how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.session.remembered import Remembered
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from tests.session.conftest import Entries

ECHO: dict[str, Any] = {"name": "echo"}


@pytest.fixture
def cache(entries: Entries) -> ServerCache:
    """The cache of one server."""
    return ServerCache(entries.home / "cache", entries("good_handshake"))


def test_a_list_is_cached_by_its_kind(cache: ServerCache) -> None:
    """Ours: items that are not objects are left out, for whatever reads the list expects names."""
    remembered = Remembered(cache)

    remembered.keep("tools", [ECHO, 7])
    remembered.keep("prompts", [{"name": "review"}])

    assert cache.seen() == [ECHO]
    assert cache.seen("prompts") == [{"name": "review"}]
    assert cache.seen("resources") is None


def test_a_changed_list_stays_cached_until_a_newer_one_arrives(cache: ServerCache) -> None:
    """Ours: a list that changes during its request is still newer than the one before it."""
    remembered = Remembered(cache)
    remembered.keep("tools", [ECHO])

    remembered.changed("tools")
    assert cache.seen() == [ECHO]

    remembered.asking("tools")
    remembered.changed("tools")
    remembered.keep("tools", [ECHO, {"name": "new"}])
    assert cache.seen() == [ECHO, {"name": "new"}]
    assert remembered.lacks_tools


def test_tools_found_in_a_search_do_not_replace_a_cached_list(cache: ServerCache) -> None:
    """Ours: what was listed is at least as good."""
    remembered = Remembered(cache)

    remembered.keep_new([ECHO])
    remembered.keep_new([{"name": "other"}])

    assert cache.seen() == [ECHO]


def test_changed_tools_are_missing_if_they_were_cached_or_requested(cache: ServerCache) -> None:
    """Ours: otherwise they were not wanted, and nothing is lost."""
    unknown = Remembered(cache)
    unknown.changed("tools")
    unknown.changed("prompts")
    assert not unknown.lacks_tools

    cache.keep_seen([ECHO])
    known = Remembered(cache)
    assert not known.lacks_tools
    known.changed("tools")
    assert known.lacks_tools
    known.asking("tools")
    assert not known.lacks_tools
    known.changed("tools")
    assert known.lacks_tools
