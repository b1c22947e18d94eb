from __future__ import annotations

import pytest

import gaia_mcp.client


@pytest.mark.parametrize("name", gaia_mcp.client.__all__)
def test_public_names_can_be_imported_from_the_package(name: str) -> None:
    """GAIA's documents: from gaia.mcp.client import …"""
    assert getattr(gaia_mcp.client, name).__name__ == name


def test_other_names_cannot() -> None:
    """Python's own rule."""
    with pytest.raises(AttributeError, match="no_such_name"):
        gaia_mcp.client.no_such_name  # noqa: B018
