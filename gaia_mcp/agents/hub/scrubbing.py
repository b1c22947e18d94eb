"""Masks the secrets of the environment, such as keys, tokens and passwords, in the hub's answers and logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.command_line import secrets_given
from gaia_mcp.config.command import Command
from gaia_mcp.redaction.masker import Masker

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.entries import Endpoint

# The value of a variable whose name contains one of these is always a secret.
WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def own_masker(environ: Mapping[str, str]) -> Masker:
    """A masker for the secrets in the hub's own environment."""
    return Masker(dict.fromkeys(secrets_in(environ)))


def masker_for(target: Command | Endpoint, environ: Mapping[str, str]) -> Masker:
    """A masker for the secrets that an agent gets; `target` is resolved."""
    found = secrets_in(environ)
    if isinstance(target, Command):
        found += secrets_in(target.env)
        found += secrets_given(target.command, target.args, target.env, inherits_all=target.inherit)
    else:
        found += secrets_given(target.url, [], {"api_key": target.api_key})
    return Masker(dict.fromkeys(found))


def secrets_in(variables: Mapping[str, str]) -> list[str]:
    """The values of the variables whose names indicate a secret, except paths that exist."""
    return [
        value
        for name, value in variables.items()
        if any(word in name.upper() for word in WORDS) and not (os.path.isabs(value) and os.path.exists(value))  # noqa: PTH110, PTH117
    ]
