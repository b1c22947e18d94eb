"""Secrets that AMD's GAIA keeps in the system's keyring: `{"$keyring": "gaia.connections:<id>:<KEY>"}`.

Only that service is looked at, and only if the `keyring` package happens to be installed.
"""

from __future__ import annotations

from gaia_mcp.errors import EntryError

SERVICE = "gaia.connections"


def secret_from_keyring(server: str, variable: str, reference: str) -> str:
    """The secret behind a reference.

    Raises `EntryError` when it is another service's, when there is no keyring, or when it does not hold the secret.
    """
    service, colon, account = reference.partition(":")
    if service != SERVICE or not colon or not account:
        raise EntryError(server, f"env {variable} refers to a keyring service other than {SERVICE!r}")
    try:
        import keyring
    except ImportError:
        raise EntryError(
            server,
            f"env {variable} lies in the system's keyring, which needs the package 'keyring'",
            case="keyring-missing",
        ) from None
    try:
        secret = keyring.get_password(SERVICE, account)
    except keyring.errors.KeyringError as cause:
        raise EntryError(server, f"env {variable}: the keyring cannot be read: {cause}") from cause
    if secret is None:
        raise EntryError(server, f"env {variable}: the keyring holds nothing for {account!r}")
    return str(secret)
