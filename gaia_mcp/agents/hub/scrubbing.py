"""What no answer and no log of the hub may repeat: keys, tokens, secrets and passwords of its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.environment import secrets_given
from gaia_mcp.config.command import Command
from gaia_mcp.redaction.masker import Masker

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.entries import Endpoint

# The value of a variable with one of these in its name is a secret, whatever it looks like.
WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def own_masker(environ: Mapping[str, str]) -> Masker:
    """Masks what the hub itself is given."""
    return Masker(dict.fromkeys(secrets_in(environ)))


def masker_for(target: Command | Endpoint, environ: Mapping[str, str]) -> Masker:
    """Masks what an agent is given; `target` is resolved."""
    found = secrets_in(environ)
    if isinstance(target, Command):
        found += secrets_in(target.env)
        found += secrets_given(target.command, target.args, target.env, inherits_all=target.inherit)
    else:
        found += secrets_given(target.url, [], {"api_key": target.api_key})
    return Masker(dict.fromkeys(found))


def secrets_in(variables: Mapping[str, str]) -> list[str]:
    """The values of those variables whose names tell that they are secrets. A path that exists is a place."""
    return [
        value
        for name, value in variables.items()
        if any(word in name.upper() for word in WORDS) and not (os.path.isabs(value) and os.path.exists(value))  # noqa: PTH110, PTH117
    ]
