"""A project with both of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.store import ConfigStore

if TYPE_CHECKING:
    from pathlib import Path

MAIN = """\
# the project
project:
  name: shop   # its name
mcp:
  servers:
    # prices of everything
    - name: cost-lookup
      enabled: true
      stages: ["build", "design"]   # not deploy
      agents: null
      timeout: 15
      settings:
        url: "https://prices.example"   # public
    - name: lightpanda
      enabled: off
      stages: []
  custom_dir: .prototype/mcp/
stages: {init: {completed: false}}
"""


KEY = "lpd_8fK2mQ9xZ7wQ"


SECRETS = f"""\
# keep this file out of git
ai:
  token: abc
mcp:
  servers:
  - name: cost_lookup
    settings:
      api_key: {KEY}   # of the team
"""


COST = {
    "handler": ".prototype/mcp/cost_lookup_handler.py",
    "stages": ["build", "design"],
    "agents": None,
    "timeout": 15,
    "settings": {"url": "https://prices.example", "api_key": KEY},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "prototype.yaml"
    path.write_text(MAIN)
    path.chmod(0o644)
    secrets = path.with_name("prototype.secrets.yaml")
    secrets.write_text(SECRETS)
    secrets.chmod(0o600)
    return path


@pytest.fixture
def store(path: Path) -> ConfigStore:
    return ConfigStore(path)


def secrets_of(path: Path) -> str:
    return path.with_name("prototype.secrets.yaml").read_text()
