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


def test_a_list_is_remembered_by_its_kind(cache: ServerCache) -> None:
    """Ours. What is not an object is no item."""
    remembered = Remembered(cache)

    remembered.keep("tools", [ECHO, 7])
    remembered.keep("prompts", [{"name": "review"}])

    assert cache.seen() == [ECHO]
    assert cache.seen("prompts") == [{"name": "review"}]
    assert cache.seen("resources") is None


def test_what_was_known_stays_until_something_newer_is_known(cache: ServerCache) -> None:
    """Ours: a list that changes while it is asked for is still newer than the one before it."""
    remembered = Remembered(cache)
    remembered.keep("tools", [ECHO])

    remembered.changed("tools")
    assert cache.seen() == [ECHO]

    remembered.asking("tools")
    remembered.changed("tools")
    remembered.keep("tools", [ECHO, {"name": "new"}])
    assert cache.seen() == [ECHO, {"name": "new"}]
    assert remembered.lacks_tools


def test_tools_that_were_seen_in_a_search_are_new_only_where_none_are_known(cache: ServerCache) -> None:
    """Ours: what was listed is at least as good."""
    remembered = Remembered(cache)

    remembered.keep_new([ECHO])
    remembered.keep_new([{"name": "other"}])

    assert cache.seen() == [ECHO]


def test_tools_lack_once_they_have_changed_if_they_were_known_or_asked_for(cache: ServerCache) -> None:
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
