"""A12: `prototype.yaml`, with its secrets file, in the commands that take `--config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

KEY = "lpd_8fK2mQ9xZ7wQ"
MAIN = """\
# the project
mcp:
  servers:
    - name: cost-lookup   # prices
      enabled: true
      stages: ["build"]
      agents: null
      settings:
        region: eastus
"""
SECRETS = f"mcp:\n  servers:\n  - name: cost-lookup\n    settings:\n      api_key: {KEY}\n"
CONFIG = ("--config", "prototype.yaml")


@pytest.fixture
def project(gaia: Gaia) -> Gaia:
    """The program, in the folder of a project of az prototype."""
    (gaia.cwd / "prototype.yaml").write_text(MAIN)
    secrets = gaia.cwd / "prototype.secrets.yaml"
    secrets.write_text(SECRETS)
    secrets.chmod(0o600)
    return gaia


def texts(project: Gaia) -> tuple[str, str]:
    """The main file, and the secrets file."""
    return (project.cwd / "prototype.yaml").read_text(), (project.cwd / "prototype.secrets.yaml").read_text()


def test_the_servers_of_both_files_are_listed_without_their_secrets(project: Gaia) -> None:
    """A12: `--config prototype.yaml`; a secret reaches no output."""
    listed = project("list", *CONFIG)
    assert listed.stdout == "cost-lookup  handler  enabled  stages build  .prototype/mcp/cost_lookup_handler.py\n"
    shown = project("show", "cost-lookup", *CONFIG, "--json")
    assert shown.json["settings"] == {"region": "eastus", "api_key": "****"}
    assert (shown.json["stages"], shown.json["disabled"]) == (["build"], False)
    for ran in (listed, shown, project("show", "cost-lookup", *CONFIG), project("list", "--json", *CONFIG)):
        assert KEY not in ran.stdout + ran.stderr
        assert ran.stderr == ""


HANDLER = """
from gaia_mcp.handlers import MCPHandler, MCPToolDefinition, MCPToolResult


class CostLookup(MCPHandler):
    name = "cost-lookup"
    description = "Prices"

    def connect(self):
        self._connected = True

    def disconnect(self):
        self._connected = False

    def list_tools(self):
        schema = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
        return [MCPToolDefinition("price", "The price of something.", schema, self.name)]

    def call_tool(self, name, arguments):
        settings = self.config.settings
        return MCPToolResult(f"{arguments['sku']} in {settings['region']}, a key of {len(settings['api_key'])}")
