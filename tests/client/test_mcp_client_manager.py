from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gaia_mcp.contrib.gaia import client_manager

if TYPE_CHECKING:
    import pytest

PATH = "gaia_mcp.client.mcp_client_manager"


def test_gaias_import_path_is_the_module_of_the_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA: what a program's tests replace there is what the manager uses."""
    monkeypatch.delitem(sys.modules, PATH, raising=False)

    assert import_module(PATH) is client_manager
