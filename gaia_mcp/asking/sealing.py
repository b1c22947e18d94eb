"""Sealing what a client carries from one round to the next, so that it can neither read nor change it.

The cryptography is AES-GCM of the `cryptography` package, loaded when something is first sealed or opened. Knows no
clock and no environment: callers pass `now` and keys.
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaia_mcp.internals import compact_writer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# A person may take their time; what is older than a working day's meeting is asked again.
VALID_SECONDS = 3600
# A secret that is shorter can be guessed.
MIN_SECRET_CHARS = 32
_NONCE_BYTES = 12
_KEY_ID_BYTES = 4
_write_sorted = compact_writer(sort_keys=True)
_EXPIRY = struct.Struct(">Q")


class SealError(ValueError):
    """A state that was not sealed here or for this request, or has expired. The text is for the log, not the client."""


class Sealer:
    """Seals with the first of the keys and opens with any, so that keys can be replaced one after the other.

    `secrets` are texts of at least 32 characters. Without any, a key is made that lasts as long as this object. Raises
    `ValueError` for a secret that is too short. What was sealed at one `place` is opened there alone.
    """

    def __init__(self, secrets: Sequence[str] = (), place: str = "") -> None:
        if any(len(secret) < MIN_SECRET_CHARS for secret in secrets):
            raise ValueError(f"a key has at least {MIN_SECRET_CHARS} characters")
        self._secrets = [secret.encode("utf-8", "surrogateescape") for secret in secrets] or [os.urandom(32)]
        self._place = place.encode("utf-8", "surrogatepass")

    @cached_property
    def _ciphers(self) -> dict[bytes, AESGCM]:
        """What seals with each key, by what tells the keys apart in a sealed state."""
        import hashlib

        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        keys = [hashlib.sha256(b"\0".join([secret, self._place])).digest() for secret in self._secrets]
        return {hashlib.sha256(b"id" + key).digest()[:_KEY_ID_BYTES]: AESGCM(key) for key in keys}

    def seal(self, text: str, about: bytes, now: float) -> str:
        """`text` as an opaque one, bound to `about` and valid for an hour."""
        key_id, cipher = next(iter(self._ciphers.items()))
        nonce = os.urandom(_NONCE_BYTES)
        expiry = _EXPIRY.pack(int(now) + VALID_SECONDS)
        sealed = cipher.encrypt(nonce, text.encode("utf-8"), expiry + about)
        return base64.urlsafe_b64encode(key_id + nonce + expiry + sealed).decode("ascii")

    def open(self, sealed: str, about: bytes, now: float) -> str:
        """The text that was sealed. Raises `SealError`."""
        try:
            raw = base64.b64decode(sealed, altchars=b"-_", validate=True)
        except ValueError as problem:
            raise SealError("it is not base64") from problem
        head = _KEY_ID_BYTES + _NONCE_BYTES + _EXPIRY.size
        if len(raw) <= head:
            raise SealError("it is too short")
        cipher = self._ciphers.get(raw[:_KEY_ID_BYTES])
        if cipher is None:
            raise SealError("it was sealed with another key")
        from cryptography.exceptions import InvalidTag

        nonce, expiry = raw[_KEY_ID_BYTES : head - _EXPIRY.size], raw[head - _EXPIRY.size : head]
        try:
            text = cipher.decrypt(nonce, raw[head:], expiry + about)
        except InvalidTag as problem:
            raise SealError("it was changed, or belongs to another request") from problem
        if _EXPIRY.unpack(expiry)[0] < now:
            raise SealError("it has expired")
        return text.decode("utf-8")


def subject_of(principal: str, method: str, params: dict[str, Any]) -> bytes:
    """What a state is bound to: the caller, and the request without what changes from round to round."""
    import hashlib

    same = {key: value for key, value in params.items() if key not in ("_meta", "inputResponses", "requestState")}
    return hashlib.sha256(_write_sorted([principal, method, same]).encode("ascii")).digest()
