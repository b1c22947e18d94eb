"""Credentials that were granted to this program: in the system's keyring, else in files that only the user can read.

Each is a document with a part that is secret. That part is in the keyring where the package `keyring` is installed and
takes it, and beside the rest otherwise. Knows nothing of what a document means.

What lies behind that package is another author's, and may raise anything: Windows its own errors, a desktop those of
its bus.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.safetext import one_line
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

SERVICE = "gaia-mcp"
# In the place of the secret part, if that is in the keyring.
IN_KEYRING = "keyring"
FILE = "credentials.json"
# Far more than any document: tokens fit into a header.
MAX_BYTES = 1 << 20
# Why the keyring cannot be read, where another Python has written to it.
NO_PACKAGE = "the package 'keyring' is not installed"


class Held(NamedTuple):
    """A document and its secret part. `unreadable` tells why the keyring does not give that part, which then is empty:
    it is locked, or cannot be reached from here.
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
        """Hold the lock of one of them, against all processes. Raises `ConfigFileError` if it is not free in time."""
        with contextlib.suppress(OSError):  # The lock reports a folder that cannot be made.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(self._path(name), seconds)

    def read(self, name: str) -> Held | None:
        """A document. None without it, and for one that is damaged or has lost its secret: a new one takes its place.
        Raises `ConfigFileError` for a file that cannot be read.
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
        """Keep a document. The caller holds its lock. Raises `ConfigFileError`."""
        is_in_keyring = _to_keyring(name, json.dumps(secret))
        kept = {**document, "secret": IN_KEYRING if is_in_keyring else secret}
        path = self._path(name)
        write_bytes(path, snapshot_of(path), (json.dumps(kept, indent=2) + "\n").encode(), 0o600)

    def forget(self, name: str) -> None:
        """Drop a document. The caller holds its lock. Raises `ConfigFileError`."""
        _drop_from_keyring(name)
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as cause:
            raise ConfigFileError(path, f"cannot be removed: {cause.strerror}") from cause

    def _path(self, name: str) -> Path:
        return self._folder / name / FILE


class _UnreadableError(Exception):
    """The keyring cannot be read; the message tells why."""


def _keyring() -> Any:
    """The package, None where it is not installed."""
    try:
        import keyring
    except ImportError:
        return None
    return keyring


def _from_keyring(name: str) -> str:
    """What the keyring holds. Raises `ValueError` if that is nothing."""
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
    """Whether the keyring has taken it. One without a backend, or with too little room, has not."""
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
