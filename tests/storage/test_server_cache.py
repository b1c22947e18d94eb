"""What is remembered of a server."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.core.names import UNSAVED_MARK
from gaia_mcp.protocol.pagination import Freshness
from gaia_mcp.storage import KEPT_SERVERS
from gaia_mcp.storage.server_cache import (
    ERA_SECONDS,
    MAX_BYTES,
    REMARKED_SECONDS,
    SEEN_SECONDS,
    TOGETHER_SECONDS,
    ServerCache,
)
from gaia_mcp.toolspec.tool_filter import ToolFilter
from tests.protocol_support import check_each, check_rows

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: list[dict[str, Any]] = [{"name": "read", "description": "ä", "inputSchema": {"type": "object"}}]
# A server that keeps a page open.
BROWSER: list[dict[str, Any]] = [{"name": name} for name in ("navigate", "click", "fill", "press")]
BEGIN = 1_000_000.0


class Known(NamedTuple):
    """A server, as far as a cache knows it."""

    key: str = "time"
    number: int = 5
    tool_filter: ToolFilter | None = None
    secret: int = 7

    def identity(self) -> int:
        return self.number

    def credentials(self) -> int:
        return self.secret


SERVER = Known()


def at(folder: Path, seconds: float, server: Known | ServerEntry = SERVER) -> ServerCache:
    """The cache as it is seen by a clock that stands still."""
    return ServerCache(folder, server, lambda: BEGIN + seconds)


def the_file(folder: Path, kind: str) -> Path:
    (path,) = (folder / kind).iterdir()
    return path


def test_a_new_cache_is_empty(tmp_path: Path) -> None:
    """Ours: an unknown list is not the same as an empty one."""
    cache = ServerCache(tmp_path, SERVER)
    assert (cache.era(), cache.seen(), cache.seen("prompts")) == (None, None, None)
    cache.keep_seen([])
    assert cache.seen() == []


def test_temporary_files_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    """Ours: after a minute, since another may be writing now."""
    ServerCache(tmp_path, SERVER).keep_era("handshake")
    path = the_file(tmp_path, "era")
    old, new, others = path.with_suffix(".123"), path.with_suffix(".456"), path.with_name(f"x{path.stem}.123")
    for left in (old, new, others):
        left.write_text("{")
        # The clock may be set while this runs: the new one is younger than a minute in any case.
        os.utime(left, (time.time() + (3600 if left == new else -100),) * 2)

    ServerCache(tmp_path, SERVER).keep_era("stateless")

    assert sorted(path.parent.iterdir()) == sorted([path, new, others])


@pytest.mark.parametrize("era", ["handshake", "stateless", "sse"])
def test_the_era_is_read_by_the_next_process(tmp_path: Path, era: str) -> None:
    """Ours; a newer one replaces an older one."""
    ServerCache(tmp_path, SERVER).keep_era("handshake")
    ServerCache(tmp_path, SERVER).keep_era(era)

    assert ServerCache(tmp_path, SERVER).era() == era


def test_instructions_are_saved_once_and_expire(tmp_path: Path) -> None:
    """Ours: a gateway shows them to its client before it has connected the server."""
    at(tmp_path, 0).keep_instructions("Be kind.")
    at(tmp_path, 9).keep_instructions("Be kind.")

    assert at(tmp_path, SEEN_SECONDS - 1).instructions() == "Be kind."
    assert at(tmp_path, SEEN_SECONDS).instructions() == ""
    at(tmp_path, 10).keep_instructions("")
    assert at(tmp_path, 11).instructions() == ""


def test_tools_are_read_as_the_server_sent_them(tmp_path: Path) -> None:
    """Ours: completion and `list` show them without connecting to the server."""
    ServerCache(tmp_path, SERVER).keep_seen(TOOLS)

    assert ServerCache(tmp_path, SERVER).seen() == TOOLS


def test_a_lone_surrogate_is_saved_as_the_replacement_character(tmp_path: Path) -> None:
    """Ours: half of a surrogate pair is in no Unicode text."""
    ServerCache(tmp_path, SERVER).keep_seen([{"name": "a\ud800"}])

    assert ServerCache(tmp_path, SERVER).seen() == [{"name": "a\ufffd"}]


def test_kinds_are_saved_and_forgotten_separately(tmp_path: Path) -> None:
    """Ours: each is forgotten by itself, and forgetting what is not there is no error."""
    cache = ServerCache(tmp_path, SERVER)
    prompts = [{"name": "review"}]
    cache.keep_era("handshake")
    cache.keep_seen(TOOLS)
    cache.keep_seen(prompts, "prompts")

    assert (cache.seen(), cache.seen("prompts"), cache.seen("resources")) == (TOOLS, prompts, None)
    cache.forget("prompts")
    cache.forget("prompts")
    assert (cache.era(), cache.seen(), cache.seen("prompts")) == ("handshake", TOOLS, None)
    cache.forget("era")
    assert (cache.era(), cache.seen()) == (None, TOOLS)


def test_a_cache_can_be_copied_to_another_name(tmp_path: Path) -> None:
    """Ours: a renamed server is not connected to again; unknown lists stay unknown."""
    cache, other = ServerCache(tmp_path, SERVER), ServerCache(tmp_path, Known("clock", 6))
    cache.copy_to(other)
    assert (other.era(), other.seen()) == (None, None)

    cache.keep_era("stateless")
    cache.keep_seen(TOOLS)
    cache.copy_to(other)
    assert (other.era(), other.seen(), other.seen("prompts")) == ("stateless", TOOLS, None)


def test_an_era_expires_after_a_week(tmp_path: Path) -> None:
    """Ours: otherwise an updated server would be used by the old handshake for ever."""
    at(tmp_path, 0).keep_era("handshake")

    assert at(tmp_path, ERA_SECONDS - 1).era() == "handshake"
    assert at(tmp_path, ERA_SECONDS).era() is None


def test_tools_expire_after_a_month(tmp_path: Path) -> None:
    """Ours: servers change with the packages that they come in."""
    at(tmp_path, 0).keep_seen(TOOLS)

    assert at(tmp_path, SEEN_SECONDS - 1).seen() == TOOLS
    assert at(tmp_path, SEEN_SECONDS).seen() is None


def test_an_entry_from_the_future_is_ignored(tmp_path: Path) -> None:
    """Ours: a clock that was wrong must not keep a value for years."""
    at(tmp_path, 0).keep_era("handshake")
    at(tmp_path, 0).keep_seen(TOOLS)

    assert at(tmp_path, -10).era() is None
    assert at(tmp_path, -10).seen() is None


def test_an_entry_is_valid_at_once(tmp_path: Path) -> None:
    """Ours: a time that was rounded up would lie in the future."""
    at(tmp_path, 0.9).keep_era("handshake")

    assert at(tmp_path, 0.9).era() == "handshake"


@pytest.mark.parametrize("other", [Known("time", 6), Known("clock", 5)], ids=str)
def test_another_server_has_a_separate_cache(tmp_path: Path, other: Known) -> None:
    """Ours: a name may stand for another server today."""
    ServerCache(tmp_path, SERVER).keep_era("handshake")
    ServerCache(tmp_path, SERVER).keep_seen(TOOLS)

    assert ServerCache(tmp_path, other).era() is None
    assert ServerCache(tmp_path, other).seen() is None


def test_an_unknown_era_is_ignored(tmp_path: Path) -> None:
    """Ours: another version of this program may know more of them."""

    def check(era: Any) -> None:
        cache = ServerCache(tmp_path, SERVER)
        cache.keep_era(era)

        assert cache.era() is None

    check_each(check, ["tomorrow", "", None, ["handshake"]])


def test_an_invalid_definition_is_left_out(tmp_path: Path) -> None:
    """Ours: the caller relies on names."""
    cache = ServerCache(tmp_path, SERVER)
    cache.keep_seen([*TOOLS, "x", {"name": 7}, {}])  # type: ignore[list-item]

    assert cache.seen() == TOOLS


def test_tools_are_read_through_the_filter_of_the_server(tmp_path: Path) -> None:
    """Ours: the cache holds all of them, so that another filter needs no new list."""
    tools = [{"name": "read"}, {"name": "write"}]
    ServerCache(tmp_path, SERVER).keep_seen(tools)
    ServerCache(tmp_path, SERVER).keep_seen(tools, "prompts")
    filtered = ServerCache(tmp_path, SERVER._replace(tool_filter=ToolFilter(None, ["w*"])))

    assert filtered.seen() == [{"name": "read"}]
    assert filtered.listed() == tools
    assert filtered.seen("prompts") == tools
    assert ServerCache(tmp_path, SERVER).seen() == tools


def test_a_file_holds_the_value_its_time_and_a_number(tmp_path: Path) -> None:
    """Ours: nothing of the entry is written down, and only the owner reads the folder."""
    at(tmp_path, 0).keep_era("stateless")

    assert json.loads(the_file(tmp_path, "era").read_text()) == {"identity": 5, "written": BEGIN, "era": "stateless"}
    assert stat.S_IMODE((tmp_path / "era").stat().st_mode) == 0o700


def test_every_name_has_a_file_in_the_folder(tmp_path: Path) -> None:
    """Ours: files that people wrote by hand hold all of these."""
    cases = ["a/b", "..", "ö ü", "x" * 1000, "ä" * 60, "-", "con", "\x1b[2J", "\U0001f600"]

    def check(number: int, name: str) -> None:
        folder = tmp_path / str(number)
        cache = ServerCache(folder / "deep", Known(name))
        cache.keep_seen(TOOLS)

        assert cache.seen() == TOOLS
        assert [path.parent.name for path in folder.rglob("*.json")] == ["tools"]

    check_rows(check, enumerate(cases))
    # Nothing has left the folders of the cases.
    assert {path.name for path in tmp_path.iterdir()} == set(map(str, range(len(cases))))


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    """Ours: a cache is never a reason to fail."""
    cases = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"handshake",
        b"[" * 100_000,
        b'{"era": "handshake", "tools": []}',
        b'{"written": "x"}',
        b'{"identity": 5, "written": 1000000, "tools": 2, "era": 2}',
    ]

    def check(content: bytes) -> None:
        cache = at(tmp_path, 0)
        cache.keep_era("handshake")
        cache.keep_seen(TOOLS)
        for kind in ("era", "tools"):
            the_file(tmp_path, kind).write_bytes(content)

        assert (cache.era(), cache.seen()) == (None, None)
        cache.keep_seen(TOOLS)
        assert cache.seen() == TOOLS

    check_each(check, cases)


@pytest.mark.parametrize("value", [object(), {1: {2}}, float])
def test_a_value_that_is_not_json_is_not_saved(tmp_path: Path, value: Any) -> None:
    """Ours: no temporary file is left."""
    cache = ServerCache(tmp_path, SERVER)
    cache.keep_seen(TOOLS)
    cache.keep_seen([value])

    assert cache.seen() == TOOLS
    assert len(list((tmp_path / "tools").iterdir())) == 1


def test_a_value_nested_too_deeply_is_not_saved(tmp_path: Path) -> None:
    """Ours: whatever a server describes."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ServerCache(tmp_path, SERVER).keep_seen([{"name": "deep", "inputSchema": deep}])

    assert ServerCache(tmp_path, SERVER).seen() is None


