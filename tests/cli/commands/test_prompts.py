"""`gaia mcp prompts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_prompts_are_listed_with_their_arguments(demo: Gaia) -> None:
    """Ours: optional ones in brackets."""
    ran = demo("prompts")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "demo (demo 0.1.0)",
        "  introduce(name, [language])",
        "      Ask a model to introduce a person.",
    ]


def test_json_has_the_prompts_as_the_server_sent_them(demo: Gaia) -> None:
    """Ours: `--json` changes the form, never the content."""
    (server,) = demo("prompts", "demo", "--json").json["servers"]

    assert (server["name"], server["protocolVersion"]) == ("demo", "2026-07-28")
    assert [prompt["name"] for prompt in server["prompts"]] == ["introduce"]


def test_servers_without_prompts_are_left_out_unless_they_are_named(gaia: Gaia) -> None:
    """Ours: it is not a failure; if no server has any, there is one note."""
    gaia.use("good-handshake", "good-stateless")

    ran = gaia("prompts")
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "note: no prompts: 2 servers asked\n")
    ran = gaia("prompts", "good-handshake", "good-stateless")
    assert (ran.code, ran.stdout.count("(no prompts)"), ran.stderr) == (0, 2, "")
