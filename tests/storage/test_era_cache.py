from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import ServerEntry
from gaia_mcp.storage.entry_cache import EntryCache
from gaia_mcp.storage.era_cache import VERDICT_SECONDS, EraCache

if TYPE_CHECKING:
    from pathlib import Path

ENTRY = ServerEntry("time", "stdio", command="uvx", args=["mcp-server-time"], env={"TOKEN": "abc"})


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def the_file(folder: Path) -> Path:
    (path,) = (folder / "era").iterdir()
    return path


def test_nothing_is_known_at_first(tmp_path: Path) -> None:
    """Ours."""
    assert EraCache(tmp_path, ENTRY).lookup() is None


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_verdict_is_found_again_by_the_next_start(tmp_path: Path, era: str) -> None:
    """Ours: another process, the same entry."""
    EraCache(tmp_path, ENTRY).remember(era)

    assert EraCache(tmp_path, ENTRY).lookup() == era


def test_a_newer_verdict_replaces_an_older_one(tmp_path: Path) -> None:
    """Ours."""
    era_cache = EraCache(tmp_path, ENTRY)
    era_cache.remember("handshake")
    era_cache.remember("stateless")

    assert era_cache.lookup() == "stateless"


def test_a_verdict_expires_after_a_week(tmp_path: Path) -> None:
    """Ours: an updated server would go on answering the old way for ever."""
    clock = Clock()
    era_cache = EraCache(tmp_path, ENTRY, clock)
    era_cache.remember("handshake")

    clock.now += VERDICT_SECONDS - 1
    assert era_cache.lookup() == "handshake"
    clock.now += 1
    assert era_cache.lookup() is None


def test_a_verdict_from_the_future_is_not_believed(tmp_path: Path) -> None:
    """Ours: a clock that was wrong must not keep a verdict for years."""
    clock = Clock()
    era_cache = EraCache(tmp_path, ENTRY, clock)
    era_cache.remember("handshake")
    clock.now -= 10

    assert era_cache.lookup() is None


def test_a_verdict_that_was_forgotten_is_gone(tmp_path: Path) -> None:
    """Ours; forgetting what is not there is no error."""
    era_cache = EraCache(tmp_path, ENTRY)
    era_cache.forget()
    era_cache.remember("handshake")
    era_cache.forget()

    assert era_cache.lookup() is None


@pytest.mark.parametrize("content", [b"", b"handshake", b"{}", b'{"era": "handshake"}', b"[1]", b"\xff\xfe 1"])
def test_a_damaged_verdict_is_none(tmp_path: Path, content: bytes) -> None:
    """Ours: a cache is never a reason to fail."""
    era_cache = EraCache(tmp_path, ENTRY, Clock())
    era_cache.remember("handshake")
    the_file(tmp_path).write_bytes(content)

    assert era_cache.lookup() is None


@pytest.mark.parametrize(
    "other",
    [
        ENTRY._replace(command="npx"),
        ENTRY._replace(args=["mcp-server-git"]),
        ENTRY._replace(args=None),
        ENTRY._replace(env={"TOKEN": "abc", "MODE": "x"}),
        ENTRY._replace(cwd="/srv"),
    ],
)
def test_another_command_is_another_server(tmp_path: Path, other: ServerEntry) -> None:
    """Ours."""
    EraCache(tmp_path, ENTRY).remember("handshake")

    assert EraCache(tmp_path, other).lookup() is None


def test_a_new_secret_makes_no_other_server(tmp_path: Path) -> None:
    """Ours: it does not change what the program speaks."""
    EraCache(tmp_path, ENTRY).remember("handshake")

    assert EraCache(tmp_path, ENTRY._replace(env={"TOKEN": "new"})).lookup() == "handshake"


@pytest.mark.parametrize("era", ["tomorrow", "", None, ["handshake"]])
def test_an_era_that_there_is_not_is_no_verdict(tmp_path: Path, era: Any) -> None:
    """Ours: another version of this program may know more of them."""
    EntryCache(tmp_path, VERDICT_SECONDS).keep(ENTRY, "era", era)

    assert EraCache(tmp_path, ENTRY).lookup() is None


def test_no_secret_and_no_command_is_written_down(tmp_path: Path) -> None:
    """Ours: the file holds the verdict and its time, in a folder of its owner's alone."""
    EraCache(tmp_path, ENTRY, Clock()).remember("stateless")

    kept = json.loads(the_file(tmp_path).read_text())
    assert (kept.pop("era"), kept.pop("written"), type(kept.pop("identity")), kept) == ("stateless", 1000000, int, {})
    assert stat.S_IMODE((tmp_path / "era").stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Ours: a cache that cannot be written is only a slower one."""
    (tmp_path / "era").write_text("a file where the folder should be")
    era_cache = EraCache(tmp_path, ENTRY)

    era_cache.remember("handshake")

    assert era_cache.lookup() is None


def test_a_verdict_that_could_not_be_put_in_place_leaves_no_file_behind(tmp_path: Path) -> None:
    """Ours: no temporary file is left."""
    era_cache = EraCache(tmp_path, ENTRY)
    era_cache.remember("handshake")
    path = the_file(tmp_path)
    path.unlink()
    (path / "in the way").mkdir(parents=True)

    era_cache.remember("handshake")

    assert list((tmp_path / "era").iterdir()) == [path]


def test_a_verdict_counts_from_the_moment_it_is_written(tmp_path: Path) -> None:
    """Ours: a time that was rounded up would lie in the future."""
    clock = Clock()
    clock.now += 0.9
    era_cache = EraCache(tmp_path, ENTRY, clock)

    era_cache.remember("handshake")

    assert era_cache.lookup() == "handshake"
