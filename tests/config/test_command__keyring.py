"""Secrets from the system's keyring, with a small keyring in place of the system's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.config.command import Command, secret_from_keyring
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import EntryError

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
def test_a_missing_secret_is_an_error() -> None:
    """Ours: it names the account, which is no secret."""
    with pytest.raises(EntryError, match="has no entry 'github:OTHER'"):
        secret_from_keyring("gh", "OTHER", "gaia.connections:github:OTHER")


@pytest.mark.usefixtures("keyring")
def test_an_error_of_the_keyring_becomes_an_entry_error() -> None:
    """Ours: another library's exception is translated where it crosses our border."""
    with pytest.raises(EntryError, match="the keyring is locked") as caught:
        secret_from_keyring("gh", "TOKEN", "gaia.connections:locked")
    assert type(caught.value.__cause__).__name__ == "KeyringLocked"


@pytest.mark.usefixtures("keyring")
def test_only_the_service_of_gaia_is_read() -> None:
    """Ours: a configuration file must not be able to read every secret of the system."""
    cases = ["login:github:TOKEN", "gaia.connections", "gaia.connections:", ":x", ""]

    wrong = []
    for reference in cases:
        try:
            secret_from_keyring("gh", "TOKEN", reference)
        except EntryError as error:
            if "gaia.connections" not in str(error) or error.server != "gh":
                wrong.append((reference, error))
        else:
            wrong.append((reference, None))

    assert not wrong


def test_a_missing_keyring_package_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: it is not a dependency."""
    install(tmp_path, monkeypatch, "raise ImportError('not here')")
    with pytest.raises(EntryError) as caught:
        secret_from_keyring("gh", "TOKEN", "gaia.connections:github:TOKEN")
    assert caught.value.case == "keyring-missing"
