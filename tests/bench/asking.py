"""Figures of a tool that asks its client, in both eras, beside one that does not."""

from __future__ import annotations

import statistics

from gaia_mcp.client import MCPClient
from gaia_mcp.client.host import Host
from tests.bench.calls import blocks_of
from tests.bench.figures import GAIA, PROGRAMS, Effort, Figure, seconds

SERVE_ASKING = {"command": GAIA, "args": ["mcp", "serve", str(PROGRAMS / "asking_agent.py")]}


def asking(effort: Effort) -> list[Figure]:
    """What a question and its answer add to a call, for each era: calls with and without a question, in turns."""
    return [
        _figure(effort, era, revision) for era, revision in (("stateless", "2026-07-28"), ("handshake", "2025-11-25"))
    ]


def _figure(effort: Effort, era: str, revision: str) -> Figure:
    times: dict[str, list[float]] = {"plain": [], "ask": []}
    blocks, size = blocks_of(effort)
    host = Host(roots=[{"uri": "file:///here"}])
    with MCPClient.from_config("bench", {**SERVE_ASKING, "protocolVersion": revision}, host=host) as client:
        for block in range(blocks):
            for tool, found in times.items():
                took = [seconds(lambda tool=tool: client.call(tool, {})) for _ in range(size)]  # type: ignore[misc]
                # The first block warms up.
                found.extend(took if block else ())
        if client.call("ask", {})["content"] != client.call("plain", {})["content"]:
            raise SystemExit("the tools do not agree about the folder")
    plain, ask = (statistics.median(found) for found in times.values())
    remark = f"{(ask - plain) * 1e6:.0f} / {plain * 1e6:.0f} us"
    return Figure(f"a question and its answer / a plain call, {era} era", (ask - plain) / plain, 2, remark=remark)
