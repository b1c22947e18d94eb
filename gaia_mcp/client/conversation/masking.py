"""What a server wrote, without the secrets that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gaia_mcp.safetext import MASK, redacted

# No person reads what is nested more deeply; going on would end in a RecursionError of ours.
MAX_DEPTH = 100
# Shorter beginnings of a secret stand at the end of many words, and reveal nothing.
TELLING_CHARS = 4


def masked_value(value: Any, secrets: Sequence[str], depth: int = 0) -> Any:
    """A JSON value with each of `secrets` replaced by `****`, in its keys too."""
    if isinstance(value, str):
        return redacted(value, list(secrets))
    if not isinstance(value, (dict, list)) or not secrets:
        return value
    if depth == MAX_DEPTH:
        return MASK
    if isinstance(value, list):
        return [masked_value(item, secrets, depth + 1) for item in value]
    return {redacted(key, list(secrets)): masked_value(item, secrets, depth + 1) for key, item in value.items()}


def masked_excerpt(excerpt: str, secrets: Sequence[str]) -> str:
    """`excerpt` with each of `secrets` replaced by `****`, also one that was cut off at its end."""
    text = redacted(excerpt, list(secrets))
    cut = max((_beginning_at_end(text, secret) for secret in secrets), default=0)
    return text[:-cut] + MASK if cut >= TELLING_CHARS else text


def _beginning_at_end(text: str, secret: str) -> int:
    """How many characters of `secret` stand at the end of `text`."""
    return next((length for length in range(len(secret) - 1, 0, -1) if text.endswith(secret[:length])), 0)
