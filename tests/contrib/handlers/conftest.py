"""What the tests of handlers share."""

from __future__ import annotations

from tests.contrib.handlers.files import write

__all__ = ["write"]
