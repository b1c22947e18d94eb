"""One server's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.targets import Agent, Handler, Remote
from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.errors import EntryError, VariableUnsetError
from gaia_mcp.toolspec.tool_filter import ToolFilter


def test_a_command_with_everything() -> None:
    """Ours: the keys of an entry."""
    config = {
        "command": "npx",
        "args": ["-y", "server"],
        "env": {"TOKEN": "${TOKEN}", "KEY": {"$keyring": "gaia.connections:x:KEY"}},
        "cwd": "~/work",
        "timeout": 30,
        "disabled": True,
        "note": "kept",
    }
    entry = read_entry("fs", config, Path("/x.json"))

    assert (entry.name, entry.transport) == ("fs", "stdio")
    assert isinstance(entry.target, Command)
    assert entry.target == Command("npx", ["-y", "server"], config["env"], "~/work")
    assert (entry.timeout, entry.disabled) == (30, True)
    assert (entry.raw, entry.source) == (config, Path("/x.json"))


def test_a_command_with_nothing_else() -> None:
    """Claude Desktop's format: only `command` is required. Without `args` it may be a whole command line."""
    entry = read_entry("fs", {"command": "python server.py"})
    assert entry.target == Command("python server.py", None, {}, None)
    assert (entry.timeout, entry.disabled) == (None, False)
    assert read_entry("fs", {"command": "python", "args": []}).target == Command("python", [], {})
    nothing = {"args": None, "env": None, "cwd": None, "timeout": None}
    assert read_entry("fs", {"command": "python", **nothing}).target == Command("python", None, {})


