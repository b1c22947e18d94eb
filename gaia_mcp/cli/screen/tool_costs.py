"""The number of tokens that tools' definitions take in a model's context."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import counted, print_line
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.session.parallel import Result

# Models count differently; for English and JSON a token is about four bytes.
TOKEN_BYTES = 4
# The members that a host gives to a model; the others are for the host.
SHOWN_TO_MODELS = ("name", "description", "inputSchema")
# The column that a narrow terminal omits.
TOOLS = 1


def tokens_of(definition: Mapping[str, Any]) -> int:
    """The approximate number of tokens of a tool's definition."""
    shown = {key: definition[key] for key in SHOWN_TO_MODELS if key in definition}
    text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text.encode("utf-8", "replace")) // TOKEN_BYTES)


class Costs:
    """The costs of servers, printed together once all are known, because they are aligned in columns."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, int, int]] = []

    def add(self, result: Result) -> None:
        """Add the tools of a server."""
        tools = result.value.items
        self._rows.append((result.entry.name, len(tools), sum(tokens_of(tool.definition) for tool in tools)))

    def print(self) -> None:
        """Print a line for each server, and the total if there are several."""
        rows = list(self._rows)
        if len(rows) > 1:
            rows.append(("in all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
        shown = [(one_line(name), counted(tools, "tool"), f"about {tokens:,} tokens") for name, tools, tokens in rows]
        for line in columns(shown, spare=(TOOLS,)):
            print_line(line)
