"""`gaia mcp init --spec`: the first file of cases for a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cli.checks.test_case_runs import outcomes
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

MANY = """
from gaia_mcp import MCPAgent, tool


class Many(MCPAgent):
    "Has many resources."

    @tool(read_only=True)
    def status(self) -> str:
        "Whether it runs."
        return "it runs"

    def get_mcp_resources(self):
        return [{"uri": f"many://{number}", "name": str(number)} for number in range(5000)]

    def read_mcp_resource(self, uri):
        return uri
"""


def test_the_first_file_is_written_from_what_a_server_offers(demo: Gaia) -> None:
    """Issue: it can be run as it is. A tool that may change something is not called."""
    written = demo("init", "--spec", "demo")
    ran = demo("test-client", "demo", "--spec", "checks.yaml", "--json")

    assert (written.code, written.stdout) == (
        0,
        "wrote checks.yaml; run it with:\n  gaia mcp test-client demo --spec checks.yaml\n",
    )
    assert ran.code == 0
    assert {name: outcome for name, outcome in outcomes(ran).items() if outcome == "ok"} == dict.fromkeys(
        ("picture", "sound", "attach", "demo://about", "demo://logo", "demo://notes"), "ok"
    )
    details = {check["name"]: check["detail"] for check in ran.json["servers"][0]["checks"]}
    # "add" may be a verb of writing, whatever the server declares.
    assert details["note"] == details["add"] == "it may change something: remove this line to call it"
    assert details["greet"] == details["introduce"] == "its arguments are to be filled in"


def test_a_file_is_written_for_a_server_without_tools(gaia: Gaia) -> None:
    """Ours: the file is valid, so that it can be run once there are tools."""
    gaia.write({"none": entry_of("declares-nothing")})
    assert gaia("init", "--spec", "none", "n.yml").code == 0

    ran = gaia("test-client", "none", "--spec", "n.yml", "--json")

    assert outcomes(ran) == {"NAME": "skip"}


def test_a_file_that_is_there_is_not_replaced(demo: Gaia) -> None:
    """Ours: only with `--force`; and what cannot be written is an error before the server is started."""
    (demo.cwd / "c.yaml").write_text("mine")
    there = demo("init", "--spec", "demo", "c.yaml")
    ended = demo("init", "--spec", "demo", "c.json")
    both = demo("init", "--spec", "demo", "--handler")
    nowhere = demo("init", "--spec", "demo", "no/c.yaml")

    assert (there.code, ended.code, both.code, nowhere.code) == (3, 2, 2, 3)
    assert there.stderr == (
        "error: c.yaml: exists already\n"
        "hint: choose another name, or replace it: gaia mcp init --spec demo c.yaml --force\n"
    )
    assert (demo.cwd / "c.yaml").read_text() == "mine"
    assert demo("init", "--spec", "demo", "c.yaml", "--force").code == 0
    assert "checks:" in (demo.cwd / "c.yaml").read_text()


def test_a_file_for_a_server_of_thousands_of_resources_can_be_read(gaia: Gaia) -> None:
    """Ours: the file has a limit. What has been left out is counted in it."""
    (gaia.cwd / "many.py").write_text(MANY)
    assert gaia("init", "--spec", "./many.py").code == 0

    ran = gaia("test-client", "./many.py", "--spec", "checks.yaml", "--json")

    found = outcomes(ran)
    assert ran.code == 0
    assert (len(found), found["NAME"], found["status"]) == (102, "skip", "ok")


def test_a_file_is_written_for_a_server_of_invalid_features(gaia: Gaia) -> None:
    """Ours: what it offers in an invalid form is left out."""
    gaia.write({name: entry_of(name) for name in ("bad-resources", "bad-tools")})

    for name in ("bad-resources", "bad-tools"):
        assert gaia("init", "--spec", name, f"{name}.yaml").code == 0
