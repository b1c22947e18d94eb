"""One server's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from gaia_mcp.config.entries import MAX_TIMEOUT_SECONDS, ServerEntry, read_entry
from gaia_mcp.errors import EntryError, VariableUnsetError


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

    assert (entry.name, entry.transport, entry.command, entry.args) == ("fs", "stdio", "npx", ["-y", "server"])
    assert entry.env == config["env"]
    assert (entry.cwd, entry.timeout, entry.disabled) == ("~/work", 30, True)
    assert (entry.raw, entry.source) == (config, Path("/x.json"))


def test_a_command_with_nothing_else() -> None:
    """Claude Desktop's format: only `command` is required. Without `args` it may be a whole command line."""
    entry = read_entry("fs", {"command": "python server.py"})
    assert (entry.args, entry.env, entry.cwd, entry.timeout, entry.disabled) == (None, {}, None, None, False)
    assert read_entry("fs", {"command": "python", "args": []}).args == []
    assert read_entry("fs", {"command": "python", "args": None, "env": None, "cwd": None, "timeout": None}).env == {}


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
    assert (entry.transport, entry.url, entry.headers) == (transport, "https://host/mcp", config["headers"])


@pytest.mark.parametrize("url", ["http://localhost:1/x", "https://h", "${BASE}/mcp"])
def test_a_url_may_be_a_reference(url: str) -> None:
    """Ours: it is expanded at use."""
    assert read_entry("web", {"url": url}).url == url


@pytest.mark.parametrize("kind", ["handler", "agent"])
def test_a_handler_or_an_agent_is_kept(kind: str) -> None:
    """Ours: such an entry is not ours to refuse."""
    assert read_entry("x", {kind: "module:Class", "timeout": 5}).transport == kind
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
        ({**OK, "timeout": MAX_TIMEOUT_SECONDS + 1}, "'timeout'"),
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
def test_an_entry_that_makes_no_sense_names_what_is_wrong(config: Any, named: str) -> None:
    """Ours: the member, so that it can be found in the file."""
    with pytest.raises(EntryError) as caught:
        read_entry("fs", config)
    assert caught.value.server == "fs"
    assert named in caught.value.message


@pytest.mark.parametrize("timeout", [0.001, 1, 600])
def test_a_timeout_within_the_limit_is_taken(timeout: float) -> None:
    """GAIA's own limit is 600 s."""
    assert read_entry("fs", {**OK, "timeout": timeout}).timeout == timeout


class TestResolved:
    """An entry made ready for use."""

    ENVIRON: ClassVar[dict[str, str]] = {"TOKEN": "t", "DIR": "/d"}

    def resolved(self, **config: Any) -> ServerEntry:
        return read_entry("fs", config).resolved(self.ENVIRON)

    def test_references_are_expanded_everywhere(self) -> None:
        """Ours: at use, never at save."""
        config = {
            "command": "${DIR}/run",
            "args": ["--token=${TOKEN}", "${NONE:-x}"],
            "env": {"A": "${TOKEN}", "B": "plain"},
            "cwd": "${DIR}",
        }
        entry = read_entry("fs", config)
        ready = entry.resolved(self.ENVIRON)

        assert (ready.command, ready.args) == ("/d/run", ["--token=t", "x"])
        assert (ready.env, ready.cwd) == ({"A": "t", "B": "plain"}, "/d")
        assert ready.raw == config
        assert entry.env == config["env"]

    def test_the_process_s_environment_is_the_usual_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: what the person exported."""
        monkeypatch.setenv("GAIA_TEST_TOKEN", "x")
        assert read_entry("fs", {"command": "${GAIA_TEST_TOKEN}"}).resolved().command == "x"

    def test_what_is_not_given_stays_away(self) -> None:
        """Ours: no args is not the same as no arguments."""
        assert (self.resolved(command="a b").args, self.resolved(command="a b").cwd) == (None, None)
        assert self.resolved(command="a", args=[]).args == []

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            ({"command": "${NONE}"}, "command"),
            ({"command": "a", "args": ["${NONE}"]}, "args"),
            ({"command": "a", "env": {"TOKEN": "${NONE}"}}, "env TOKEN"),
            ({"command": "a", "cwd": "${NONE}"}, "cwd"),
        ],
    )
    def test_a_variable_that_is_missing_is_named_with_its_place(self, config: Any, field: str) -> None:
        """Ours: which variable, and where it is wanted."""
        with pytest.raises(VariableUnsetError) as caught:
            self.resolved(**config)
        assert caught.value.variable == "NONE"
        assert f"{field} refers" in caught.value.message

    def test_a_tilde_is_the_person_s_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: there is no shell that would expand it. Arguments are the server's own affair."""
        monkeypatch.setenv("HOME", "/home/jane")
        ready = self.resolved(command="~/bin/run", cwd="~", args=["~/x"])
        assert (ready.command, ready.cwd, ready.args) == ("/home/jane/bin/run", "/home/jane", ["~/x"])

    def test_the_rest_of_a_command_line_is_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: the // of a URL in it is not a path's."""
        monkeypatch.setenv("HOME", "/home/jane")
        assert self.resolved(command="~/run --url http://h/./x/").command == "/home/jane/run --url http://h/./x/"

    def test_the_home_of_nobody_is_left_for_the_start_to_fail(self) -> None:
        """Ours: "there is no such command" says it well enough."""
        assert self.resolved(command="~nobody-of-that-name/run").command == "~nobody-of-that-name/run"

    @pytest.mark.parametrize(
        "config",
        [{"url": "https://host"}, {"url": "https://host", "type": "sse"}, {"agent": "m:C"}, {"handler": "m:C"}],
    )
    def test_a_server_that_cannot_be_reached_yet_says_so(self, config: Any) -> None:
        """Ours: this version speaks to commands only."""
        with pytest.raises(EntryError, match="cannot be reached by this version") as caught:
            self.resolved(**config)
        assert "mcp add" not in caught.value.hint  # As often as not it is kept already.

    def test_a_foreign_keyring_entry_is_refused(self) -> None:
        """Ours: an entry must not read other programs' secrets."""
        with pytest.raises(EntryError, match="other than"):
            self.resolved(command="a", env={"A": {"$keyring": "login:x"}})
