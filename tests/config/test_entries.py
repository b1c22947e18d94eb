"""One server's entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry, servers_in
from gaia_mcp.config.served import Served
from gaia_mcp.config.targets import Remote
from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.core.errors import ConfigFileError, EntryError, VariableUnsetError
from gaia_mcp.toolspec.tool_filter import ToolFilter


def test_the_servers_of_a_document_are_a_copy() -> None:
    """Ours: a change of one must not change the other. A document of another program may have none."""
    document: dict[str, Any] = {"mcpServers": {"a": {}}}
    servers_in(document, Path("/x.json"))["b"] = {}
    assert document == {"mcpServers": {"a": {}}}
    assert servers_in({"theme": "dark"}, Path("/x.json")) == {}
    with pytest.raises(ConfigFileError, match="'servers' is not an object") as caught:
        servers_in({"servers": []}, Path("/x.json"))
    assert caught.value.path == Path("/x.json")


def test_a_command_entry_with_all_members_is_read() -> None:
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


def test_a_command_entry_needs_no_other_member() -> None:
    """Claude Desktop's format: only `command` is required. Without `args` it may be a whole command line."""
    entry = read_entry("fs", {"command": "python server.py"})
    assert entry.target == Command("python server.py", None, {}, None)
    assert (entry.timeout, entry.disabled) == (None, False)
    assert read_entry("fs", {"command": "python", "args": []}).target == Command("python", [], {})
    nothing = {"args": None, "env": None, "cwd": None, "timeout": None}
    assert read_entry("fs", {"command": "python", **nothing}).target == Command("python", None, {})


