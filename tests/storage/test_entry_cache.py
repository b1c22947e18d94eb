"""What is remembered about the server of an entry."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.storage.entry_cache import EntryCache

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = ServerEntry("time", "stdio", command="uvx", args=["mcp-server-time", "--key=hunter22"], env={"TOKEN": "abc"})
SECONDS = 100


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("value", ["text", 1, ["a", {"b": None}], {"c": "ö"}, False])
def test_what_is_kept_is_found_by_the_next_process(tmp_path: Path, value: Any) -> None:
    """Ours."""
    EntryCache(tmp_path, SECONDS).keep(ENTRY, "kind", value)

    assert EntryCache(tmp_path, SECONDS).lookup(ENTRY, "kind") == value


def test_each_kind_is_kept_by_itself(tmp_path: Path) -> None:
    """Ours: whoever wants the tools does not read the prompts."""
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(ENTRY, "tools", [1])
    cache.keep(ENTRY, "prompts", [2])
    cache.forget(ENTRY, "tools")

    assert cache.lookup(ENTRY, "tools") is None
    assert cache.lookup(ENTRY, "prompts") == [2]


def test_what_was_kept_is_believed_for_its_time(tmp_path: Path) -> None:
    """Ours: and not at all by a clock that goes back."""
    clock = Clock()
    cache = EntryCache(tmp_path, SECONDS, clock)
    cache.keep(ENTRY, "kind", "value")

    clock.now += SECONDS - 1
    assert cache.lookup(ENTRY, "kind") == "value"
    clock.now += 1
    assert cache.lookup(ENTRY, "kind") is None
    clock.now -= SECONDS + 1
    assert cache.lookup(ENTRY, "kind") is None


@pytest.mark.parametrize(
    "change",
    [{"command": "npx"}, {"args": ["x"]}, {"args": None}, {"env": {}}, {"cwd": "/srv"}, {"name": "clock"}],
    ids=str,
)
def test_another_entry_has_nothing_of_this_one(tmp_path: Path, change: dict[str, Any]) -> None:
    """Ours: what a name meant yesterday says nothing about today's server."""
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(ENTRY, "kind", "value")

    assert cache.lookup(ENTRY._replace(**change), "kind") is None


def test_another_value_of_a_variable_makes_no_other_entry(tmp_path: Path) -> None:
    """Ours: a token is renewed every day."""
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(ENTRY, "kind", "value")

    assert cache.lookup(ENTRY._replace(env={"TOKEN": "new"}), "kind") == "value"


def test_nothing_secret_is_written_down(tmp_path: Path) -> None:
    """Ours: neither variables nor arguments; and nobody else reads the folder."""
    EntryCache(tmp_path, SECONDS).keep(ENTRY, "kind", "value")

    (path,) = (tmp_path / "kind").iterdir()
    assert set(json.loads(path.read_text())) == {"identity", "written", "kind"}
    assert "hunter22" not in path.read_text()
    assert "abc" not in path.read_text()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["a/b", "..", "ö ü", "x" * 1000, "-", "con"])
def test_any_name_has_a_file_in_the_folder(tmp_path: Path, name: str) -> None:
    """Ours: older configuration files call their servers anything."""
    entry = ENTRY._replace(name=name)
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(entry, "kind", "value")

    assert cache.lookup(entry, "kind") == "value"
    (path,) = (tmp_path / "kind").iterdir()
    assert path.is_file()


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_a_damaged_file_holds_nothing(tmp_path: Path, content: bytes) -> None:
    """Ours: a cache is never a reason to fail."""
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(ENTRY, "kind", "value")
    (path,) = (tmp_path / "kind").iterdir()
    path.write_bytes(content)

    assert cache.lookup(ENTRY, "kind") is None


@pytest.mark.parametrize("value", [object(), {1: {2}}, [float]])
def test_what_json_cannot_say_is_not_kept(tmp_path: Path, value: Any) -> None:
    """Ours."""
    cache = EntryCache(tmp_path, SECONDS)
    cache.keep(ENTRY, "kind", "before")
    cache.keep(ENTRY, "kind", value)

    assert cache.lookup(ENTRY, "kind") == "before"
    assert len(list((tmp_path / "kind").iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    """Ours: a read-only disk only makes things slower."""
    (tmp_path / "kind").write_text("a file where the folder should be")
    cache = EntryCache(tmp_path, SECONDS)

    cache.keep(ENTRY, "kind", "value")
    cache.forget(ENTRY, "kind")

    assert cache.lookup(ENTRY, "kind") is None
