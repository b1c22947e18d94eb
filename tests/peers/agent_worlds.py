"""A home for each agent of the hub, in which it asks a scripted model on a loopback port, and nothing else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.model_servers.anthropic_messages import AnthropicMessages
from tests.model_servers.gemini import Gemini
from tests.model_servers.openai_responses import OpenAIResponses

if TYPE_CHECKING:
    from pathlib import Path

    from tests.model_servers.server import Dialect

# Asked for by name, so that no agent chooses one by asking another.
MODEL = "loopback-model"
# The value of each agent's key.
KEY = "sk-loopback-4711-zebra"

# Without the last three it looks for news of itself, reports how it is used, and fetches a list of plug-ins.
_CODEX = """\
model_provider = "loopback"
check_for_update_on_startup = false
analytics.enabled = false
features.plugins = false
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "LOOPBACK_API_KEY"
wire_api = "responses"
"""


@dataclass(frozen=True)
class World:
    """An agent, and how its program finds its model: variables, and files of its home."""

    name: str
    dialect: Dialect
    key: str
    variables: dict[str, str]
    files: dict[str, str]
    # What it reports where it has no key.
    without_key: str
    # How it reports an attempt that failed, while it goes on, if it does.
    tries: str = ""

    def environ(self, url: str) -> dict[str, str]:
        """The variables for a model at `url`, with the key."""
        return {self.key: KEY, **{name: value.format(url=url) for name, value in self.variables.items()}}

    def write(self, home: Path, url: str) -> None:
        """The files for a model at `url`."""
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{url}", url))


_GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
}

_ALL = (
    World(
        "claude",
        AnthropicMessages(),
        key="ANTHROPIC_API_KEY",
        # It looks for news of itself otherwise.
        variables={"ANTHROPIC_BASE_URL": "{url}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        files={},
        without_key="Not logged in",
        tries="attempt ",
    ),
    World(
        "codex",
        OpenAIResponses(),
        key="LOOPBACK_API_KEY",
        variables={},
        files={".codex/config.toml": _CODEX},
        without_key="LOOPBACK_API_KEY",
        tries="Reconnecting",
    ),
    World(
        "gemini",
        Gemini(),
        key="GEMINI_API_KEY",
        # It starts itself a second time otherwise, with more memory, which takes twice as long.
        variables={"GOOGLE_GEMINI_BASE_URL": "{url}", "GEMINI_CLI_NO_RELAUNCH": "true"},
        files={".gemini/settings.json": json.dumps(_GEMINI)},
        without_key="GEMINI_API_KEY",
    ),
)
WORLDS = {world.name: world for world in _ALL}


def write_config(home: Path, *, model: str = MODEL, **servers: Any) -> None:
    """The configuration of the hub in this home: these servers, and a model for the agents; empty for their own."""
    folder = home / ".gaia"
    folder.mkdir(parents=True, exist_ok=True)
    agents = {name: {"model": model} for name in WORLDS}
    (folder / "mcp_servers.json").write_text(json.dumps({"mcpServers": servers, "agents": agents}))