@pytest.mark.parametrize(
    ("kind", "transport"),
    [
        (None, "http"),
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamable_http", "http"),
        ("streamableHttp", "http"),
        ("sse", "sse"),
        ("rpc", "rpc"),
    ],
)
def test_a_url_with_the_names_that_others_give_its_type(kind: str | None, transport: str) -> None:
    """Ours; the other spellings are other programs'."""
    config: dict[str, Any] = {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${T}"}}
    entry = read_entry("web", config if kind is None else {**config, "type": kind})
    assert isinstance(entry.target, Remote)
    assert entry.target == Remote("https://host/mcp", config["headers"], transport)
    assert entry.transport == transport


@pytest.mark.parametrize("url", ["http://localhost:1/x", "https://h", "${BASE}/mcp"])
def test_a_url_may_be_a_reference(url: str) -> None:
    """Ours: it is expanded at use."""
    assert read_entry("web", {"url": url}).target == Remote(url, {})


@pytest.mark.parametrize("target", [Handler, Agent])
def test_a_handler_or_an_agent_is_kept(target: type[Handler | Agent]) -> None:
    """Ours: what it names is judged by the version that can load it."""
    kind = target.transport
    entry = read_entry("x", {kind: "module:Class", "timeout": 5})
    assert entry.target == target("module:Class")
    assert (entry.transport, entry.timeout) == (kind, 5)
    assert read_entry("x", {kind: {"odd": 1}}).target == target("")
    assert read_entry("x", {kind: "module:Class", "command": "npx"}).transport == "stdio"
    assert read_entry("x", {kind: "module:Class", "url": "http://h"}).transport == "http"


OK: dict[str, Any] = {"command": "npx"}
URL: dict[str, Any] = {"url": "https://host/mcp"}


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (None, "config dict, not NoneType"),
        ([], "config dict, not list"),
        ("npx", "config dict, not str"),
        ({}, "'command'"),
        ({"command": ""}, "'command'"),
        ({"command": "  "}, "'command'"),
        ({"command": None}, "'command'"),
        ({"command": ["npx"]}, "'command'"),
        ({"command": "a\0b"}, "'command'"),
        ({**OK, "args": "-y"}, "'args'"),
        ({**OK, "args": ["-y", 5]}, "'args'"),
        ({**OK, "args": {}}, "'args'"),
        ({**OK, "args": ["a\0b"]}, "'args'"),
        ({**OK, "args": ["\ud800"]}, "'args'"),
        ({**OK, "cwd": 5}, "'cwd'"),
        ({**OK, "cwd": "a\0b"}, "'cwd'"),
        ({**OK, "inherit": "yes"}, "'inherit'"),
        ({**OK, "inherit": 1}, "'inherit'"),
        ({**OK, "includeTools": "read"}, "'includeTools'"),
        ({**OK, "includeTools": ["read", 7]}, "'includeTools'"),
        ({**OK, "excludeTools": [""]}, "'excludeTools'"),
        ({**OK, "includeTools": ["a"], "excludeTools": {}}, "'excludeTools'"),
        ({"url": "https://h", "includeTools": True}, "'includeTools'"),
        ({**OK, "env": []}, "'env'"),
        ({**OK, "env": {"A": 5}}, "'A'"),
        ({**OK, "env": {"A": None}}, "'A'"),
        ({**OK, "env": {"A": {"$keyring": 5}}}, "'A'"),
        ({**OK, "env": {"A": {"keyring": "x"}}}, "'A'"),
        ({**OK, "env": {"A": "a\0b"}}, "'A'"),
        ({**OK, "env": {"": "x"}}, "''"),
        ({**OK, "env": {"A=B": "x"}}, "'A=B'"),
        ({**OK, "env": {"A\0": "x"}}, "named"),
        ({**OK, "env": {5: "x"}}, "5"),
        ({**OK, "timeout": "30"}, "'timeout'"),
        ({**OK, "timeout": True}, "'timeout'"),
        ({**OK, "timeout": 0}, "'timeout'"),
        ({**OK, "timeout": -1}, "'timeout'"),
        ({**OK, "timeout": MAX_ENTRY_TIMEOUT_SECONDS + 1}, "'timeout'"),
        ({**OK, "timeout": float("nan")}, "'timeout'"),
        ({**OK, "disabled": "yes"}, "'disabled'"),
        ({**OK, "disabled": None}, "'disabled'"),
        ({"url": 5}, "'url'"),
        ({"url": ""}, "'url'"),
        ({"url": "host/mcp"}, "'url'"),
        ({"url": "file:///etc/passwd"}, "'url'"),
        ({"url": None, "command": "npx"}, "'url'"),
        ({**URL, "headers": []}, "'headers'"),
        ({**URL, "headers": {"A": 5}}, "'headers'"),
        ({**URL, "type": "stdio"}, "'type'"),
        ({**URL, "type": None}, "'type'"),
        ({**URL, "type": []}, "'type'"),
        ({**URL, "timeout": 0}, "'timeout'"),
        ({"agent": "m:C", "timeout": 0}, "'timeout'"),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_an_invalid_entry_names_what_is_wrong(config: Any, named: str) -> None:
    """Ours: the member, so that it can be found in the file."""
    with pytest.raises(EntryError) as caught:
        read_entry("fs", config)
    assert caught.value.server == "fs"
    assert named in caught.value.message


@pytest.mark.parametrize("timeout", [0.001, 1, 600])
def test_a_timeout_within_the_limit_is_taken(timeout: float) -> None:
    """GAIA's own limit is 600 s."""
    assert read_entry("fs", {**OK, "timeout": timeout}).timeout == timeout


def test_an_entry_is_resolved_by_the_environment_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: what the person exported. Everything but the target stays as it is."""
    monkeypatch.setenv("GAIA_TEST_TOKEN", "x")
    entry = read_entry("fs", {"command": "${GAIA_TEST_TOKEN}", "timeout": 5}, Path("/x.json"))
    assert entry.resolved() == entry._replace(target=Command("x", None, {}))


def test_an_entry_may_be_resolved_by_another_environment() -> None:
    """Ours: an error names the server."""
    entry = read_entry("fs", {"command": "${NAME}"})
    assert entry.resolved({"NAME": "x"}).target == Command("x", None, {})
    with pytest.raises(VariableUnsetError) as caught:
        entry.resolved({})
    assert caught.value.server == "fs"


def test_an_entry_is_shown_with_what_every_kind_has() -> None:
    """Ours: the form that `list --json` prints. A timeout that is not given is left out."""
    entry = read_entry("web", {"url": "https://host?key=abc", "timeout": 5, "disabled": True}, Path("/x.json"))
    common = {"name": "web", "transport": "http", "url": "https://host?key=****"}
    assert entry.masked() == {**common, "timeout": 5, "disabled": True, "source": "/x.json"}
    assert entry._replace(timeout=None, source=None).masked() == {**common, "disabled": True, "source": None}
    assert entry.described() == "https://host?key=****"


def test_an_entry_chooses_among_the_tools() -> None:
    """Ours, with the names that Gemini CLI gave it; without a choice there is no filter."""
    entry = read_entry("x", {"command": "a", "includeTools": ["read_*"], "excludeTools": ["read_all"]})
    assert entry.tool_filter == ToolFilter(["read_*"], ["read_all"])
    assert entry.masked()["includeTools"] == ["read_*"]
    assert entry.masked()["excludeTools"] == ["read_all"]
    assert read_entry("x", {"url": "https://h", "excludeTools": ["a"]}).tool_filter == ToolFilter(None, ["a"])
    assert read_entry("x", {"command": "a", "includeTools": []}).tool_filter == ToolFilter([])
    nothing = read_entry("x", {"command": "a", "includeTools": None, "excludeTools": None})
    assert nothing.tool_filter is None
    assert "includeTools" not in nothing.masked()


ONE: dict[str, Any] = {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "one"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ONE, {**ONE, "command": "uvx"}),
        (ONE, {**ONE, "args": []}),
        (ONE, {"command": "npx", "env": {"TOKEN": "one"}}),
        (ONE, {**ONE, "env": {}}),
        (ONE, {**ONE, "env": {"OTHER": "one"}}),
        (ONE, {**ONE, "cwd": "/srv"}),
        ({"url": "https://a"}, {"url": "https://b"}),
        ({"url": "https://a"}, {"url": "https://a", "type": "sse"}),
        ({"url": "https://a"}, {"url": "https://a", "headers": {"X-Tenant": "1"}}),
        ({"handler": "a.py"}, {"handler": "b.py"}),
        ({"agent": "a:A"}, {"agent": "b:B"}),
        ({"agent": "a"}, {"handler": "a"}),
        ({"agent": "a"}, {"command": "a"}),
        ({"url": "https://a"}, {"command": "https://a"}),
    ],
    ids=str,
)
def test_servers_that_are_not_the_same_have_different_identities(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Ours: what is known of one of them must not be believed of the other."""
    assert read_entry("x", one).identity() != read_entry("x", other).identity()
    assert read_entry("x", one).identity() != read_entry("y", one).identity()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ONE, {**ONE, "env": {"TOKEN": "two"}}),
        (ONE, {**ONE, "timeout": 5, "disabled": True, "note": "x"}),
        (ONE, {**ONE, "includeTools": ["a"], "excludeTools": ["b"]}),
        ({"url": "https://a", "headers": {"A": "1", "B": "2"}}, {"url": "https://a", "headers": {"B": "3", "A": "4"}}),
    ],
    ids=str,
)
def test_a_new_secret_makes_no_other_identity(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Ours: a token is renewed every day."""
    assert read_entry("x", one).identity() == read_entry("x", other).identity()


def test_the_identity_of_a_command_is_the_one_of_earlier_versions() -> None:
    """Ours: what they have remembered is still found."""
    assert read_entry("time", {"command": "uvx", "args": ["mcp-server-time"]}).identity() == 747193101
