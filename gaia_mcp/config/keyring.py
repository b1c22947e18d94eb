"""Secrets that AMD's GAIA keeps in the system's keyring: `{"$keyring": "gaia.connections:<id>:<KEY>"}`.

Only this service is read, and only if the package `keyring` is installed.
"""

from __future__ import annotations

from gaia_mcp.errors import EntryError

SERVICE = "gaia.connections"


def secret_from_keyring(server: str, field: str, reference: str) -> str:
    """The secret that the reference in `field` names.

    Raises `EntryError` for another service, without a keyring, and for a secret that is not in the keyring.
    """
    service, colon, account = reference.partition(":")
    if service != SERVICE or not colon or not account:
        raise EntryError(server, f"{field} refers to a keyring service other than {SERVICE!r}")
    try:
        import keyring
    except ImportError:
        raise EntryError(
            server,
            f"{field} is in the system's keyring, which needs the package 'keyring'",
            case="keyring-missing",
        ) from None
    try:
        secret = keyring.get_password(SERVICE, account)
    except keyring.errors.KeyringError as cause:
        raise EntryError(server, f"{field}: the keyring cannot be read: {cause}") from cause
    if secret is None:
        raise EntryError(server, f"{field}: the keyring has no entry {account!r}")
    return str(secret)
