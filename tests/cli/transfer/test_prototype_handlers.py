"""A12: handlers are imported from a project's `prototype.yaml`, with their secrets, and exported to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

KEY = "lpd_8fK2mQ9xZ7wQ"
MAIN = """\
# the project
mcp:
  servers:
    - name: cost-lookup   # prices
      stages: ["build"]
      agents: []
      timeout: 15
      settings: {region: eastus}
    - name: parked
      enabled: no
      stages: null
  custom_dir: .prototype/mcp/
"""
SECRETS = f"mcp:\n  servers:\n  - name: cost-lookup\n    settings:\n      api_key: {KEY}\n"


@pytest.fixture
def folder(gaia: Gaia) -> Path:
    """The working folder, as that of a project."""
    (gaia.cwd / "prototype.yaml").write_text(MAIN)
    secrets = gaia.cwd / "prototype.secrets.yaml"
    secrets.write_text(SECRETS)
    secrets.chmod(0o600)
    handlers = gaia.cwd / ".prototype" / "mcp"
    handlers.mkdir(parents=True)
    (handlers / "cost_lookup_handler.py").write_text("")
    return gaia.cwd


def ours(gaia: Gaia) -> dict[str, Any]:
    servers: dict[str, Any] = json.loads(gaia.config.read_text())["mcpServers"]
    return servers


def handler(folder: Path, name: str) -> str:
    return str(folder / ".prototype" / "mcp" / f"{name}_handler.py")


@pytest.mark.parametrize("word", ["prototype", "prototype.yaml", "./prototype.yaml"])
def test_handlers_are_imported_with_their_secrets_and_absolute_paths(gaia: Gaia, folder: Path, word: str) -> None:
    """A12: url, stages, agents and api_key all survive; no output shows the secret. The project stays as it was."""
    dry = gaia("import", word, "--dry-run")
    ran = gaia("import", word)

    assert ours(gaia) == {
        "cost-lookup": {
            "handler": handler(folder, "cost_lookup"),
            "stages": ["build"],
            "agents": [],
            "timeout": 15,
            "settings": {"region": "eastus", "api_key": KEY},
        },
        "parked": {"handler": handler(folder, "parked"), "stages": None, "disabled": True},
    }
    for each in (dry, ran, gaia("import", word), gaia("import", word, "--json", "--force")):
        assert each.code == 0
        assert KEY not in each.stdout + each.stderr
    assert gaia("import", word).stdout.count("same") == 2
    assert (folder / "prototype.yaml").read_text() == MAIN
    assert (folder / "prototype.secrets.yaml").read_text() == SECRETS
    assert gaia.config.stat().st_mode & 0o777 == 0o600


def test_a_project_is_found_and_another_setting_is_a_conflict(gaia: Gaia, folder: Path) -> None:
    """Ours: as for every other host; each setting is compared alone."""
    found = gaia("import", "--json").json["hosts"]
    assert [(row["host"], row["servers"]) for row in found] == [("prototype", ["cost-lookup", "parked"])]
    assert gaia("import", "prototype", "--server", "cost-lookup").code == 0
    (folder / "prototype.yaml").write_text(MAIN.replace("eastus", "westus").replace('["build"]', '["deploy"]'))

    failed = gaia("import", "prototype", "--server", "cost-lookup")
    assert failed.code == 3
    assert " in settings region, stages" in failed.errors[0]
    assert ours(gaia)["cost-lookup"]["settings"]["region"] == "eastus"
    assert gaia("import", "prototype", "--server", "cost-lookup", "--force").code == 0
    assert (ours(gaia)["cost-lookup"]["stages"], ours(gaia)["cost-lookup"]["settings"]["region"]) == (
        ["deploy"],
        "westus",
    )


def test_importing_a_missing_prototype_file_is_an_error(gaia: Gaia) -> None:
    """Ours: the error names the file."""
    failed = gaia("import", "prototype")
    assert failed.code == 3
    assert "prototype.yaml: is not there" in failed.errors[0]


def test_a_handler_is_exported_with_its_secrets_apart(gaia: Gaia, folder: Path) -> None:
    """A12: comments and order stay, and secrets never reach the main file or the output."""
    new = {"handler": handler(folder, "stock"), "agents": ["ada"], "settings": {"url": "https://x", "api_key": KEY}}
    gaia.write({"stock": new})
    dry = gaia("export", "stock", "--to", "prototype", "--dry-run")
    assert (folder / "prototype.yaml").read_text() == MAIN
    ran = gaia("export", "stock", "--to", "prototype")

    item = '    - name: stock\n      agents:\n        - ada\n      settings:\n        url: "https://x"\n'
    assert (folder / "prototype.yaml").read_text() == MAIN.replace("  custom_dir", item + "  custom_dir")
    added = f"  - name: stock\n    settings:\n      api_key: {KEY}\n"
    assert (folder / "prototype.secrets.yaml").read_text() == SECRETS + added
    assert '+      url: "https://x"' in dry.stdout.replace("        url", "      url")
    assert "settings.api_key is written into prototype.secrets.yaml, which should not be committed" in ran.stderr
    for each in (dry, ran, gaia("export", "stock", "--to", "prototype", "--json")):
        assert each.code == 0
        assert KEY not in each.stdout + each.stderr
    assert "same" in gaia("export", "stock", "--to", "prototype").stdout


def test_an_entry_of_the_same_name_is_replaced_only_with_force(gaia: Gaia, folder: Path) -> None:
    """A2: `-` and `_` are the same. Members that the new entry lacks are preserved."""
    gaia.write({"cost_lookup": {"handler": handler(folder, "cost_lookup"), "settings": {"api_key": "lpd_other8fK2m"}}})
    failed = gaia("export", "cost_lookup", "--to", "prototype")
    assert failed.code == 3
    assert "has another 'cost-lookup' already: it differs in settings region, settings api_key" in failed.errors[0]
    assert (folder / "prototype.secrets.yaml").read_text() == SECRETS

    assert gaia("export", "cost_lookup", "--to", "prototype", "--force").code == 0
    assert (folder / "prototype.yaml").read_text() == MAIN.replace("{region: eastus}", "{}")
    assert (folder / "prototype.secrets.yaml").read_text() == SECRETS.replace(KEY, "lpd_other8fK2m")


def test_only_handlers_are_exported_to_prototype(demo: Gaia, folder: Path) -> None:
    """A12: az prototype could do nothing with it; the others are written."""
    demo.write({**ours(demo), "stock": {"handler": handler(folder, "stock")}})
    ran = demo("export", "--all", "--to", "prototype.yaml")
    assert ran.code == 3
    assert ran.errors[0] == "error: 'demo' cannot be exported to az prototype: it is not a handler"
    assert "    - name: stock\n" in (folder / "prototype.yaml").read_text()
    assert demo("export", "demo", "--as", "prototype").errors == ran.errors
    assert demo("serve", "demo", "--print-config", "prototype").code == 3


def test_the_printed_snippet_has_its_secrets_apart(gaia: Gaia, folder: Path) -> None:
    """A12: the text for the main file has none, also with --show-secrets."""
    gaia.write({"stock": {"handler": handler(folder, "stock"), "stages": None, "settings": {"api_key": KEY}}})
    main = "mcp:\n  servers:\n    - name: stock\n      stages: null\n"
    hidden = gaia("export", "stock", "--as", "prototype")
    assert hidden.stdout == main
    assert KEY not in hidden.stderr
    secrets = f"mcp:\n  servers:\n    - name: stock\n      settings:\n        api_key: {KEY}\n"
    shown = gaia("export", "stock", "--as", "prototype", "--show-secrets")
    assert shown.stdout == f"{main}# prototype.secrets.yaml\n{secrets}"
    whole = gaia("export", "stock", "--as", "prototype", "--show-secrets", "--json").json
    assert (whole["snippet"], whole["secrets_snippet"]) == (main, secrets)
    assert "secrets_snippet" not in gaia("export", "stock", "--as", "prototype", "--json").json


def test_a_handler_elsewhere_and_a_variable_are_reported_in_notes(gaia: Gaia, folder: Path) -> None:
    """Ours: az prototype finds a handler by its name, and expands no variables."""
    elsewhere = str(folder / "lib" / "stock.py")
    gaia.write({"stock": {"handler": elsewhere, "settings": {"api_key": "${STOCK_KEY}", "list": ["${STOCK_KEY}", 1]}}})
    ran = gaia("export", "stock", "--to", "prototype", STOCK_KEY=KEY)
    assert "finds its file only as " in ran.stderr
    assert "settings.api_key: ${STOCK_KEY} is a variable" in ran.stderr
    text = (folder / "prototype.yaml").read_text()
    assert "      handler: lib/stock.py\n" in text
    assert '        api_key: "${STOCK_KEY}"\n' in text
    expanded = gaia("export", "stock", "--to", "prototype", "--expand", "--force", STOCK_KEY=KEY)
    assert "settings.list: ${STOCK_KEY} is written unexpanded, because its value is a secret" in expanded.stderr
    assert (folder / "prototype.yaml").read_text() == text.replace('        api_key: "${STOCK_KEY}"\n', "")
    assert (folder / "prototype.secrets.yaml").read_text().count(f"api_key: {KEY}\n") == 2


def test_a_prototype_file_is_recognised_by_its_content(gaia: Gaia, folder: Path) -> None:
    """Ours: a list under `mcp.servers`."""
    (folder / "other.yml").write_text(MAIN)
    assert gaia("import", "other.yml").code == 0
    assert list(ours(gaia)) == ["cost-lookup", "parked"]
