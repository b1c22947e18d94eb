"""Secrets from the system's keyring, with a small keyring in place of the system's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.keyring import secret_from_keyring
from gaia_mcp.errors import EntryError

if TYPE_CHECKING:
    from pathlib import Path

KEYRING = '''
"""Stands for the package `keyring`: the same function, the same errors."""
from keyring import errors

def get_password(service, account):
    if account == "locked":
        raise errors.KeyringLocked("the keyring is locked")
    return {("gaia.connections", "github:TOKEN"): "s3cret"}.get((service, account))
'''
ERRORS = """
class KeyringError(Exception): ...
class KeyringLocked(KeyringError): ...
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    package = folder / "keyring"
    package.mkdir()
    (package / "__init__.py").write_text(source)
    (package / "errors.py").write_text(ERRORS)
    for name in [name for name in sys.modules if name.partition(".")[0] == "keyring"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, KEYRING)
    # Whatever is imported below is forgotten again.
    monkeypatch.setitem(sys.modules, "keyring", __import__("keyring"))
    monkeypatch.setitem(sys.modules, "keyring.errors", sys.modules["keyring.errors"])


@pytest.mark.usefixtures("keyring")
def test_a_secret_is_fetched_when_the_entry_is_used() -> None:
    """Ours: `{"$keyring": …}` values; the account is everything after the service."""
    assert secret_from_keyring("gh", "TOKEN", "gaia.connections:github:TOKEN") == "s3cret"
    config = {"command": "npx", "env": {"TOKEN": {"$keyring": "gaia.connections:github:TOKEN"}}}
    assert read_entry("gh", config).resolved({}).target == Command("npx", None, {"TOKEN": "s3cret"})


@pytest.mark.usefixtures("keyring")
def test_a_secret_that_is_not_there_is_an_error() -> None:
    """Ours: it names the account, which is no secret."""
    with pytest.raises(EntryError, match="has no entry 'github:OTHER'"):
        secret_from_keyring("gh", "OTHER", "gaia.connections:github:OTHER")


@pytest.mark.usefixtures("keyring")
def test_a_keyring_that_refuses_is_an_error_of_ours() -> None:
    """Ours: another library's exception is translated where it crosses our border."""
    with pytest.raises(EntryError, match="the keyring is locked") as caught:
        secret_from_keyring("gh", "TOKEN", "gaia.connections:locked")
    assert type(caught.value.__cause__).__name__ == "KeyringLocked"


@pytest.mark.usefixtures("keyring")
@pytest.mark.parametrize("reference", ["login:github:TOKEN", "gaia.connections", "gaia.connections:", ":x", ""])
def test_only_gaia_s_own_service_is_looked_at(reference: str) -> None:
    """Ours: a configuration file must not be able to read every secret of the system."""
    with pytest.raises(EntryError, match=r"gaia\.connections") as caught:
        secret_from_keyring("gh", "TOKEN", reference)
    assert caught.value.server == "gh"


def test_without_the_package_one_is_told_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is not a dependency."""
    install(tmp_path, monkeypatch, "raise ImportError('not here')")
    with pytest.raises(EntryError) as caught:
        secret_from_keyring("gh", "TOKEN", "gaia.connections:github:TOKEN")
    assert caught.value.case == "keyring-missing"
