"""`gaia mcp guide`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.status import ExitStatus
from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# A model is shown what it needs, and no more; a token is taken for four bytes.
MAX_TOKENS = 300


def test_the_guide_is_short(gaia: Gaia) -> None:
    """Ours: a model reads it at the beginning of every conversation."""
    ran = gaia("guide")

    assert len(ran.stdout.encode()) / 4 <= MAX_TOKENS
    assert (ran.stderr, ran.code) == ("", 0)


def test_everything_that_the_guide_names_exists(gaia: Gaia) -> None:
    """Ours: commands, options and exit codes."""
    guide = gaia("guide").stdout

    named = re.findall(r"gaia mcp ([a-z]+) ", guide)
    assert len(named) > 5
    assert set(named) <= set(COMMANDS)
    taken = gaia("call", "--help").stdout
    assert all(option in taken for option in re.findall(r"--[a-z-]+", guide))
    codes = [int(code) for code in re.findall(r"[ \n](\d) [a-z]", guide.partition("Exit codes:")[2].partition(".")[0])]
    assert codes == [code for code in ExitStatus if code < 10 and code != ExitStatus.FAILURE]


def test_a_server_adds_its_instructions_and_the_names_of_its_tools(demo: Gaia) -> None:
    """Ours: what a client that loads a server shows to its model."""
    ran = demo("guide", "demo")

    assert ran.stdout == demo("guide").stdout + (
        "\nServer demo\nTry greet, add, picture, sound, attach, fail, countdown, order, note and haiku.\n"
        "Tools: greet, add, picture, sound, attach, fail, countdown, order, note, haiku\n"
    )
    assert demo("guide", "demo", "--json").json["server"]["tools"][0] == "greet"
    assert demo("guide", "unknown").code == 3


AGENT = """
SUBJECTS = ("account", "invoice", "message", "calendar", "contact")

class Agent:
    def __init__(self, area):
        self.area = area

    def get_mcp_tool_definitions(self):
        return [
            {
                "name": f"{verb}_{self.area}_{subject}",
                "description": f"{verb.capitalize()} the {subject} of a person. " + "More is said. " * 25,
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "description": f"Which {subject}"},
                        "limit": {"type": "integer", "default": 10, "description": "How many at most"},
                    },
                    "required": ["id"],
                },
            }
            for verb in ("read", "write")
            for subject in SUBJECTS
        ]

    def execute_mcp_tool(self, name, arguments):
        return f"{name} {arguments['id']}"
"""
# What finding one of sixty tools, seeing its signature and calling it may print, in all.
MAX_LOOKUP_TOKENS = 400


def test_one_of_sixty_tools_is_looked_up_for_few_tokens(gaia: Gaia) -> None:
    """Ours: loaded at once, their definitions would take many thousands."""
    (gaia.cwd / "agent.py").write_text(AGENT)
    areas = ("mail", "crm", "shop", "wiki", "bank", "hr")
    serve = [str(BIN / "gaia"), "mcp", "serve", f"{gaia.cwd}/agent.py:Agent", "--kwarg"]
    gaia.write({area: {"command": serve[0], "args": [*serve[1:], f"area={area}"]} for area in areas})
    assert gaia("search", "wiki", "--json").code == 0

    found = gaia("search", "write", "*crm_invoice")
    looked_at = gaia("tools", "crm", "write_crm_invoice")
    called = gaia("call", "crm", "write_crm_invoice", "id=7")

    assert found.stdout.startswith("crm write_crm_invoice(id: string, [limit: integer = 10])  Write the invoice of")
    assert called.stdout == "write_crm_invoice 7\n"
    printed = "".join(ran.stdout + ran.stderr for ran in (found, looked_at, called))
    assert len(printed.encode()) / 4 <= MAX_LOOKUP_TOKENS
    loaded = gaia("tools", "--cost", "--json").json["servers"]
    assert sum(tool["tokens"] for server in loaded for tool in server["tools"]) > 6000
