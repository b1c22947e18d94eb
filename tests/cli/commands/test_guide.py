"""`gaia mcp guide`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gaia_mcp.cli.app import COMMANDS
from gaia_mcp.cli.status import ExitStatus

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
        "\nServer demo\nTry greet, add, picture, sound, attach, countdown and fail.\n"
        "Tools: greet, add, picture, sound, attach, countdown, fail\n"
    )
    assert demo("guide", "demo", "--json").json["server"]["tools"][0] == "greet"
    assert demo("guide", "unknown").code == 3
