"""The tools of servers as they were last seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.storage.tool_cache import KEPT_SECONDS, ToolCache

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: list[dict[str, Any]] = [{"name": "read", "description": "ä", "inputSchema": {"type": "object"}}]


def entry(name: str = "fs", **members: Any) -> ServerEntry:
    return read_entry(name, {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "one"}, **members})


def test_what_was_kept_is_found_again(tmp_path: Path) -> None:
    """Ours: as the server sent it, and nobody else's business."""
    ToolCache(tmp_path).keep(entry(), TOOLS)

    assert ToolCache(tmp_path).lookup(entry()) == TOOLS
    assert (tmp_path / "tools").stat().st_mode & 0o077 == 0
    assert "one" not in (tmp_path / "tools" / "fs.json").read_text()


def test_a_server_that_was_never_seen_is_not_known(tmp_path: Path) -> None:
    """Ours: that is not the same as having no tools."""
    cache = ToolCache(tmp_path)
    cache.keep(entry(), [])

    assert cache.lookup(entry()) == []
    assert cache.lookup(entry("other")) is None


@pytest.mark.parametrize(
    "change", [{"command": "uvx"}, {"args": []}, {"env": {}}, {"env": {"OTHER": "one"}}, {"cwd": "/srv"}]
)
def test_another_entry_is_another_server(tmp_path: Path, change: dict[str, Any]) -> None:
    """Ours: what was seen of the old one says nothing about it."""
    cache = ToolCache(tmp_path)
    cache.keep(entry(), TOOLS)

    assert cache.lookup(entry(**change)) is None
    assert cache.lookup(entry(env={"TOKEN": "two"}, timeout=5, disabled=True)) == TOOLS


def test_it_is_believed_for_a_month(tmp_path: Path) -> None:
    """Ours: and not before it was written, on a clock that was set back."""
    ToolCache(tmp_path, now=lambda: 1000.0).keep(entry(), TOOLS)

    assert ToolCache(tmp_path, now=lambda: 1000.0 + KEPT_SECONDS - 1).lookup(entry()) == TOOLS
    assert ToolCache(tmp_path, now=lambda: 1000.0 + KEPT_SECONDS).lookup(entry()) is None
    assert ToolCache(tmp_path, now=lambda: 999.0).lookup(entry()) is None


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[]", b"\xff", b'{"written": "x"}', b"[" * 100_000, b'{"identity": 1, "tools": 2}']
)
def test_a_corrupt_file_is_no_file(tmp_path: Path, content: bytes) -> None:
    """Ours: never an error."""
    cache = ToolCache(tmp_path)
    cache.keep(entry(), TOOLS)
    (tmp_path / "tools" / "fs.json").write_bytes(content)

    assert cache.lookup(entry()) is None
    cache.keep(entry(), TOOLS)
    assert cache.lookup(entry()) == TOOLS


def test_what_is_no_tool_in_it_is_left_out(tmp_path: Path) -> None:
    """Ours: whoever reads it may rely on names."""
    cache = ToolCache(tmp_path)
    cache.keep(entry(), TOOLS)
    path = tmp_path / "tools" / "fs.json"
    kept = json.loads(path.read_text())
    path.write_text(json.dumps({**kept, "tools": [*TOOLS, "x", {"name": 7}, {}]}))

    assert cache.lookup(entry()) == TOOLS


@pytest.mark.parametrize("name", ["a/b", "..", "a b", "ä" * 60, "x" * 300, "\x1b[2J", "\U0001f600"])
def test_every_name_has_a_file(tmp_path: Path, name: str) -> None:
    """Ours: files that people wrote by hand hold all of these."""
    cache = ToolCache(tmp_path / "deep")
    cache.keep(entry(name), TOOLS)

    assert cache.lookup(entry(name)) == TOOLS
    assert [path.parent.name for path in tmp_path.rglob("*.json")] == ["tools"]


def test_kinds_are_kept_apart(tmp_path: Path) -> None:
    """Ours: prompts and resources beside tools, and each is forgotten by itself."""
    cache = ToolCache(tmp_path)
    prompts = [{"name": "review"}]
    cache.keep(entry(), TOOLS)
    cache.keep(entry(), prompts, "prompts")

    assert (cache.lookup(entry()), cache.lookup(entry(), "prompts")) == (TOOLS, prompts)
    assert cache.lookup(entry(), "resources") is None
    cache.forget(entry(), "prompts")
    cache.forget(entry(), "prompts")
    assert (cache.lookup(entry()), cache.lookup(entry(), "prompts")) == (TOOLS, None)


def test_what_cannot_be_written_is_not(tmp_path: Path) -> None:
    """Ours: a cache on a full or read-only disk is only an empty one."""
    (tmp_path / "tools").write_text("in the way")
    cache = ToolCache(tmp_path)

    cache.keep(entry(), TOOLS)

    assert cache.lookup(entry()) is None
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    ToolCache(tmp_path / "b").keep(entry(), [{"name": "deep", "inputSchema": deep}])
    assert ToolCache(tmp_path / "b").lookup(entry()) is None
