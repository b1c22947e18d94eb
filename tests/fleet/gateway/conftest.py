"""Gateways to real servers, with real clients in front, in both eras."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.asking import Call, CallingClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.fleet.gateway.provider import GatewayProvider

HERE = Path(__file__).parent
SERVERS = HERE.parents[1] / "servers"
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
ERAS = (STATELESS, HANDSHAKE)
# The capabilities of a client that can be asked for its folders.
ROOTS: dict[str, Any] = {"roots": {}}

# Makes a gateway to the servers of these entries; what they are is in `raw`.
MakeGateway = Callable[..., GatewayProvider]


def asker(revision: str = STATELESS) -> dict[str, Any]:
    """The entry of an agent that asks, in one era."""
    return {"agent": f"{HERE / 'asker.py'}:Asker", "protocolVersion": revision}


def script(name: str, **env: str) -> dict[str, Any]:
    """The entry of one of the servers that behave in a way of their own."""
    return {"command": sys.executable, "args": [str(SERVERS / name)], "env": env}


def held(folder: Path, name: str, *arguments: str) -> tuple[dict[str, Any], Path]:
    """The entry of one of these servers that starts once a file exists, and that file."""
    may_start = folder / "may-start"
    entry = script(name)
    run = shlex.join([entry["command"], *entry["args"], *arguments])
    start = f"until [ -e {shlex.quote(str(may_start))} ]; do sleep 0.05; done; exec {run}"
    return {"command": "/bin/sh", "args": ["-c", start]}, may_start


def caller(session: str | None = None, capabilities: dict[str, Any] = ROOTS) -> Call:
    """A call of a client."""
    call = Call()
    call.session = session
    call.client = CallingClient(capabilities=capabilities)
    return call


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GAIA_HOME", "GAIA_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gateway() -> Iterator[MakeGateway]:
    """Makes gateways, which are closed at the end."""
    made: list[GatewayProvider] = []

    def make(options: dict[str, Any] | None = None, /, **raw: dict[str, Any]) -> GatewayProvider:
        provider = GatewayProvider({name: read_entry(name, entry) for name, entry in raw.items()}, **(options or {}))
        made.append(provider)
        return provider

    yield make
    for provider in made:
        provider.close()
