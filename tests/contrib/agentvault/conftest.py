"""Apps in memory, and gateways to real servers."""

from __future__ import annotations

from tests.fleet.gateway.conftest import gateway, own_home
from tests.server.http.conftest import listen, serve

__all__ = ["gateway", "listen", "own_home", "serve"]
