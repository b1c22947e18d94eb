from __future__ import annotations

import pytest

from gaia_mcp.client.transports import stdio
from gaia_mcp.client.transports.stdio.transport import StdioTransport


def test_the_transport_can_be_imported_from_the_package() -> None:
    """GAIA's documents: from gaia.mcp.client.transports.stdio import StdioTransport."""
    assert stdio.StdioTransport is StdioTransport


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Python's own rule."""
    with pytest.raises(AttributeError, match="no_such_name"):
        stdio.no_such_name  # noqa: B018
