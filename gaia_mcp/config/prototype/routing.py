"""Decides which values of an entry are secrets, and belong in the secrets file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gaia_mcp.redaction import looks_secret, masked_arguments, masked_url
from gaia_mcp.redaction.finding import in_text, in_value

# A reference is not itself a secret.
REFERENCE = "$keyring"


def is_secret(path: tuple[str, ...], value: Any) -> bool:
    """Whether a member that is not a mapping holds a secret, judging by its name or its value."""
    if path == ("args",):
        words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
        return masked_arguments(words) != words
    if path == ("command",) and isinstance(value, str):
        return masked_arguments(value.split(" ")) != value.split(" ")
    if path == ("url",) and isinstance(value, str):
        return masked_url(value) != value
    return _holds_secret(path[-1], value)


def _holds_secret(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_secret(key, held) for key, held in value.items())
    if isinstance(value, list):
        return any(_holds_secret(name, held) for held in value)
    if name == REFERENCE or value is None or isinstance(value, bool):
        return False
    text = str(value)
    return bool(in_value(name, text)) and (looks_secret(name) or bool(in_text(text)))


def split(members: Mapping[str, Any], path: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members that are not secret, and those that are, each at its path."""
    seen: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for key, value in members.items():
        here = (*path, key)
        if isinstance(value, Mapping) and value and REFERENCE not in value:
            inner, secret = split(value, here)
            if inner or not secret:
                seen[key] = inner
            if secret:
                hidden[key] = secret
        elif is_secret(here, value):
            hidden[key] = value
        else:
            seen[key] = value
    return seen, hidden