"""


def test_a_handler_is_used_with_its_settings_and_its_secrets(project: Gaia) -> None:
    """A12, A2, A3: its file is found by its name, and its scope holds; the secret reaches it, and nothing else."""
    folder = project.cwd / ".prototype" / "mcp"
    folder.mkdir(parents=True)
    (folder / "cost_lookup_handler.py").write_text(HANDLER)
    called = project("call", *CONFIG, "cost-lookup", "price", "sku=vm")
    assert called.stdout == "vm in eastus, a key of 16\n"
    assert project("call", *CONFIG, "cost-lookup.price", "sku=vm", "--stage", "build").code == 0
    refused = project("call", *CONFIG, "cost-lookup", "price", "sku=vm", "--stage", "deploy")
    assert refused.code == 8
    tools = project("tools", *CONFIG)
    assert "price(sku: string)" in tools.stdout
    assert project("test-client", *CONFIG, "--all").code == 0
    for ran in (called, refused, tools, project("logs", "cost-lookup", *CONFIG)):
        assert KEY not in ran.stdout + ran.stderr
    (folder / "cost_lookup_handler.py").unlink()
    gone = project("call", *CONFIG, "cost-lookup", "price", "sku=vm")
    assert gone.code == 3
    assert "cost_lookup_handler.py" in gone.errors[0]


def test_a_handler_knows_the_configuration_of_its_project(project: Gaia) -> None:
    """A4: `project_config` is that of the main file, overridden by that of the secrets file."""
    folder = project.cwd / ".prototype" / "mcp"
    folder.mkdir(parents=True)
    (project.cwd / "prototype.yaml").write_text(f"project:\n  location: westeurope\n  since: 2026-01-02\n{MAIN}")
    handler = HANDLER.replace("settings = self.config.settings", "return MCPToolResult(str(self.project_config))")
    (folder / "cost_lookup_handler.py").write_text(handler)

    called = project("call", *CONFIG, "cost-lookup", "price", "sku=vm")

    assert "{'project': {'location': 'westeurope', 'since': '2026-01-02'}, 'mcp': {" in called.stdout
    assert f"'settings': {{'region': 'eastus', 'api_key': '{KEY}'}}" in called.stdout


def test_entries_are_changed_in_their_own_lines(project: Gaia) -> None:
    """A12: add, edit, disable, enable, remove; comments and order stay, secrets go to their file."""
    added = project(
        "add", "time", *CONFIG, "--no-check", "--env", f"TIME_TOKEN={KEY}", "--env", "TZ=UTC", "--", "mcp-server-time"
    )
    assert added.stdout == "added 'time' to prototype.yaml\n"
    item = "    - name: time\n      command: mcp-server-time\n      args: []\n      env:\n        TZ: UTC\n"
    secret = f"  - name: time\n    env:\n      TIME_TOKEN: {KEY}\n"
    assert texts(project) == (MAIN + item, SECRETS + secret)
    assert project("show", "time", *CONFIG, "--json").json["env"] == {"TZ": "UTC", "TIME_TOKEN": "****"}

    assert project("disable", "time", *CONFIG).code == 0
    assert texts(project)[0] == MAIN + item + "      enabled: false\n"
    assert "disabled" in project("list", *CONFIG).stdout
    assert project("enable", "time", *CONFIG).code == 0
    edited = project("edit", "cost-lookup", *CONFIG, "--no-check", "--request-timeout", "20")
    assert edited.stdout == "changed 'cost-lookup' in prototype.yaml\n  timeout: nothing → 20\n"
    assert project("remove", "time", *CONFIG).code == 0
    assert texts(project) == (MAIN + "      timeout: 20\n", SECRETS)
    unset = project("edit", "cost-lookup", *CONFIG, "--no-check", "--unset", "timeout")
    assert unset.code == 0
    assert texts(project) == (MAIN, SECRETS)


def test_add_creates_a_new_prototype_file(gaia: Gaia) -> None:
    """Ours: as any other file that `--config` names."""
    assert gaia("add", "demo", "--config", "new.yaml", "--no-check", "--", "gaia", "mcp", "serve", "demo").code == 0
    assert (gaia.cwd / "new.yaml").read_text().startswith("mcp:\n  servers:\n    - name: demo\n      command: gaia\n")
    assert gaia("call", "demo", "add", "a=1", "b=2", "--config", "new.yaml").code == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("mcp:\n\tservers: []\n", "prototype.yaml:2:1: not YAML"),
        ("mcp:\n  servers:\n    a: {}\n", "prototype.yaml:3:5: 'mcp.servers' is not a list"),
        ("mcp:\n  servers:\n  - name: a\n  - name: a\n", "prototype.yaml:4:5: has two servers called 'a'"),
        ("a: 1\n---\nb: 2\n", "prototype.yaml:2:1: not YAML"),
    ],
)
def test_an_invalid_file_is_reported_with_its_place_and_not_changed(project: Gaia, text: str, place: str) -> None:
    """A12, bad input: exit code 3, with line and column."""
    (project.cwd / "prototype.yaml").write_text(text)
    for words in (["list"], ["add", "x", "--no-check", "--", "x"], ["remove", "a"], ["disable", "a"]):
        failed = project(words[0], *CONFIG, *words[1:])
        assert failed.code == 3
        assert failed.errors[0].startswith(f"error: {place}")
        assert failed.errors[1].startswith("hint: ")
        assert len(failed.errors) == 2
    assert texts(project) == (text, SECRETS)


def test_a_change_that_would_lose_something_is_refused(project: Gaia) -> None:
    """A12: in two lines that name the place."""
    shared = "mcp:\n  servers:\n  - name: a\n    settings: &s {x: 1}\n  - name: b\n    settings: *s\n"
    (project.cwd / "prototype.yaml").write_text(shared)
    failed = project("edit", "b", *CONFIG, "--no-check", "--unset", "settings.x")
    assert failed.code == 3
    assert failed.errors[0].startswith("error: prototype.yaml: ")
    assert "nothing can be changed without changing more" in failed.errors[0]
    assert texts(project)[0] == shared


def test_a_secrets_file_that_others_may_read_is_reported_in_a_note(project: Gaia) -> None:
    """A12: az prototype writes it with such a mode. Our next change makes it private."""
    secrets = project.cwd / "prototype.secrets.yaml"
    secrets.chmod(0o644)
    printed = project("list", *CONFIG).stderr
    assert printed == (
        "note: prototype.secrets.yaml contains secrets, and other users may read it; "
        "restrict it with: chmod 600 prototype.secrets.yaml\n"
    )
    assert project("add", "x", *CONFIG, "--no-check", "--env", f"TOKEN={KEY}", "--", "x").code == 0
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert project("list", *CONFIG).stderr == ""


def test_a_secret_in_a_main_file_that_others_may_read_is_reported_in_a_note(project: Gaia) -> None:
    """A12: a person may have written it there. A private file, and one without secrets, need no note."""
    main = project.cwd / "prototype.yaml"
    note = (
        "note: prototype.yaml contains secrets, and other users may read it; "
        "restrict it with: chmod 600 prototype.yaml\n"
    )
    for text, mode, printed in (
        (MAIN, 0o644, ""),
        (MAIN.replace("region: eastus", f"api_key: {KEY}"), 0o644, note),
        (MAIN.replace("region: eastus", f"api_key: {KEY}"), 0o600, ""),
    ):
        main.write_text(text)
        main.chmod(mode)
        assert project("list", *CONFIG).stderr == printed


def test_a_prototype_file_is_not_used_without_config(project: Gaia) -> None:
    """Ours: it names code to run, so a person must choose it."""
    assert "cost-lookup" not in project("list").stdout
    assert project("show", "cost-lookup").code == 3
