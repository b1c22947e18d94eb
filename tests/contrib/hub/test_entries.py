"""The agents of the configuration file: the members of an entry, and the error about an invalid one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.command import Command
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.config.trust import approve, find_project_file
from gaia_mcp.contrib.hub.drivers.base import CAPABILITIES
from gaia_mcp.contrib.hub.entries import AgentEntry, Endpoint, HubError, Limits, model_problem, read_agent, read_agents
from gaia_mcp.core.errors import ConfigFileError, EntryError, VariableUnsetError
from tests.waiting import Clock

if TYPE_CHECKING:
    from pathlib import Path


def stored(path: Path, agents: Any) -> ConfigStore:
    path.write_text(json.dumps({"mcpServers": {}, "agents": agents}))
    return ConfigStore(path)


def test_the_three_programs_are_configured_by_default(tmp_path: Path) -> None:
    """Ours: they are looked for on PATH, and get the environment of the hub."""
    found = read_agents(ConfigStore(tmp_path / "none.json"))

    assert list(found) == ["claude", "codex", "gemini"]
    for name, agent in found.items():
        assert agent.target == Command(name, [], inherit=True)
        assert (agent.kind, agent.timeout) == (name, 30)


def test_capabilities_are_those_of_the_document() -> None:
    """B3: a client can filter by no other."""
    assert " ".join(CAPABILITIES) == (
        "code_generation code_editing code_analysis text_completion streaming multi_turn code_execution vision "
        "tool_use extended_thinking file_operations"
    )
    for raw in ({"kind": "claude"}, {"kind": "codex"}, {"kind": "gemini"}, {"endpoint": "http://h/v1"}):
        agent = read_agent("a", raw)
        assert agent is not None
        assert {*agent.capabilities} < {*CAPABILITIES}


def test_an_entry_changes_an_agent_or_adds_one(tmp_path: Path) -> None:
    """Ours: by the same name it changes one of the three programs; by another it adds one."""
    store = stored(
        tmp_path / "mcp_servers.json",
        {
            "claude": {"model": "big", "timeout": 120, "max_concurrent": 2, "per_minute": 9, "x-note": "kept"},
            "codex": {"disabled": True},
            "local": {"endpoint": "http://127.0.0.1:8080/v1", "model": "m", "api_key": "${KEY}", "description": "d"},
            "fast": {"kind": "gemini", "command": "npx", "args": ["-y", "gemini"], "capabilities": ["vision"]},
        },
    )

    found = read_agents(store)

    assert list(found) == ["claude", "gemini", "local", "fast"]
    claude, local, fast = found["claude"], found["local"], found["fast"]
    assert (claude.model, claude.timeout, claude.max_concurrent, claude.per_minute) == ("big", 120, 2, 9)
    assert (local.kind, local.target, local.description) == (
        "endpoint", Endpoint("http://127.0.0.1:8080/v1", "${KEY}"), "d",
    )  # fmt: skip
    assert (fast.kind, fast.target, fast.capabilities) == (
        "gemini", Command("npx", ["-y", "gemini"], inherit=True), ("vision",),
    )  # fmt: skip


def test_a_command_without_arguments_is_a_command_line() -> None:
    """Ours: as in the entry of a server."""
    agent = read_agent("claude", {"command": "npx -y claude"})

    assert agent is not None
    assert agent.target == Command("npx -y claude", None, inherit=True)


def test_an_invalid_agent_entry_names_its_member_agent_and_file(tmp_path: Path) -> None:
    """Ours: also for an entry that is disabled, or that is never used."""
    path = tmp_path / "mcp_servers.json"
    cases: list[tuple[Any, str]] = [
        ([], "object"),
        ({}, "'endpoint', or a 'kind'"),
        ({"kind": "gpt"}, "'kind'"),
        ({"kind": ["claude"]}, "'kind'"),
        ({"kind": "claude", "endpoint": "http://h"}, "'endpoint'"),
        ({"kind": "endpoint"}, "'endpoint'"),
        ({"endpoint": "h:80"}, "'endpoint'"),
        ({"endpoint": "http://h/ v1"}, "'endpoint'"),
        ({"endpoint": 7}, "'endpoint'"),
        ({"endpoint": "http://h", "api_key": 7}, "'api_key'"),
        ({"endpoint": "http://h", "api_key": "a\nb"}, "'api_key'"),
        ({"endpoint": "http://h", "command": "x"}, "'command'"),
        ({"endpoint": "http://h", "env": {}}, "'env'"),
        ({"kind": "claude", "command": ""}, "'command'"),
        ({"kind": "claude", "command": "a\0b"}, "'command'"),
        ({"kind": "claude", "args": "x"}, "'args'"),
        ({"kind": "claude", "env": {"A=": "x"}}, "'env'"),
        ({"kind": "claude", "cwd": "a\0b"}, "'cwd'"),
        ({"kind": "claude", "cwd": 7}, "'cwd'"),
        ({"kind": "claude", "model": "--flag"}, "'model'"),
        ({"kind": "claude", "model": 7}, "'model'"),
        ({"kind": "claude", "timeout": 0}, "'timeout'"),
        ({"kind": "claude", "timeout": "30"}, "'timeout'"),
        ({"kind": "claude", "timeout": 3601}, "'timeout'"),
        ({"kind": "claude", "timeout": True}, "'timeout'"),
        ({"kind": "claude", "max_concurrent": 0}, "'max_concurrent'"),
        ({"kind": "claude", "max_concurrent": 1.5}, "'max_concurrent'"),
        ({"kind": "claude", "per_minute": -1}, "'per_minute'"),
        ({"kind": "claude", "per_minute": None}, "'per_minute'"),
        ({"kind": "claude", "capabilities": "vision"}, "'capabilities'"),
        ({"kind": "claude", "capabilities": ["visoin"]}, "did you mean 'vision'"),
        ({"kind": "claude", "description": 7}, "'description'"),
        ({"kind": "claude", "disabled": "no"}, "'disabled'"),
    ]

    wrong = []
    for raw, member in cases:
        try:
            read_agents(stored(path, {"mine": raw}))
        except ConfigFileError as error:
            if not str(error).startswith(f"{path}: agent 'mine'") or member not in str(error):
                wrong.append((raw, error))
        else:
            wrong.append((raw, None))

    assert not wrong


def test_an_invalid_agent_name_is_an_error() -> None:
    """Ours: the name is typed, and is part of the names of tools."""
    with pytest.raises(EntryError, match="letters"):
        read_agent("a b", {"kind": "claude"})


def test_agents_that_are_not_an_object_are_an_error(tmp_path: Path) -> None:
    """Ours: a typing mistake must not remove all agents without a word."""
    with pytest.raises(ConfigFileError, match="'agents' is not an object"):
        read_agents(stored(tmp_path / "mcp_servers.json", []))


def test_the_agents_of_a_project_are_used_once_it_is_approved(tmp_path: Path) -> None:
    """Ours: a file in a working folder may name any program."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    environ = {"GAIA_HOME": str(home)}
    stored(home / "mcp_servers.json", {"claude": {"model": "user"}, "one": {"kind": "codex"}})
    stored(project / "mcp_servers.json", {"claude": {"model": "project"}, "two": {"kind": "codex"}})

    before = read_agents(ConfigStore.locate(environ=environ, cwd=project))
    file = find_project_file(project, environ)
    assert file is not None
    approve(file, environ)
    after = read_agents(ConfigStore.locate(environ=environ, cwd=project))

    assert (before["claude"].model, "two" in before) == ("user", False)
    assert (after["claude"].model, "one" in after, "two" in after) == ("project", True, True)


