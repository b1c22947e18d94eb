"""Credentials in files, and in a keyring that stands for the system's."""

from __future__ import annotations

import json
import stat
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.auth.grants import NO_PACKAGE, CredentialStore, Held
from gaia_mcp.core.errors import ConfigFileError
from tests.protocol_support import check_each

if TYPE_CHECKING:
    from pathlib import Path

PUBLIC, SECRET = {"issuer": "https://a.example"}, {"access_token": "s3cret"}
HELD = Held(PUBLIC, SECRET)


class KeyringError(Exception):
    """As the package's own."""


class Keyring(ModuleType):
    """The functions of the package `keyring`; what it holds is in `held`."""

    def __init__(self, problem: str = "") -> None:
        super().__init__("keyring")
        self.held: dict[tuple[str, str], str] = {}
        self.problem = problem
        self.errors = ModuleType("keyring.errors")
        self.errors.KeyringError = KeyringError  # type: ignore[attr-defined]

    def get_password(self, service: str, name: str) -> str | None:
        if self.problem == "locked":
            raise KeyringError("it is\nlocked")
        if self.problem == "gone":
            raise OSError
        return self.held.get((service, name))

    def set_password(self, service: str, name: str, text: str) -> None:
        if self.problem in ("locked", "full"):
            raise KeyringError
        if self.problem == "gone":
            raise OSError("the bus is gone")
        if self.problem != "null":
            self.held[service, name] = text

    def delete_password(self, service: str, name: str) -> None:
        if self.problem == "gone":
            raise OSError
        if (service, name) not in self.held:
            raise KeyringError
        del self.held[service, name]


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setitem(sys.modules, "keyring", None)


def keep(store: CredentialStore) -> None:
    with store.locked("a-1", 5):
        store.write("a-1", PUBLIC, SECRET)


def test_credentials_without_a_keyring_are_in_a_private_file(tmp_path: Path) -> None:
    """Spec: AC-11: tokens are confidential."""
    store = CredentialStore(tmp_path / "tokens")
    keep(store)
    file = tmp_path / "tokens" / "a-1" / "credentials.json"

    assert store.read("a-1") == HELD
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (file.parent, file.parent.parent)} == {0o700}
    assert (store.names(), store.names("a-"), store.names("b")) == (["a-1"], ["a-1"], [])

    file.chmod(0o644)
    keep(store)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_forgotten_credentials_are_removed(tmp_path: Path) -> None:
    """Ours: also if it has never been there."""
    store = CredentialStore(tmp_path / "tokens")
    assert (store.names(), store.read("a-1")) == ([], None)
    keep(store)
    for _ in range(2):
        with store.locked("a-1", 5):
            store.forget("a-1")

    assert store.read("a-1") is None
    assert "s3cret" not in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_the_secret_part_is_stored_in_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: where the package is installed; the file then holds no secret."""
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    store = CredentialStore(tmp_path)
    keep(store)

    assert store.read("a-1") == HELD
    assert keyring.held == {("gaia-mcp", "a-1"): json.dumps(SECRET)}
    assert json.loads((tmp_path / "a-1" / "credentials.json").read_text()) == {**PUBLIC, "secret": "keyring"}

    keyring.problem = "locked"
    assert store.read("a-1") == Held(PUBLIC, {}, "it is locked")
    keyring.problem = "gone"
    assert store.read("a-1") == Held(PUBLIC, {}, "OSError")
    keyring.problem = ""
    with store.locked("a-1", 5):
        store.forget("a-1")
    assert keyring.held == {}


@pytest.mark.parametrize("problem", ["locked", "full", "null", "gone"])
def test_a_failing_keyring_falls_back_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    """Ours: a machine without a desktop has none, that of Windows has little room and raises errors of its own, and
    some are switched off.
    """
    monkeypatch.setitem(sys.modules, "keyring", Keyring(problem))
    store = CredentialStore(tmp_path)
    keep(store)

    assert store.read("a-1") == HELD
    with store.locked("a-1", 5):
        store.forget("a-1")
    assert store.read("a-1") is None


def test_credentials_missing_from_the_keyring_are_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a new login takes its place."""
    keyring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    store = CredentialStore(tmp_path)
    keep(store)
    keyring.held.clear()

    assert store.read("a-1") is None


def test_credentials_in_a_keyring_without_its_package_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the user learns which login it is, and that the package is missing."""
    monkeypatch.setitem(sys.modules, "keyring", Keyring())
    store = CredentialStore(tmp_path)
    keep(store)
    monkeypatch.setitem(sys.modules, "keyring", None)

    assert store.read("a-1") == Held(PUBLIC, {}, NO_PACKAGE)


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    """Ours: a new login takes its place."""
    file = tmp_path / "a-1" / "credentials.json"
    file.parent.mkdir()

    def check(text: str) -> None:
        file.write_bytes(text.encode("latin-1"))

        assert CredentialStore(tmp_path).read("a-1") is None

    check_each(check, ["", "nonsense", "[]", "{}", '{"secret": 7}', "[" * 100_000, "\xff"])


def test_a_file_that_cannot_be_read_or_removed_is_an_error(tmp_path: Path) -> None:
    """Ours: the user must not believe to be logged out while a token is still there."""
    (tmp_path / "a-1" / "credentials.json").mkdir(parents=True)
    store = CredentialStore(tmp_path)

    with pytest.raises(ConfigFileError, match="cannot be read"):
        store.read("a-1")
    with pytest.raises(ConfigFileError, match="cannot be removed"):
        store.forget("a-1")
