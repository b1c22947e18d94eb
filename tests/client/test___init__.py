from __future__ import annotations

import pytest

import gaia_mcp.client


def test_public_names_can_be_imported_from_the_package() -> None:
    """GAIA's documents: from gaia.mcp.client import …"""
    names = gaia_mcp.client.__all__

    assert {name: getattr(gaia_mcp.client, name).__name__ for name in names} == {name: name for name in names}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Python: as of any module, though the names of this one are imported when they are first used."""
    with pytest.raises(AttributeError, match="no_such_name"):
        gaia_mcp.client.no_such_name  # noqa: B018
