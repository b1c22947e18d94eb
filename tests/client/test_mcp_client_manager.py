from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from gaia_mcp.manager import client_manager

if TYPE_CHECKING:
    import pytest

PATH = "gaia_mcp.client.mcp_client_manager"


def test_the_module_under_its_path_in_gaia_is_the_managers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """GAIA: what a program's tests replace there is what the manager uses."""
    monkeypatch.delitem(sys.modules, PATH, raising=False)

    assert import_module(PATH) is client_manager
