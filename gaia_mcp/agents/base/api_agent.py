"""`ApiAgent`: an agent that presents itself as a model of an OpenAI-compatible API."""

from __future__ import annotations

from typing import Any

from gaia_mcp.agents.base.agent import Agent


class ApiAgent(Agent):
    """An agent with a model's name and limits, as in GAIA. Override the defaults that are wrong."""

    def get_model_id(self) -> str:
        """`gaia-` and the class's name without "Agent", in lower case: `CodeAgent` is `gaia-code`."""
        return f"gaia-{type(self).__name__.removesuffix('Agent').lower()}"

    def get_model_info(self) -> dict[str, Any]:
        """The limits, in tokens."""
        return {"max_input_tokens": 8192, "max_output_tokens": 4096}

    def estimate_tokens(self, text: str) -> int:
        """About how many tokens a text has: one for four characters."""
        return len(text) // 4
