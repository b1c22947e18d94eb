"""Fills in the inputs of a document, with what the user gives and with defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.catalog.documents import Input

_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
# What our entries take for a reference to a variable of the user's environment.
_REFERENCE = "${"


class InputError(ValueError):
    """The value of the input `name` is invalid, `example` is what it could be. `problem` follows the name."""

    def __init__(self, name: str, problem: str, example: str = "VALUE") -> None:
        super().__init__(f"{name!r} {problem}")
        self.name = name
        self.example = example


def asked_of(inputs: Iterable[Input]) -> list[Input]:
    """The inputs that a user may give, each name once: those without a fixed value, and the variables of the others."""
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
    """The value of an input, None to leave it out: `given` by name, fixed, or, if it is required, its default.

    Raises `InputError` for a value that is missing or not one of the choices, and for a document that holds a reference
    such as `${TOKEN}`: that would be filled with what the user has not meant for this server.
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
    """A reference to the variable of the user's environment that a secret is usually in: `${X_API_KEY}` for the header
    `X-API-Key`.
    """
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
            # What depends on an optional value that is not given is left out as a whole, unless it cannot be.
            if one.is_required:
                raise InputError(name, "is missing")
            return None
        values[name] = value
    result = _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)
    # A reference that only the pieces together make would be one of the document's.
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
