"""Fills in the inputs of a document, with the user's values and with defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.catalog.documents import Input

_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
# The beginning of a reference to an environment variable in our entries.
_REFERENCE = "${"


class InputError(ValueError):
    """The value of the input `name` is invalid: the message is the name and `problem`. `example` is a valid value."""

    def __init__(self, name: str, problem: str, example: str = "VALUE") -> None:
        super().__init__(f"{name!r} {problem}")
        self.name = name
        self.example = example


def asked_of(inputs: Iterable[Input]) -> list[Input]:
    """The inputs that a user can provide, each name once: those without a fixed value, and the variables of others."""
    found: dict[str, Input] = {}
    for one in _open(inputs):
        known = found.setdefault(one.name, one)
        if one.is_required and not known.is_required:
            found[one.name] = one
    return list(found.values())


def _open(inputs: Iterable[Input]) -> Iterator[Input]:
    for one in inputs:
        if one.value is None:
            if one.name:
                yield one
        else:
            used = set(_VARIABLE.findall(one.value))
            yield from _open(each for name, each in one.variables.items() if name in used)


def filled(one: Input, given: Mapping[str, str]) -> str | None:
    """The value of an input: fixed, from `given` by name, or, if it is required, its default; None to omit it.

    Raises `InputError` for a value that is missing or not one of the choices, and for a document with a reference such
    as `${TOKEN}`, which would send the server a variable that the user did not intend for it.
    """
    if one.value is not None:
        return _with_variables(one, given)
    value = given.get(one.name)
    if value is None:
        if not one.is_required:
            return None
        if not (value := _own(one, one.default)):
            raise InputError(one.name, "is missing")
    if one.choices and value not in one.choices:
        raise InputError(one.name, f"is {value!r}, not one of: {', '.join(one.choices)}", one.choices[0])
    return value


def missing(inputs: Iterable[Input], given: Mapping[str, str]) -> list[Input]:
    """The required inputs that have no default and are not given."""
    return [one for one in asked_of(inputs) if one.is_required and not one.default and one.name not in given]


def reference(name: str) -> str:
    """A reference to the usual environment variable for a secret: `${X_API_KEY}` for the header `X-API-Key`."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    if not re.fullmatch(r"[A-Z][A-Z0-9_]*", plain):
        plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain).upper()
    return f"${{_{plain}}}" if not plain or plain[0].isdigit() else f"${{{plain}}}"


def _with_variables(one: Input, given: Mapping[str, str]) -> str | None:
    text = _own(one, one.value or "")
    values: dict[str, str] = {}
    for name in _VARIABLE.findall(text):
        if name not in one.variables:
            continue
        value = filled(one.variables[name], given)
        if value is None:
            # Without an optional variable, the whole input is omitted, unless it is required.
            if one.is_required:
                raise InputError(name, "is missing")
            return None
        values[name] = value
    result = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)
    # Only values of the user may contain references: the document must not combine one from several pieces.
    if result.count(_REFERENCE) > sum(
        values[name].count(_REFERENCE) for name in _VARIABLE.findall(text) if name in values
    ):
        raise _referring(one)
    return result


def _own(one: Input, text: str) -> str:
    if _REFERENCE in text:
        raise _referring(one)
    return text


def _referring(one: Input) -> InputError:
    return InputError(one.name, "refers to a variable of the environment, which a document may not")
