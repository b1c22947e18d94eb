"""The tools, prompts or resources of several servers at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_undeclared_tools_are_listed(gaia: Gaia) -> None:
    """Ours: some servers forget to declare them. If there are none, a note names what is declared."""
    gaia.write({"bare": entry_of("declares-no-tools"), "forgetful": entry_of("declares-no-tools", "all the same")})

    ran = gaia("tools")

    assert ran.stdout.splitlines() == [
        "bare (declares-no-tools 1)",
        "forgetful (declares-no-tools 1)",
        "  echo()",
        "      echo",
    ]
    assert ran.stderr == "note: bare: does not declare tools, only prompts\n"


def test_servers_not_started_within_the_timeout_are_reported_as_such(gaia: Gaia) -> None:
    """Ours: more time helps, and nothing is wrong with them."""
    gaia.write({f"s{number}": {"command": "sleep", "args": ["60"]} for number in range(18)})

    ran = gaia("tools", "--json", "--timeout", "1")

    messages = [server["error"]["message"] for server in ran.json["servers"]]
    assert sum("it was not started: 16 others were in line before it" in message for message in messages) == 2
    assert {server["error"]["kind"] for server in ran.json["servers"]} == {"timeout"}
    assert ran.code == 5

    alone = gaia("test-client", "s0", "--timeout", "0.01")
    assert "at its start" in alone.errors[0]
    assert alone.code == 5


def test_tools_of_all_servers_are_listed_with_the_failures(demo: Gaia) -> None:
    """Ours: without a name, all enabled servers in parallel."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "bad": entry_of("exits-at-once"), "off": {"command": "x", "disabled": True}})

    ran = demo("tools", "--json")

    assert [server["name"] for server in ran.json["servers"]] == ["demo", "bad"]
    assert ran.json["servers"][1]["error"]["kind"] == "exited"
    assert ran.code == 4
    assert len(ran.errors) == 2


def test_invalid_definitions_do_not_hide_valid_ones(gaia: Gaia) -> None:
    """Ours: a note reports them."""
    gaia.use("bad-tools")

    ran = gaia("tools", "bad-tools")

    assert ran.code == 0
    assert "has no name" in ran.stderr
    assert ran.stdout.count("(") >= 2
