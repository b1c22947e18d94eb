"""`gaia mcp resources`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_resources_are_listed_with_type_name_and_description(demo: Gaia) -> None:
    """Ours: a person can choose one without reading it."""
    ran = demo("resources")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "demo (demo 0.1.0)",
        "  demo://about (text/plain) about",
        "      What this agent is",
        "  demo://logo (image/png) logo",
        "      A small picture",
        "  demo://notes (application/json) all_notes",
        "      The notes that `note` has kept",
        "  demo://notes/{number} (text/plain) one_note",
        "      One note",
    ]


def test_templates_are_listed_among_the_resources(gaia: Gaia) -> None:
    """Spec, server/resources: they have a list of their own."""
    gaia.write({"x": entry_of("offers", "2025-11-25")})

    ran = gaia("resources", "x", "--json")

    (server,) = ran.json["servers"]
    assert [item.get("uri") or item["uriTemplate"] for item in server["resources"]] == ["file:///a", "file:///{path}"]


def test_a_server_without_template_support_is_accepted(gaia: Gaia) -> None:
    """Ours: many have resources only. `test-client` reports it, and does not fail."""
    gaia.use("no-templates")

    ran = gaia("resources", "no-templates")
    assert (ran.code, ran.stdout.splitlines()[1:]) == (0, ["  file:///good good"])
    ran = gaia("test-client", "no-templates")
    assert ran.code == 0
    assert "it has resources, but does not support resources/templates/list" in ran.stdout


def test_servers_without_resources_are_left_out_unless_they_are_named(demo: Gaia) -> None:
    """Ours: it is not a failure; among ten servers, only those with resources are of interest."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({"bare": entry_of("good-handshake"), **servers})
    assert [line for line in demo("resources").stdout.splitlines() if not line.startswith(" ")] == ["demo (demo 0.1.0)"]
    assert "(no resources)" in demo("resources", "bare").stdout
    assert len(demo("resources", "--json").json["servers"]) == 2

    demo.write({"bare": entry_of("good-handshake")})
    ran = demo("resources")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "note: no resources: 1 server asked\n")
