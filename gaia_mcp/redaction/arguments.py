"""The secrets in the arguments of a command, whose name is often the previous argument: `--token X`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gaia_mcp.redaction import looks
from gaia_mcp.redaction.finding import Place, hidden, in_named, in_text, in_urls, in_value
from gaia_mcp.redaction.looks import looks_secret
from gaia_mcp.safetext import MASK

_SCHEME = r"(?i)(?:bearer|basic|token)"
_FLAG = r"(?s)--[A-Za-z][\w.-]*(?:=.*)?|-[A-Za-z]"
_QUOTE_OF_VALUE = r"(?:^|=)([\"'])"


def places_in(arguments: Sequence[str]) -> list[list[Place]]:
    """For each argument, the places of the secrets in it."""
    found: list[list[Place]] = []
    awaiting = quote = ""
    for argument in arguments:
        whole = [(0, len(argument))]
        if quote:
            # The rest of a quoted secret in a command line that was split at its spaces.
            found.append(whole)
            quote = "" if argument.endswith(quote) else quote
            continue
        bare = argument.strip("\"'")
        if awaiting and re.fullmatch(_SCHEME, bare):
            # `Authorization: Bearer X`, split at its spaces.
            found.append([])
            continue
        if awaiting and not re.fullmatch(_FLAG, argument):
            found.append(in_named(awaiting, argument))
        else:
            found.append(in_text(argument))
        is_open = (argument.startswith("-") and "=" not in argument) or bare.endswith(":")
        awaiting = bare if is_open and looks_secret(bare.rstrip(":")) else ""
        if (awaiting or found[-1]) and (opened := _open_quote(argument)):
            quote, awaiting = opened, ""
    return found


def masked_arguments(arguments: Sequence[str]) -> list[str]:
    """A command's arguments with everything that looks like a secret replaced by `****`."""
    return [hidden(argument, places) for argument, places in zip(arguments, places_in(arguments), strict=True)]


def masked_url(url: str) -> str:
    """`url` without its credentials and the secrets in its query."""
    return hidden(url, in_urls(url))


def masked_value(name: str, value: str) -> str:
    """The value of a variable, a header or a member that is called `name`, with its secrets replaced by `****`."""
    return hidden(value, in_value(name, value))


def masked_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members of an object, and of nested ones, with their secrets masked. A member with the name of a secret is
    masked completely. References to a keyring stay.
    """
    return {key: _masked_member(key, held) for key, held in members.items()}


def _masked_member(name: str, held: Any, outer: str = "") -> Any:
    if isinstance(held, Mapping):
        if held.keys() == {"$keyring"}:
            return held
        around = name if looks_secret(name) else outer
        return {key: _masked_member(key, inner, around) for key, inner in held.items()}
    if isinstance(held, list):
        return [_masked_member(name, inner, outer) for inner in held]
    if held is None or isinstance(held, bool):
        return held
    text = str(held)
    shown = masked_value(name, text) if not outer or looks_secret(name) else masked_value(outer, text)
    return held if shown == text else shown


def masked(value: str) -> str:
    """`****`, or the value itself if it is a reference to a variable without a default (which could be a secret)."""
    return value if looks.is_reference(value) else MASK


def _open_quote(argument: str) -> str:
    """The quotation mark that begins a value in this argument but does not end it."""
    for found in re.finditer(_QUOTE_OF_VALUE, argument):
        if not (argument.endswith(found[1]) and len(argument) > found.end()):
            return found[1]
    return ""
