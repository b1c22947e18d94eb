"""Encrypts and authenticates the state that a client sends back in the next round, so that it cannot read or change it.

Uses AES-GCM from the `cryptography` package, which is imported on first use. Knows no clock and no environment: callers
pass `now` and keys.
"""

from __future__ import annotations

import binascii
import os
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.internals import compact_writer
from gaia_mcp.protocol.input_required import RETRY_MEMBERS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# Long enough for a person to answer after a meeting; after that the question is asked again.
VALID_SECONDS = 3600
# Shorter secrets can be guessed.
MIN_SECRET_CHARS = 32
_NONCE_BYTES = 12
_KEY_ID_BYTES = 4
_write_sorted = compact_writer(sort_keys=True)
_EXPIRY = struct.Struct(">Q")
# The members of a request that differ by round.
_BY_ROUND = frozenset({"_meta", *RETRY_MEMBERS})


class SealError(ValueError):
    """The state was not sealed here or for this request, or has expired. The text is for the log, not the client."""


class Sealer:
    """Seals with the first key and opens with any, which allows key rotation.

    `secrets` are strings of at least 32 characters. Without any, it generates a key, which is lost with this object.
    States sealed for one `place` can only be opened for the same `place`. Raises `ValueError` for a secret that is too
    short.
    """

    def __init__(self, secrets: Sequence[str] = (), place: str = "") -> None:
        if any(len(secret) < MIN_SECRET_CHARS for secret in secrets):
            raise ValueError(f"a key has at least {MIN_SECRET_CHARS} characters")
        self._secrets = [secret.encode("utf-8", "surrogateescape") for secret in secrets] or [os.urandom(32)]
        self._place = place.encode("utf-8", "surrogatepass")

    @cached_property
    def _ciphers(self) -> dict[bytes, AESGCM]:
        """The ciphers by the key ids that sealed states begin with."""
        import hashlib

        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        keys = [hashlib.sha256(b"\0".join([secret, self._place])).digest() for secret in self._secrets]
        return {hashlib.sha256(b"id" + key).digest()[:_KEY_ID_BYTES]: AESGCM(key) for key in keys}

    def seal(self, text: str, about: bytes, now: float) -> str:
        """Encrypt `text` to an opaque string that is bound to `about` and valid for an hour."""
        key_id, cipher = next(iter(self._ciphers.items()))
        nonce = os.urandom(_NONCE_BYTES)
        expiry = _EXPIRY.pack(int(now) + VALID_SECONDS)
        sealed = cipher.encrypt(nonce, text.encode("utf-8"), expiry + about)
        return binascii.b2a_base64(key_id + nonce + expiry + sealed, newline=False).decode("ascii")

    def open(self, sealed: str, about: bytes, now: float) -> str:
        """Decrypt a sealed text. Raises `SealError`."""
        try:
            raw = binascii.a2b_base64(sealed, strict_mode=True)
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
    """What a state is bound to: the caller, and the request without the members that differ by round."""
    same = {key: value for key, value in params.items() if key not in _BY_ROUND}
    return _write_sorted([principal, method, same]).encode("ascii")
