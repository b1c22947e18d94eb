"""What a session leaves in the cache for completion and `search`, which never connect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia


@pytest.fixture
def cache(gaia: Gaia) -> Path:
    """The folder of what has been seen."""
    gaia.environ["GAIA_HOME"] = str(gaia.home / ".gaia")
    return gaia.home / ".gaia" / "cache"


def test_prompts_and_resources_are_cached(gaia: Gaia, cache: Path) -> None:
    """Ours: by every command that has listed them completely."""
    gaia.write({"offers": entry_of("offers", "2025-11-25")})

    for kind in ("prompts", "resources"):
        assert not (cache / kind / "offers.json").exists()
        assert gaia(kind, "offers").code == 0
        assert (cache / kind / "offers.json").exists()

    assert "file:///{path}" in (cache / "resources" / "offers.json").read_text()


def test_add_caches_tools_prompts_and_resources(gaia: Gaia, cache: Path) -> None:
    """Ours: the first TAB offers them. A list that fails does not stop the command."""
    assert gaia("add", "demo", "--", "gaia", "mcp", "serve", "demo").code == 0

    assert {path.parent.name for path in cache.glob("*/demo.json")} >= {"tools", "prompts", "resources"}
    refuses = entry_of("refuses-reads", "-1", "no")
    assert gaia("add", "refuses", "--", refuses["command"], *refuses["args"]).code == 0


def test_using_a_prompt_caches_all_prompts(gaia: Gaia, cache: Path) -> None:
    """Ours: the list is fetched in any case."""
    gaia.write({"offers": entry_of("offers", "2026-07-28")})

    assert gaia("prompt", "offers", "review", "lang=en").code == 0

    assert "second" in (cache / "prompts" / "offers.json").read_text()


@pytest.mark.parametrize("known", [True, False])
def test_an_announced_change_updates_the_cache(gaia: Gaia, cache: Path, known: bool) -> None:
    """Spec, list_changed: whichever command receives the notification lists again."""
    gaia.use("list-changes")
    assert not known or gaia("tools").code == 0
    assert (cache / "tools" / "list-changes.json").exists() is known

    assert gaia("call", "list-changes", "echo").code == 0

    assert '"new1"' in (cache / "tools" / "list-changes.json").read_text()


def test_the_cache_stays_when_a_changed_list_cannot_be_fetched(gaia: Gaia, cache: Path) -> None:
    """Ours: most of it is still right, and without it a TAB would offer nothing."""
    gaia.write({"x": entry_of("list-changes", env={"REFUSES": "1"})})
    assert gaia("tools").code == 0

    assert gaia("call", "x", "echo").code == 0

    assert '"echo"' in (cache / "tools" / "x.json").read_text()


@pytest.mark.parametrize("command", [("read", "x://gone"), ("prompt", "nope")], ids=lambda command: command[0])
def test_an_error_leaves_the_cache(gaia: Gaia, command: tuple[str, str]) -> None:
    """Ours: such a command lists nothing, and the server may announce new tools at any time."""
    verb, *words = command
    gaia.use("list-changes")
    assert gaia("tools").code == 0

    assert gaia(verb, "list-changes", *words).code in (6, 7)

    assert "list-changes echo" in gaia("search", "echo").stdout


def test_a_call_caches_a_complete_list_of_tools(gaia: Gaia, cache: Path) -> None:
    """Ours: a TAB after the first call completes the second."""
    gaia.use("good-handshake")

    assert gaia("call", "good-handshake", "echo").code == 0

    assert (cache / "tools" / "good-handshake.json").exists()


def test_a_call_does_not_cache_an_incomplete_list_of_tools(gaia: Gaia, cache: Path) -> None:
    """Ours: a list of half the tools would hide the others."""
    gaia.use("many-pages")

    assert gaia("call", "many-pages", "tool1").code == 0

    assert not (cache / "tools" / "many-pages.json").exists()


def test_tools_that_change_while_they_are_listed_are_listed_again(gaia: Gaia, cache: Path) -> None:
    """Ours: server-everything registers tools after it knows its client, and announces each."""
    gaia.use("late-tools")

    assert gaia("tools", "late-tools").code == 0

    assert '"late"' in (cache / "tools" / "late-tools.json").read_text()


def test_a_call_with_wrong_arguments_caches_the_tools(gaia: Gaia, cache: Path) -> None:
    """Ours: the hint names a command that shows the parameters from the cache."""
    gaia.use("late-tools")

    assert gaia("call", "late-tools", "echo").code == 7

    assert '"late"' in (cache / "tools" / "late-tools.json").read_text()


def test_a_call_of_an_unknown_tool_caches_the_tools(gaia: Gaia, cache: Path) -> None:
    """Ours: they were listed for the suggestion."""
    gaia.use("good-handshake")

    assert gaia("call", "good-handshake", "ecoh").code == 7

    assert (cache / "tools" / "good-handshake.json").exists()


def test_saving_without_connecting_names_the_command_that_fills_the_cache(gaia: Gaia) -> None:
    """Ours: completion and `search` never connect, and no server is started without a request."""
    known = "note: completion and search include its tools after: gaia mcp tools {}\n"
    entry = entry_of("good-handshake")
    command = [entry["command"], *entry["args"]]

    assert gaia("add", "a", "--no-check", "--", *command).stderr == known.format("a")
    assert gaia("import", "-", stdin=json.dumps({"b": entry})).stderr == known.format("b")
    gaia("disable", "a", "b")
    both = gaia("enable", "a", "b")
    assert both.stderr == "note: completion and search include their tools after: gaia mcp tools a b\n"
    assert gaia("tools", "a", "b").code == 0
    assert gaia("enable", "a", "b").stderr == ""
    assert gaia("add", "c", "--", *command).stderr == ""


def test_the_note_about_many_uncached_servers_does_not_name_them(gaia: Gaia) -> None:
    """Ours: nor does it count servers that are disabled."""
    many = {f"s{number}": {"command": "x"} for number in range(30)}
    assert gaia("import", "-", stdin=json.dumps(many)).stderr.endswith("their tools after: gaia mcp tools\n")
    others = {"off": {"command": "x", "disabled": True}}
    assert "TAB" not in gaia("import", "-", stdin=json.dumps(others)).stderr


def test_a_renamed_server_keeps_its_cache(gaia: Gaia) -> None:
    """Ours: it is the same server; one with another command is not."""
    gaia.use("good-handshake")
    assert gaia("tools").code == 0

    ran = gaia("edit", "good-handshake", "--rename", "good")
    assert (ran.code, ran.stderr) == (0, "")
    assert "good echo" in gaia("search", "echo").stdout
    changed = gaia("edit", "good", "--no-check", "--", "prog")
    assert changed.stderr == "note: completion and search include its tools after: gaia mcp tools good\n"
