"""What the tests of authorization share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.client.transports.http.auth.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world() -> Iterator[World]:
    """A protected server and its authorization server."""
    made = World()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a test gets into the keyring of this machine."""
    monkeypatch.setitem(sys.modules, "keyring", None)


@pytest.fixture
def no_pyjwt(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the package that signs."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "jwt"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jwt", None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the configuration."""
    return tmp_path / "gaia"
