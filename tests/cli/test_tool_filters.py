"""Filters of a server's tools: an excluded tool does not exist, in any command."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

DEMO = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
MEMBERS = ("includeTools", "excludeTools")
EXCLUDED = "error: tool 'add' of 'demo' is not among the 'includeTools' of its entry"


def names(gaia: Gaia, *words: str) -> list[str]:
    (server,) = gaia("tools", *words, "--json").json["servers"]
    return [tool["name"] for tool in server["tools"]]


@pytest.fixture
def chosen(gaia: Gaia) -> Gaia:
    """The program, with a server `demo` of which only `greet` and what ends in `_time` are used."""
    gaia.write({"demo": {**DEMO, "includeTools": ["greet", "*_time", "fail"], "excludeTools": ["f*"]}})
    return gaia


def test_an_excluded_tool_is_in_no_list(chosen: Gaia) -> None:
    """Ours: neither in a list from the server nor in one from the cache."""
    assert "greet" in names(chosen, "demo")
    assert not {"add", "fail"} & set(names(chosen, "demo"))

    found = chosen("search", "demo", "--json")
    number = chosen("search", "number")
    shown = chosen("show", "demo", "--json").json

    assert "add" not in number.stdout
    assert "fail" not in found.stdout
    assert shown["known_tools"] == len(names(chosen, "demo"))
    assert (shown["includeTools"], shown["excludeTools"]) == (["greet", "*_time", "fail"], ["f*"])
    assert chosen("list", "--json").json["servers"][0]["includeTools"] == ["greet", "*_time", "fail"]
    guide = chosen("guide", "demo").stdout
    assert "greet" in guide
    assert "add" not in guide.split()


def test_calling_an_excluded_tool_is_refused_with_the_command_that_includes_it(chosen: Gaia) -> None:
    """Ours: exit code 8, and a hint that can be typed as it is."""
    refused = chosen("call", "demo", "add", "a=1", "b=2")
    as_json = chosen("call", "demo.add", "a=1", "b=2", "--json")
    unknown = chosen("call", "demo", "gret")
    greeted = chosen("call", "demo", "greet", "name=Ada")

    assert (refused.code, refused.errors[0]) == (8, EXCLUDED)
    way = "gaia mcp edit demo --only greet --only '*_time' --only fail --only add"
    assert refused.errors[1] == f"hint: include it with: {way}"
    assert as_json.json["error"]["kind"] == "tool-excluded"
    assert unknown.code == 7
    assert "did you mean 'greet'?" in unknown.stderr
    assert greeted.code == 0

    words = ["edit", "demo", "--only", "greet", "--only", "*_time", "--only", "fail", "--only", "add"]
    assert chosen(*words).code == 0
    assert chosen("call", "demo", "add", "a=1", "b=2").code == 0
    excluded = chosen("call", "demo", "fail")
    assert excluded.errors == [
        "error: tool 'fail' of 'demo' is excluded by the 'excludeTools' of its entry",
        "hint: include it with: gaia mcp edit demo --unset excludeTools",
    ]
    assert chosen("edit", "demo", "--unset", "excludeTools").code == 0
    assert chosen("call", "demo", "fail").code == 9


@pytest.mark.parametrize(
    ("entry", "way"),
    [
        ({"includeTools": list("abcdef")}, "--unset includeTools"),
        ({"excludeTools": ["a*", "x", "y z"]}, "--except x --except 'y z'"),
    ],
)
def test_the_hint_keeps_the_rest_of_the_filter(gaia: Gaia, entry: dict[str, Any], way: str) -> None:
    """Ours: a long filter is removed as a whole, since a person would not type it again."""
    gaia.write({"demo": {**DEMO, **entry}})

    assert gaia("call", "demo", "add", "a=1", "b=2").errors[1] == f"hint: include it with: gaia mcp edit demo {way}"


def test_test_client_and_lock_use_only_included_tools(chosen: Gaia) -> None:
    """Ours: a check of all tools is a check of those that can be called."""
    tested = chosen("test-client", "demo", "--call", "add", "a=1", "b=2")
    locked = chosen("lock", "demo")

    assert tested.code == 8
    assert "'add' of 'demo' is not among the 'includeTools'" in tested.stdout
    assert locked.code == 0
    tools = json.loads((chosen.cwd / "mcp.lock.json").read_text())["servers"]["demo"]["tools"]
    assert "greet" in tools
    assert "add" not in tools
    assert chosen("call", "demo", "greet", "name=Ada", "--locked").code == 0
    assert chosen("test-client", "demo", "--locked").code == 0


def test_the_cache_keeps_excluded_tools(chosen: Gaia) -> None:
    """Ours: a tool that is included again is known at once."""
    chosen("tools", "demo")
    chosen("edit", "demo", "--unset", "includeTools", "--unset", "excludeTools")

    assert "demo add(" in chosen("search", "add").stdout


def test_add_saves_a_filter_and_reports_patterns_without_a_match(gaia: Gaia) -> None:
    """Ours: a misspelt pattern would leave no tools without an explanation."""
    added = gaia("add", "demo", "--only", "gret", "--only", "ad*", "--except", "delete", "--", *command())

    assert added.code == 0
    assert ", 1 tool" in added.stdout
    assert "note: 'gret' matches no tool of 'demo'; did you mean 'greet'?" in added.stderr
    assert "note: 'delete' matches no tool of 'demo'" in added.stderr
    entry = json.loads(gaia.config.read_text())["mcpServers"]["demo"]
    assert (entry["includeTools"], entry["excludeTools"]) == (["gret", "ad*"], ["delete"])

    edited = gaia("edit", "demo", "--only", "grete")

    assert 'includeTools: ["gret", "ad*"] → ["grete"]' in edited.stdout
    assert "note: 'grete' matches no tool of 'demo'; did you mean 'greet'?" in edited.stderr
    assert names(gaia, "demo") == []


def test_an_invalid_filter_is_reported_with_its_member(gaia: Gaia) -> None:
    """Ours: a filter that is ignored would allow tools that the person has excluded."""
    values: list[Any] = ["echo", [1], [""], {"echo": True}]
    members = {f"s{at}-{member}": {member: value} for at, value in enumerate(values) for member in MEMBERS}
    gaia.write({name: {**DEMO, **member} for name, member in members.items()})

    for name, member in members.items():
        failed = gaia("tools", name)
        assert failed.code == 3
        assert f"server {name!r}: '{next(iter(member))}' must be a list of names of tools" in failed.stderr


def test_showing_an_excluded_tool_is_refused_like_calling_it(chosen: Gaia) -> None:
    """Ours: the tool exists, and the hint includes it."""
    chosen("tools", "demo")

    for words in (("tools", "demo", "add"), ("tools", "demo.add"), ("call", "demo", "add", "--help")):
        refused = chosen(*words)
        assert (refused.code, refused.errors[0]) == (8, EXCLUDED), words
    for words in (("tools", "demo", "nope"), ("call", "demo", "nope", "--help")):
        assert (chosen(*words).code, "has no tool 'nope'" in chosen(*words).stderr) == (7, True)


def test_problems_of_an_excluded_tool_are_not_reported(gaia: Gaia) -> None:
    """Ours: the tool cannot be called."""
    gaia.write({"bad": entry_of("bad-tools", excludeTools=["bare", "good"])})

    listed = gaia("tools", "bad")

    assert "'bare'" not in listed.stderr
    assert "'good'" not in listed.stderr
    assert "has no name" in listed.stderr


def test_filters_are_imported_from_gemini_and_exported_to_codex(gaia: Gaia) -> None:
    """Ours: each host has members of its own for them."""
    settings = gaia.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    theirs = {**DEMO, "includeTools": ["greet"], "excludeTools": ["add"]}
    settings.write_text(json.dumps({"mcpServers": {"demo": theirs}}))

    assert gaia("import", "gemini").code == 0
    assert names(gaia, "demo") == ["greet"]
    exported = gaia("export", "demo", "--to", "codex")

    assert exported.code == 0, exported.stderr
    entry = tomllib.loads((gaia.home / ".codex" / "config.toml").read_text())["mcp_servers"]["demo"]
    assert (entry["enabled_tools"], entry["disabled_tools"]) == (["greet"], ["add"])
    assert gaia("import", "codex", "gemini", "--json").json["servers"][0]["outcome"] == "same"


def test_patterns_are_exported_as_names_and_compare_as_the_same(chosen: Gaia) -> None:
    """Ours: Codex reads `*_time` as the name of a tool."""
    gaia = chosen
    unknown = gaia("export", "demo", "--as", "codex")
    gaia("tools", "demo")
    exported = gaia("export", "demo", "--to", "codex")

    assert "the host reads these patterns as names of tools: *_time, f*" in unknown.stderr
    assert "patterns of tools are written as the names that they match now" in exported.stderr
    entry = tomllib.loads((gaia.home / ".codex" / "config.toml").read_text())["mcp_servers"]["demo"]
    assert (entry["enabled_tools"], entry["disabled_tools"]) == (["greet", "fail"], ["fail"])
    assert gaia("import", "codex", "--json").json["servers"][0]["outcome"] == "same"
    assert gaia("export", "demo", "--to", "codex", "--json").json["servers"][0]["outcome"] == "same"


def test_exporting_a_filter_to_a_host_without_filters_is_reported(gaia: Gaia) -> None:
    """Ours: there the excluded tools can be called."""
    gaia.write({"demo": {**DEMO, "excludeTools": ["add"]}})

    exported = gaia("export", "demo", "--to", "cursor")

    assert exported.code == 0
    assert "note: demo: excludeTools is not exported: the host uses these tools too" in exported.stderr


def command() -> list[str]:
    return [DEMO["command"], *DEMO["args"]]
