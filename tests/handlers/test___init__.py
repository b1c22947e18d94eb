"""The public path of handlers."""

from __future__ import annotations

import gaia_mcp
import gaia_mcp.handlers


def test_everything_about_handlers_is_importable_from_the_package_itself() -> None:
    """Ours, and A1: a handler file needs one import line, from either."""
    assert gaia_mcp.handlers.__all__
    assert [
        name
        for name in gaia_mcp.handlers.__all__
        if name not in gaia_mcp.__all__ or getattr(gaia_mcp, name) is not getattr(gaia_mcp.handlers, name)
    ] == []