def test_an_endpoint_is_resolved_when_it_is_used() -> None:
    """Ours: a variable may have changed since the file was read."""
    target = Endpoint("${BASE}/v1", "${KEY}")

    assert target.resolved("a", {"BASE": "http://h", "KEY": "k"}) == Endpoint("http://h/v1", "k")
    with pytest.raises(VariableUnsetError):
        target.resolved("a", {"BASE": "http://h"})
    with pytest.raises(EntryError, match="'endpoint'"):
        target.resolved("a", {"BASE": "file://h", "KEY": "k"})


def test_the_model_names_of_vendors_are_allowed() -> None:
    """Ours: as their vendors write them."""
    cases = ["gpt-5.1", "claude-opus-4[1m]", "vendor/model:latest", "a@b", "models/x+y"]

    wrong = [model for model in cases if model_problem(model) != ""]

    assert not wrong


def agent(name: str = "claude", **members: int) -> AgentEntry:
    found = read_agent(name, {"kind": "claude", **members})
    assert found is not None
    return found


def test_concurrent_runs_of_an_agent_are_limited_by_its_entry() -> None:
    """B6: the next request is refused until one has ended, also by an error."""
    limits = Limits(10)

    with limits.running(agent(max_concurrent=1)):
        with pytest.raises(HubError, match="max_concurrent"), limits.running(agent(max_concurrent=1)):
            pass
        with limits.running(agent("codex", max_concurrent=1)):
            pass
    with pytest.raises(ZeroDivisionError), limits.running(agent(max_concurrent=1)):
        raise ZeroDivisionError
    with limits.running(agent(max_concurrent=1)):
        pass


def test_concurrent_runs_of_all_agents_are_limited() -> None:
    """B6: whichever they are."""
    limits = Limits(2)

    with (
        limits.running(agent("a")),
        limits.running(agent("b")),
        pytest.raises(HubError, match="2 agents are running"),
        limits.running(agent("c")),
    ):
        pass


def test_requests_per_minute_are_limited_for_each_agent() -> None:
    """B6: those that were refused do not count; a minute after the first there is room for another."""
    clock = Clock()
    limits = Limits(10, clock)

    def ask() -> None:
        with limits.running(agent(per_minute=2)):
            pass

    ask()
    clock.now += 20
    ask()
    for _ in range(3):
        with pytest.raises(HubError, match="try again in 40 s"):
            ask()
    with limits.running(agent("codex", per_minute=2)):
        pass
    clock.now += 40
    ask()
    with pytest.raises(HubError, match="try again in 20 s"):
        ask()


def test_a_lowered_limit_applies_at_once() -> None:
    """Ours: the file is read for every request."""
    clock = Clock()
    limits = Limits(10, clock)
    for _ in range(5):
        with limits.running(agent(per_minute=5)):
            pass

    with pytest.raises(HubError, match="60 s"), limits.running(agent(per_minute=2)):
        pass