def test_the_type_of_a_url_has_several_spellings() -> None:
    """Ours; the other spellings are other programs'."""
    cases = [
        (None, "http"),
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamable_http", "http"),
        ("streamableHttp", "http"),
        ("sse", "sse"),
        ("rpc", "rpc"),
    ]

    config: dict[str, Any] = {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${T}"}}
    wrong = []
    for kind, transport in cases:
        entry = read_entry("web", config if kind is None else {**config, "type": kind})
        target = Remote("https://host/mcp", config["headers"], transport)
        if (type(entry.target), entry.target, entry.transport) != (Remote, target, transport):
            wrong.append((kind, entry))

    assert not wrong


@pytest.mark.parametrize("url", ["http://localhost:1/x", "https://h", "${BASE}/mcp"])
def test_a_url_may_be_a_reference(url: str) -> None:
    """Ours: it is expanded at use."""
    assert read_entry("web", {"url": url}).target == Remote(url, {})


def test_a_server_behind_a_url_is_remote() -> None:
    """Ours: all others are child processes of this program."""
    url = "https://host"
    remote = [{"url": url}, {"url": url, "type": "sse"}, {"url": url, "type": "rpc"}]
    local = [{"command": "npx"}, {"handler": "x.py"}, {"agent": "demo"}]

    assert [read_entry("x", config).is_remote for config in (*remote, *local)] == [True] * 3 + [False] * 3


def test_an_entry_may_name_its_tls_files() -> None:
    """Ours, as in Hermes Agent's format: a certificate with its key, and `true` for the authorities of the system."""
    pair = read_entry("x", {"url": "https://host", "client_cert": ["c.pem", "k.pem"], "ssl_verify": True}).target
    authority = read_entry("x", {"url": "https://host", "ssl_verify": "ca.pem"}).target

    assert pair == Remote("https://host", cert="c.pem", key="k.pem")
    assert authority == Remote("https://host", ca="ca.pem")


@pytest.mark.parametrize("kind", ["handler", "agent"])
def test_the_path_of_served_code_is_relative_to_the_file_of_the_entry(kind: str) -> None:
    """Ours: a path is relative to the file of the entry. It has all variables unless the entry says otherwise."""
    limits = {"timeout": 5, "max_retries": 0, "max_result_bytes": 100, "settings": {"url": "x"}, "stages": ["build"]}
    entry = read_entry("x", {kind: "./code.py", **limits, "env": {"A": "b"}, "note": 1}, Path("/project/servers.json"))

    assert entry.target == Served(kind, "./code.py", "/project", limits, {"A": "b"})
    assert (entry.transport, entry.timeout, entry.stages, entry.agents) == (kind, 5, ["build"], None)
    assert isinstance(entry.target, Served)
    assert entry.target.file == "/project/code.py"
    assert read_entry("x", {kind: "m:C", "inherit": False, "cwd": "/"}).target == Served(
        kind, "m:C", cwd="/", inherit=False
    )
    assert read_entry("x", {kind: "module:Class", "command": "npx"}).transport == "stdio"
    assert read_entry("x", {kind: "module:Class", "url": "http://h"}).transport == "http"


@pytest.mark.parametrize("source", ["/dev/fd/63", "/proc/self/fd/63"])
def test_a_pipe_as_the_file_has_no_folder(source: str) -> None:
    """Ours: `--config <(…)` names no folder, and a path is relative to the working one."""
    target = read_entry("x", {"handler": "code.py"}, Path(source)).target
    assert isinstance(target, Served)
    assert target.folder == ""


def test_the_type_decides_between_a_command_and_a_url() -> None:
    """Ours: an entry with both is invalid without it."""
    both = {"command": "npx", "url": "https://h"}
    found = {kind: read_entry("x", {**both, "type": kind}).transport for kind in ("stdio", "http", "sse")}

    assert found == {"stdio": "stdio", "http": "http", "sse": "sse"}


def test_an_entry_of_every_kind_may_be_restricted_to_stages_and_agents() -> None:
    """A3: null and a member that is left out allow all."""
    for config in ({"command": "npx"}, {"url": "https://h"}, {"handler": "x.py"}, {"agent": "demo"}):
        entry = read_entry("x", {**config, "stages": ["build", "all"], "agents": []})
        assert (entry.stages, entry.agents) == (["build", "all"], []), config
        assert (entry.masked()["stages"], entry.masked()["agents"]) == (["build", "all"], []), config
        assert (entry.is_available("design", None), entry.is_available(None, "ada")) == (True, False), config

        for unrestricted in (config, {**config, "stages": None, "agents": None}):
            entry = read_entry("x", unrestricted)
            assert (entry.stages, entry.agents) == (None, None), unrestricted
            assert not {"stages", "agents"} & entry.masked().keys(), unrestricted
            assert entry.is_available("design", "ada"), unrestricted


def test_a_request_to_a_handler_outlasts_the_timeout_of_the_handler() -> None:
    """A8: a call that takes too long is the tool's error; an agent and a command have no limit of their own."""
    assert read_entry("x", {"handler": "x.py", "timeout": 2}).request_seconds(30) > 2
    assert read_entry("x", {"handler": "x.py"}).request_seconds(30) > 30
    assert read_entry("x", {"agent": "demo", "timeout": 2}).request_seconds(30) == 2
    assert read_entry("x", {"command": "npx"}).request_seconds(30) == 30


OK: dict[str, Any] = {"command": "npx"}
URL: dict[str, Any] = {"url": "https://host/mcp"}
HANDLER: dict[str, Any] = {"handler": "x.py"}


def test_an_invalid_entry_names_the_invalid_member() -> None:
    """Ours: the member, so that it can be found in the file."""
    cases = [
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
        ({**OK, "protocolVersion": "2025-06-17"}, "2025-06-18"),
        ({**OK, "protocolVersion": [1]}, "'protocolVersion'"),
        ({**OK, "trustHints": "yes"}, "'trustHints'"),
        ({**OK, "keepAlive": "yes"}, "'keepAlive' must be true, false, or a duration from 1s to 7d; not 'yes'"),
        ({**OK, "keepAlive": "0s"}, "'keepAlive'"),
        ({**OK, "keepAlive": "8d"}, "'keepAlive'"),
        ({**OK, "keepAlive": []}, "'keepAlive'"),
        ({**OK, "keepAlive": 30}, "a number needs its unit"),
        ({**OK, "keepAlive": 1.5}, "a number needs its unit"),
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
        ({**URL, **OK}, "'command' and 'url'"),
        ({**URL, **OK, "type": "odd"}, "'command' and 'url'"),
        ({**URL, "headers": []}, "'headers'"),
        ({**URL, "headers": {"A": 5}}, "'A'"),
        ({**URL, "headers": {"A": {"keyring": "x"}}}, "'A'"),
        ({**URL, "ssl_verify": False}, "'ssl_verify'"),
        ({**URL, "client_cert": 5}, "'client_cert'"),
        ({**URL, "client_cert": ["c.pem", 5]}, "'client_key'"),
        ({**URL, "type": "stdio"}, "'type'"),
        ({**URL, "type": None}, "'type'"),
        ({**URL, "type": []}, "'type'"),
        ({**URL, "timeout": 0}, "'timeout'"),
        ({"agent": "m:C", "timeout": 0}, "'timeout'"),
        ({"handler": ""}, "'handler'"),
        ({"handler": None}, "'handler'"),
        ({"handler": ["x.py"]}, "'handler'"),
        ({"handler": "a\0.py"}, "'handler'"),
        ({"agent": {"odd": 1}}, "'agent'"),
        ({**HANDLER, "env": {"A": 5}}, "'A'"),
        ({**HANDLER, "cwd": 5}, "'cwd'"),
        ({**HANDLER, "inherit": 1}, "'inherit'"),
        ({**HANDLER, "stages": "build"}, "'stages'"),
        ({**HANDLER, "stages": ["build", 5]}, "'stages'"),
        ({**OK, "agents": {"a": 1}}, "'agents'"),
        ({**OK, "agents": True}, "'agents'"),
    ]

    wrong = []
    for config, named in cases:
        try:
            read_entry("fs", config)
        except EntryError as error:
            if not (error.server == "fs" and named in error.message):
                wrong.append((config, named, error))
        else:
            wrong.append((config, named, None))

    assert not wrong


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


def test_an_entry_of_a_program_keeps_unset_variables_in_its_arguments() -> None:
    """GAIA: its client passes arguments to the server as they are."""
    entry = read_entry("fs", {"command": "npx", "args": ["${NONE}"]}, keeps_unset=True)
    assert entry.resolved({}).target == Command("npx", ["${NONE}"], {})


def test_served_code_learns_which_file_is_used_alone() -> None:
    """Ours: for all other servers the file has no meaning."""
    command, handler = read_entry("x", OK), read_entry("x", HANDLER)

    assert command.in_file(Path("/p/prototype.yaml")) is command
    assert handler.in_file(Path("/p/prototype.yaml")).target == Served("handler", "x.py", project="/p/prototype.yaml")


def test_a_masked_entry_has_the_common_members() -> None:
    """Ours: the form that `list --json` prints. A timeout that is not given is left out."""
    entry = read_entry("web", {"url": "https://host?key=abc", "timeout": 5, "disabled": True}, Path("/x.json"))
    common = {"name": "web", "transport": "http", "url": "https://host?key=****"}
    assert entry.masked() == {**common, "timeout": 5, "disabled": True, "source": "/x.json"}
    assert entry._replace(timeout=None, source=None).masked() == {**common, "disabled": True, "source": None}
    assert entry.described() == "https://host?key=****"


def test_an_entry_filters_the_tools() -> None:
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


def test_different_servers_have_different_identities() -> None:
    """Ours: what is cached for one of them must not be used for the other."""
    cases = [
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
        ({"handler": "a.py"}, {"handler": "a.py", "settings": {"url": "x"}}),
        ({"handler": "a.py"}, {"handler": "a.py", "env": {"A": "x"}}),
        ({"url": "https://a"}, {"command": "https://a"}),
    ]

    wrong = [
        (one, other)
        for one, other in cases
        if read_entry("x", one).identity() in (read_entry("x", other).identity(), read_entry("y", one).identity())
    ]

    assert not wrong


def test_a_changed_secret_does_not_change_the_identity() -> None:
    """Ours: a token is renewed every day."""
    cases = [
        (ONE, {**ONE, "env": {"TOKEN": "two"}}),
        (ONE, {**ONE, "timeout": 5, "disabled": True, "note": "x"}),
        (ONE, {**ONE, "includeTools": ["a"], "excludeTools": ["b"]}),
        ({"handler": "a.py", "settings": {"key": "1"}}, {"handler": "a.py", "settings": {"key": "2"}}),
        ({"handler": "a.py", "stages": ["build"]}, {"handler": "./a.py", "max_retries": 5}),
        ({"url": "https://a", "headers": {"A": "1", "B": "2"}}, {"url": "https://a", "headers": {"B": "3", "A": "4"}}),
    ]

    wrong = [
        (one, other) for one, other in cases if read_entry("x", one).identity() != read_entry("x", other).identity()
    ]

    assert not wrong


def test_the_identity_of_a_command_is_that_of_earlier_versions() -> None:
    """Ours: what they have cached is still found, under the name of the server."""
    entry = read_entry("time", {"command": "uvx", "args": ["mcp-server-time"]})
    assert (entry.key, entry.identity()) == ("time", 747193101)


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
def test_an_entry_may_fix_the_revision(revision: str) -> None:
    """IO-10; ours: a server that negotiates badly can be used all the same."""
    entry = read_entry("x", {**OK, "protocolVersion": revision})

    assert (entry.revision, entry.masked()["protocolVersion"]) == (revision, revision)
    assert read_entry("x", {**OK, "protocolVersion": None}).revision is None


def test_an_entry_may_trust_the_hints_of_its_server() -> None:
    """B-10: only if it says so."""
    entry = read_entry("x", {**OK, "trustHints": True})

    assert (entry.trusts_hints, entry.masked()["trustHints"]) == (True, True)
    assert not read_entry("x", {**OK, "trustHints": None}).trusts_hints


def test_an_entry_may_keep_its_server_open() -> None:
    """Ours: for the time in it, or 15 minutes; the server is the same one with it and without."""
    cases = [(True, 900.0), ("90s", 90.0), ("2h", 7200.0), (False, None), (None, None)]

    for held, seconds in cases:
        entry = read_entry("x", {**OK, "keepAlive": held})
        assert (entry.keep_alive, entry.masked().get("keepAlive")) == (seconds, held)
        assert entry.identity() == read_entry("x", OK).identity()
    assert read_entry("x", OK).keep_alive is None


def test_the_credentials_of_an_entry_are_its_variables_or_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    """MC-10: references count with what they stand for; the order does not, nor what is not set."""
    monkeypatch.setenv("TOKEN", "one")
    entry = read_entry("x", {**OK, "env": {"A": "1", "T": "${TOKEN}", "N": "${NOT_SET_HERE}", "K": {"$keyring": "k"}}})
    first = entry.credentials()

    assert first == read_entry("x", {**OK, "env": dict(reversed(entry.raw["env"].items()))}).credentials()
    assert first != read_entry("x", {**OK, "env": {**entry.raw["env"], "A": "2"}}).credentials()
    monkeypatch.setenv("TOKEN", "two")
    assert first != entry.credentials()
    url = {"url": "https://e.org"}
    assert read_entry("x", {**url, "headers": {"K": "1"}}).credentials() != read_entry("x", url).credentials()