def test_a_value_too_large_to_be_read_is_not_saved(tmp_path: Path) -> None:
    """Ours: the last one that can be read stays."""
    cache = ServerCache(tmp_path, SERVER)
    cache.keep_seen(TOOLS)
    cache.keep_seen([{"name": "x" * MAX_BYTES}])

    assert cache.seen() == TOOLS
    assert len(list((tmp_path / "tools").iterdir())) == 1


def test_the_caches_of_unsaved_servers_are_limited(tmp_path: Path) -> None:
    """Ours: a script that types another command each time does not fill the disk."""
    servers = [Known("saved"), *(Known(f"{UNSAVED_MARK}{number}") for number in range(KEPT_SERVERS + 1))]
    for age, server in enumerate(servers):
        ServerCache(tmp_path, server).keep_era("handshake")
        os.utime(tmp_path / "era" / f"{server.key}.json", (age, age))

    assert [server for server in servers if ServerCache(tmp_path, server).era() is None] == [Known(f"{UNSAVED_MARK}0")]


def test_a_folder_that_cannot_be_created_is_not_an_error(tmp_path: Path) -> None:
    """Ours: a cache on a full or read-only disk is only an empty one."""
    (tmp_path / "era").write_text("a file where the folder should be")
    cache = ServerCache(tmp_path, SERVER)

    cache.keep_era("handshake")
    cache.forget("era")

    assert cache.era() is None


