"""The credentials granted to this program: in the system's keyring, else in files that only the user can read.

Each is a document with a secret part. That part is in the keyring if the package `keyring` is installed and stores it,
else in the document's file. Does not interpret documents.

The backends of that package may raise any exception: Windows its own errors, a desktop those of its bus.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.text.safe import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

SERVICE = "gaia-mcp"
# Replaces the secret part if that is in the keyring.
IN_KEYRING = "keyring"
FILE = "credentials.json"
# Far more than any document: tokens fit into a header.
MAX_BYTES = 1 << 20
# The reason why the keyring cannot be read if another Python installation has written to it.
NO_PACKAGE = "the package 'keyring' is not installed"


class Held(NamedTuple):
    """A document and its secret part. If the keyring cannot be read, for example because it is locked, `unreadable` is
    the reason, and the secret part is empty.
    """

    document: dict[str, Any]
    secret: dict[str, Any]
    unreadable: str = ""


class CredentialStore:
    """The credentials under `folder`, each in a folder of its own, so that each has a lock of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, in order."""
        try:
            return sorted(each.name for each in self._folder.iterdir() if each.name.startswith(prefix))
        except OSError:
            return []

    def locked(self, name: str, seconds: float) -> AbstractContextManager[None]:
        """Hold the inter-process lock of one of them. Raises `ConfigFileError` if it is not free in time."""
        with contextlib.suppress(OSError):  # The lock reports a folder that cannot be created.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(self._path(name), seconds)

    def read(self, name: str) -> Held | None:
        """A document. None if it does not exist, is damaged or has lost its secret: then it will be replaced. Raises
        `ConfigFileError` for a file that cannot be read.
        """
        data = read_bytes(self._path(name), MAX_BYTES)
        try:
            document: dict[str, Any] = json.loads(data or b"{}")
            secret = document.pop("secret")
            if secret == IN_KEYRING:
                secret = json.loads(_from_keyring(name))
        except _UnreadableError as problem:
            return Held(document, {}, str(problem))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None
        return Held(document, secret) if isinstance(secret, dict) else None

    def write(self, name: str, document: Mapping[str, Any], secret: Mapping[str, Any]) -> None:
        """Store a document. The caller holds its lock. Raises `ConfigFileError`."""
        is_in_keyring = _to_keyring(name, json.dumps(secret))
        kept = {**document, "secret": IN_KEYRING if is_in_keyring else secret}
        path = self._path(name)
        write_bytes(path, snapshot_of(path), (json.dumps(kept, indent=2) + "\n").encode(), 0o600)

    def forget(self, name: str) -> None:
        """Delete a document. The caller holds its lock. Raises `ConfigFileError`."""
        _drop_from_keyring(name)
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as cause:
            raise ConfigFileError(path, f"cannot be removed: {cause.strerror}") from cause

    def _path(self, name: str) -> Path:
        return self._folder / name / FILE


class _UnreadableError(Exception):
    """The keyring cannot be read; the message is the reason."""


def _keyring() -> Any:
    """The package, None if it is not installed."""
    try:
        import keyring
    except ImportError:
        return None
    return keyring


def _from_keyring(name: str) -> str:
    """The text in the keyring. Raises `ValueError` if there is none."""
    keyring = _keyring()
    if keyring is None:
        raise _UnreadableError(NO_PACKAGE)
    try:
        held = keyring.get_password(SERVICE, name)
    except Exception as cause:
        raise _UnreadableError(one_line(str(cause)) or type(cause).__name__) from cause
    if held is None:
        raise ValueError
    return str(held)


def _to_keyring(name: str, text: str) -> bool:
    """Whether the keyring has stored it; False without a backend, or if the text is too long for it."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, name, text)
        return bool(keyring.get_password(SERVICE, name) == text)
    except Exception:  # noqa: BLE001 (as at the top)
        return False


def _drop_from_keyring(name: str) -> None:
    keyring = _keyring()
    if keyring is not None:
        with contextlib.suppress(Exception):
            keyring.delete_password(SERVICE, name)
