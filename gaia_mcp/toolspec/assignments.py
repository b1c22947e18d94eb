"""Parses the arguments of a call as typed in a shell: `key=value`, `key:=JSON`, `key=@FILE`. Independent of schemas.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gaia_mcp.jsontext import DepthError, JSONTextError, RepeatedKeyError, kind_of, parse_json


class Assignment(NamedTuple):
    """One argument as typed: `raw` for `:=`, whose value is JSON."""

    key: str
    value: str
    raw: bool


class ArgumentSyntaxError(ValueError):
    """An argument that is not `key=value`, or has invalid JSON as its value."""


class NotJSONError(ArgumentSyntaxError):
    """A value that is not JSON, often because the shell removed its quotation marks."""


def key_twice(where: str, error: RepeatedKeyError) -> ArgumentSyntaxError:
    """The error for JSON from `where` with a repeated key, since one of the values would be lost."""
    return ArgumentSyntaxError(f"{where}: the key {error.key!r} appears twice in one object")


def is_text(value: str) -> bool:
    """Whether `value` can be encoded in UTF-8. Python decodes invalid bytes as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_assignment(text: str) -> Assignment:
    """The parts of `key=value` or `key:=JSON`. Raises `ArgumentSyntaxError`."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise ArgumentSyntaxError(f"{text!r} is not key=value")
    is_raw = len(key) > 1 and key.endswith(":")
    return Assignment(key[:-1] if is_raw else key, value, is_raw)


def read_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object in `text`, whose source is `where`. Raises `ArgumentSyntaxError`."""
    value = read_json(text, where)
    if not isinstance(value, dict):
        raise ArgumentSyntaxError(f"{where} holds {kind_of(value)}, not a JSON object")
    return value


def read_json(text: str, where: str) -> Any:
    """The JSON value of `text`, whose source is `where`. Raises `ArgumentSyntaxError`, also for a repeated key and a
    lone surrogate.
    """
    if not is_text(text):
        raise ArgumentSyntaxError(f"{where}: not UTF-8")
    try:
        # Editors on Windows begin a file with a byte order mark.
        value = parse_json(text.removeprefix("\ufeff"), unique_keys=True)
    except DepthError:
        raise ArgumentSyntaxError(f"{where}: JSON nested too deeply") from None
    except RepeatedKeyError as error:
        raise key_twice(where, error) from None
    except JSONTextError as error:
        place = f" at column {error.column}" if error.column else ""
        raise NotJSONError(f"{where}: not JSON: {error.problem}{place}") from None
    if "\\" in text and not is_text(json.dumps(value, ensure_ascii=False)):
        raise ArgumentSyntaxError(f"{where}: half of a surrogate pair, which UTF-8 does not have")
    return value


# The digits of other scripts, `1_000` and `nan`, which Python reads as well, are text. Compiled when it is used: at a
# TAB few values are numbers.
_NUMBER = r"(?P<whole>[+-]?[0-9]+)|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def number_in(text: str) -> int | float | None:
    """The number that `text` is, blanks around it left aside: `3`, `+3`, `-3.5`, `.5`, `1e3`. None for any other text,
    also where the number is infinite as a float, or has more digits than Python reads.
    """
    found = re.fullmatch(_NUMBER, text.strip())
    if found is None:
        return None
    if found["whole"] is None:
        number = float(found[0])
        return number if abs(number) < float("inf") else None
    try:
        return int(found[0])
    except ValueError:
        return None
