"""`ApiAgent`: an agent that presents itself as a model of an OpenAI-compatible API."""

from __future__ import annotations

from typing import Any

from gaia_mcp.agents.base.agent import Agent


class ApiAgent(Agent):
    """An agent with a model's name and limits, as in GAIA. Subclasses override the defaults."""

    def get_model_id(self) -> str:
        """`gaia-` and the class's name in lower case without "Agent": `CodeAgent` becomes `gaia-code`."""
        return f"gaia-{type(self).__name__.removesuffix('Agent').lower()}"

    def get_model_info(self) -> dict[str, Any]:
        """The limits, in tokens."""
        return {"max_input_tokens": 8192, "max_output_tokens": 4096}

    def estimate_tokens(self, text: str) -> int:
        """The estimated number of tokens of a text, at four characters per token."""
        return len(text) // 4
