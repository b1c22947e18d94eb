"""Servers that are restricted to stages of a project, and to agents: `--stage` and `--agent`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.completion.answering import candidates
from tests.cli.conftest import SERVERS, entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.fixture
def scoped(gaia: Gaia) -> Gaia:
    """The program, with servers for everyone, for one stage, for one agent, for all stages, and for none."""
    gaia.write(
        {
            "open": entry_of("good-handshake"),
            "build": entry_of("good-handshake", stages=["build", "deploy"]),
            "terraform": {"agent": "demo", "stages": ["build"], "agents": ["terraform-agent", "two words"]},
            "every": {"agent": "demo", "stages": ["all"], "agents": None},
            "never": entry_of("good-handshake", stages=[]),
        }
    )
    return gaia


def shown(gaia: Gaia, *options: str) -> list[str]:
    """The servers whose tools are shown."""
    ran = gaia("tools", "--json", *options)
    assert ran.code == 0, ran
    return [server["name"] for server in ran.json["servers"]]


@pytest.mark.parametrize(
    ("options", "servers"),
    [
        ([], ["open", "build", "terraform", "every", "never"]),
        (["--stage", "build"], ["open", "build", "terraform", "every"]),
        (["--stage", "design"], ["open", "every"]),
        (["--agent", "terraform-agent"], ["open", "build", "terraform", "every", "never"]),
        (["--agent", "other"], ["open", "build", "every", "never"]),
        (["--stage", "build", "--agent", "other"], ["open", "build", "every"]),
        (["--stage", "build", "--agent", "two words"], ["open", "build", "terraform", "every"]),
    ],
)
def test_only_tools_of_available_servers_are_shown(scoped: Gaia, options: list[str], servers: list[str]) -> None:
    """A3: both restrictions apply; `[]` allows no stage, "all" every stage, and a missing option is no restriction."""
    assert shown(scoped, *options) == servers


def test_an_unavailable_server_is_refused_before_it_is_started(scoped: Gaia) -> None:
    """A3: exit code 8, however it is named; the hint lists what is available."""
    for words in (["call", "never", "echo", "text=x"], ["tools", "never"], ["search", "echo", "--server", "never"]):
        refused = scoped(*words, "--stage", "build", "--json")
        assert (refused.code, refused.json["error"]["kind"]) == (8, "scope")
    refused = scoped("call", "terraform", "greet", "name=x", "--stage", "a b", "--agent", "x'y")
    assert refused.errors == [
        """error: server 'terraform' is not available to agent "x'y" at stage 'a b'""",
        """hint: list the available tools with: gaia mcp tools --stage 'a b' --agent 'x'"'"'y'""",
    ]
    assert scoped("logs", "never").stdout == ""
    assert json.loads(scoped("call", "build", "echo", "text=x", "--stage=deploy").stdout) == {"text": "x"}


def test_an_unavailable_server_is_not_searched(scoped: Gaia) -> None:
    """A3: a search is a list."""
    found = scoped("search", "greet", "--stage", "build", "--agent", "other", "--json").json["tools"]
    assert {tool["server"] for tool in found} == {"every"}


def test_a_target_has_no_restrictions(gaia: Gaia) -> None:
    """Ours: it has no entry that could contain them."""
    assert gaia("call", "demo", "greet", "name=x", "--stage", "build", "--agent", "me").code == 0


def test_restrictions_are_set_changed_and_removed(gaia: Gaia) -> None:
    """Ours: `add --stage`, `edit --agent`, `edit --unset`; none of them connects."""
    gaia("add", "a", "demo", "--no-check", "--stage", "build", "--stage", "deploy")
    changed = gaia("edit", "a", "--agent", "me", "--stage", "design")
    assert json.loads(gaia.config.read_text())["mcpServers"]["a"] == {
        "agent": "demo",
        "stages": ["design"],
        "agents": ["me"],
    }
    assert (changed.stdout.splitlines()[1:], gaia("logs", "a").stdout) == (
        ['  stages: ["build", "deploy"] → ["design"]', '  agents: nothing → ["me"]'],
        "",
    )
    assert "stages     design" in gaia("show", "a").stdout
    gaia.write({"b": {"agent": "demo", "stages": []}})
    assert "stages     none" in gaia("show", "b").stdout
    gaia.write({"a": {"agent": "demo", "stages": ["x"], "agents": []}})
    assert gaia("edit", "a", "--unset", "stages", "--unset", "agents").code == 0
    assert json.loads(gaia.config.read_text())["mcpServers"]["a"] == {"agent": "demo"}


def test_a_list_shows_the_restrictions(scoped: Gaia) -> None:
    """Ours: with the transport and the state."""
    lines = {line.split()[0]: line for line in scoped("list").stdout.splitlines()}
    assert "stages build, deploy" in lines["build"]
    assert "stages build; agents terraform-agent, two words" in lines["terraform"]
    assert "no stages" in lines["never"]
    assert "stages" not in lines["open"]
    assert str(SERVERS / "good_handshake.py") in lines["build"]


def test_completion_offers_configured_stages_and_agents(scoped: Gaia, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: those that the file names."""
    monkeypatch.setenv("HOME", str(scoped.home))
    lines: list[tuple[list[str], list[str]]] = [
        (["tools", "--stage", ""], ["build", "deploy", "all"]),
        (["call", "--stage", "d"], ["deploy"]),
        (["search", "--agent", "t"], ["terraform-agent", "two words"]),
        (["edit", "open", "--agent", "te"], ["terraform-agent"]),
        (["add", "x", "demo", "--stage", "b"], ["build"]),
    ]

    assert [(words, [each.value for each in candidates(["mcp", *words])]) for words, _ in lines] == lines


def test_the_former_name_of_the_option_is_accepted_and_not_shown(scoped: Gaia) -> None:
    """Ours: scripts go on working; in `export` the same word names a host."""
    by_name, by_former_name = (scoped("tools", option, "other", "--json").json for option in ("--agent", "--as"))

    assert by_name == by_former_name
    assert scoped("tools", "--agent", "a", "--as", "b").code == 2
    for command in ("tools", "call", "search", "add"):
        assert "--as" not in scoped(command, "--help").stdout.split()
    assert [each.value for each in candidates(["mcp", "tools", "--a"])] == ["--agent"]