def test_a_failed_rename_leaves_no_temporary_file(tmp_path: Path) -> None:
    """Ours: no temporary file is left."""
    cache = ServerCache(tmp_path, SERVER)
    cache.keep_era("handshake")
    path = the_file(tmp_path, "era")
    path.unlink()
    (path / "in the way").mkdir(parents=True)

    cache.keep_era("handshake")

    assert list((tmp_path / "era").iterdir()) == [path]


def test_a_changed_entry_does_not_use_the_cache_of_the_old_one(tmp_path: Path) -> None:
    """Ours: all servers behind URLs once counted as the same one."""
    cases = [
        ({"url": "https://one/mcp"}, {"url": "https://two/mcp"}),
        ({"handler": "one.py"}, {"handler": "two.py"}),
        ({"agent": "one:Agent"}, {"agent": "two:Agent"}),
        ({"command": "one"}, {"url": "https://one"}),
    ]

    def check(before: dict[str, Any], after: dict[str, Any]) -> None:
        ServerCache(tmp_path, read_entry("web", before)).keep_era("handshake")
        ServerCache(tmp_path, read_entry("web", before)).keep_seen(TOOLS)

        same, other = (ServerCache(tmp_path, read_entry("web", entry)) for entry in (before, after))
        assert (same.era(), same.seen()) == ("handshake", TOOLS)
        assert (other.era(), other.seen()) == (None, None)

    check_rows(check, cases)


# As earlier versions wrote them, for {"command": "uvx", "args": ["mcp-server-time"]}, and for anything behind a URL.
OF_A_COMMAND = '{"identity":2208586779,"written":1000000,"KIND":VALUE}'
OF_A_URL = '{"identity":2013957913,"written":1000000,"KIND":VALUE}'


@pytest.mark.parametrize(
    ("entry", "old", "era", "tools"),
    [
        ({"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "UTC"}}, OF_A_COMMAND, "stateless", TOOLS),
        ({"url": "https://host/mcp"}, OF_A_URL, None, None),
    ],
)
def test_a_file_of_an_earlier_version_is_read_or_ignored(
    tmp_path: Path, entry: dict[str, Any], old: str, era: str | None, tools: Any
) -> None:
    """Ours: what is known of a command stays known; of a URL it was never certain whose it was."""
    for kind, value in (("era", "stateless"), ("tools", TOOLS)):
        (tmp_path / kind).mkdir()
        text = old.replace("KIND", kind).replace("VALUE", json.dumps(value))
        (tmp_path / kind / "time.json").write_text(text, "ascii")

    cache = at(tmp_path, 1, read_entry("time", entry))
    assert (cache.era(), cache.seen()) == (era, tools)


@pytest.mark.parametrize(("seconds", "is_known"), [(0, True), (59, True), (60, False)])
def test_a_list_is_fresh_as_long_as_its_server_says(tmp_path: Path, seconds: float, is_known: bool) -> None:
    """MC-10. Ours: words to type are still suggested of it."""
    at(tmp_path, 0).keep_seen(TOOLS, freshness=Freshness(60_000, is_private=False))

    assert at(tmp_path, seconds).seen(is_fresh=True) == (TOOLS if is_known else None)
    assert at(tmp_path, seconds).seen() == TOOLS


def test_a_list_with_a_ttl_of_zero_is_never_fresh(tmp_path: Path) -> None:
    """MC-10: `ttlMs` 0. One of a revision without the member is."""
    at(tmp_path, 0).keep_seen(TOOLS, freshness=Freshness(0, is_private=False))
    assert at(tmp_path, 0).seen(is_fresh=True) is None

    at(tmp_path, 0).keep_seen(TOOLS)
    assert at(tmp_path, 1000).seen(is_fresh=True) == TOOLS


@pytest.mark.parametrize("is_private", [True, False])
def test_a_private_list_is_used_with_the_same_credentials_only(tmp_path: Path, is_private: bool) -> None:
    """MC-10: also under the server's next name."""
    cache, renamed = ServerCache(tmp_path, SERVER), SERVER._replace(key="new")
    cache.keep_seen(TOOLS, freshness=Freshness(60_000, is_private=is_private))
    cache.copy_to(ServerCache(tmp_path, renamed))

    for server in (SERVER, renamed):
        assert ServerCache(tmp_path, server).seen(is_fresh=True) == TOOLS
        assert (ServerCache(tmp_path, server._replace(secret=8)).seen() is None) is is_private


def test_the_second_call_within_a_minute_that_needs_the_first_is_told_once_a_day(tmp_path: Path) -> None:
    """Ours: a person who reads it today knows it."""
    at(tmp_path, 0).keep_seen(BROWSER)
    later = TOGETHER_SECONDS + 1
    calls = [0, later, later + TOGETHER_SECONDS, later + TOGETHER_SECONDS + 1, 3 * later]
    next_day = later + TOGETHER_SECONDS + REMARKED_SECONDS
    calls += [next_day - 2, next_day - 1, next_day]

    told = [seconds for seconds in calls if at(tmp_path, seconds).record_call("click")]

    assert told == [later + TOGETHER_SECONDS, next_day]


def test_a_call_that_needs_no_earlier_one_leaves_no_file(tmp_path: Path) -> None:
    """Ours: most servers keep nothing between calls, and writing a file takes time."""
    cache = ServerCache(tmp_path, SERVER)
    assert not cache.record_call("read")
    cache.keep_seen(TOOLS)

    assert [cache.record_call("read") for _ in range(2)] == [False, False]
    assert not (tmp_path / "calls").exists()


def test_a_call_of_another_tool_of_the_server_does_not_count(tmp_path: Path) -> None:
    """Ours: only some tools of a server may need what is open."""
    definitions = [{"name": name} for name in ("repl_run", "read")]
    ServerCache(tmp_path, SERVER).keep_seen(definitions)

    told = [ServerCache(tmp_path, SERVER).record_call(name) for name in ("repl_run", "read", "repl_run")]

    assert told == [False, False, True]


def test_a_new_list_of_tools_keeps_the_times_of_calls(tmp_path: Path) -> None:
    """Ours: a server that is updated within the minute is still the same for the person."""
    at(tmp_path, 0).keep_seen(BROWSER)
    at(tmp_path, 0).record_call("click")
    at(tmp_path, 1).keep_seen(BROWSER)
    at(tmp_path, 2).keep_seen([*BROWSER, {"name": "hover"}])

    assert at(tmp_path, 3).record_call("hover")
    at(tmp_path, 4).keep_seen(TOOLS)
    assert not (tmp_path / "calls" / "time.json").exists()


def test_a_renamed_server_keeps_which_tools_need_earlier_calls(tmp_path: Path) -> None:
    """Ours: it is not connected to again."""
    cache, other = ServerCache(tmp_path, SERVER), ServerCache(tmp_path, Known("clock", 6))
    cache.keep_seen(BROWSER)
    cache.keep_seen([{"name": "review"}], "prompts")
    cache.copy_to(other)

    assert [other.record_call("click") for _ in range(2)] == [False, True]


def test_nothing_is_told_that_cannot_be_recorded(tmp_path: Path) -> None:
    """Ours: each later call would tell it again."""
    cache = ServerCache(tmp_path, SERVER)
    cache.keep_seen(BROWSER)
    cache.record_call("click")
    # A folder cannot be replaced with a file.
    (tmp_path / "calls" / f"time.{os.getpid()}").mkdir()

    assert not cache.record_call("click")


def test_an_invalid_file_of_calls_is_ignored(tmp_path: Path) -> None:
    """Ours: the cache never causes a failure."""
    cache = at(tmp_path, 0)
    cache.keep_seen(BROWSER)
    path = the_file(tmp_path, "calls")
    written = json.loads(path.read_text())

    def check(calls: Any, expected: bool) -> None:
        path.write_text(json.dumps({**written, "calls": calls}))
        assert cache.record_call("click") is expected

    tools = ["click"]
    rows = [7, {}, {"tools": "click"}, {"tools": tools, "called": "now"}, {"tools": tools, "called": BEGIN + 5.5}]
    check_rows(check, [(calls, False) for calls in rows])
    now = int(BEGIN)
    check({"tools": tools, "called": now, "remarked": []}, True)
    # A clock that was wrong has left times in the future.
    check({"tools": tools, "called": now + 9}, False)
    check({"tools": tools, "called": now, "remarked": now + 9}, True)
