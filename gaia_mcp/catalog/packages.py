"""The ways in which a document's server can be reached, and the entry for each, with its inputs filled in from the
user's values and from defaults.

A package is run by the program for its registry: npx, uvx, dnx or docker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.catalog import Argument, Document, DocumentError, Input, Package, Remote
from gaia_mcp.catalog.runners import (
    OF_THE_USER,
    RUNNERS,
    RUNNERS_OF,
    checked_arguments,
    runner_arguments,
    started,
)

# Headers that change the target of a request, or delimit it.
_OF_REQUESTS = ("connection", "content-length", "host", "transfer-encoding")
_VARIABLE = re.compile(r"\{([^{}]{1,100})\}")
# The beginning of a reference to an environment variable in our entries.
_REFERENCE = "${"


class Way(NamedTuple):
    """One way to reach the server. `name` is "npm", "pypi", "nuget", "oci", "http" or "sse". `program` has to be
    installed for it; it is empty for a URL. `inputs` are all inputs in the document for it.
    """

    name: str
    program: str
    offered: Package | Remote
    inputs: tuple[Input, ...]

    @property
    def variables(self) -> tuple[Input, ...]:
        """The inputs that are environment variables."""
        return self.offered.variables if isinstance(self.offered, Package) else ()


def ways_of(document: Document, is_installed: Callable[[str], bool] = lambda _: True) -> list[Way]:
    """The usable ways, packages first, in the document's order. If several programs can run a package, an installed one
    is preferred, then the one that the document recommends.
    """
    return [*_package_ways(document, is_installed), *(_remote_way(remote) for remote in document.remotes)]


def unusable(document: Document) -> list[str]:
    """The kinds of packages in the document that cannot be used, each once."""
    usable = {id(way.offered) for way in ways_of(document)}
    others = [
        f"{package.kind} ({package.transport})" if package.kind in RUNNERS_OF else package.kind
        for package in document.packages
        if id(package) not in usable
    ]
    return list(dict.fromkeys(others))


def entry_of(way: Way, given: Mapping[str, str], variables: Collection[str] = ()) -> dict[str, Any]:
    """The entry for the server, with the `given` values of its inputs, by name. `variables` are the names of further
    environment variables that a container gets.

    Raises `InputError`, and `DocumentError` for a package that must not be run as the document specifies.
    """
    if isinstance(way.offered, Remote):
        return _remote_entry(way.offered, given)
    return _package_entry(way.offered, way.program, given, variables)


def _package_ways(document: Document, is_installed: Callable[[str], bool]) -> Iterator[Way]:
    for package in document.packages:
        # A package that listens on a port would have to be started before connecting, and stopped afterwards.
        if package.kind in RUNNERS_OF and package.transport == "stdio":
            advised = package.runner
            program = min(RUNNERS_OF[package.kind], key=lambda one: (not is_installed(one), one != advised))
            arguments = (*runner_arguments(package, program), *package.arguments)
            yield Way(package.kind, program, package, (*(one.input for one in arguments), *package.variables))


def _remote_way(remote: Remote) -> Way:
    return Way(remote.transport, "", remote, (remote.url, *remote.headers))


def _package_entry(
    package: Package, program: str, given: Mapping[str, str], variables: Collection[str]
) -> dict[str, Any]:
    runner = RUNNERS[program]
    found = started(package, program, list(_words(runner_arguments(package, program), given)), given)
    env = _environment(package, program, given)
    names = [*env, *(name for name in variables if name not in env)] if package.kind == "oci" else []
    passed = [word for name in names if name not in found.passed for word in ("-e", name)]
    arguments = [*found.arguments, *_words(package.arguments, given)]
    arguments = checked_arguments(package, found, arguments, given.values())
    words = [*runner.words, *found.own, *passed, *found.package]
    entry: dict[str, Any] = {"command": program, "args": [*words, *(runner.between if arguments else ()), *arguments]}
    return {**entry, "env": env} if env else entry


def _environment(package: Package, program: str, given: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a package. Raises `DocumentError` if the document sets one that configures
    `program`.
    """
    env: dict[str, str] = {}
    for one in package.variables:
        # The user's value replaces that of the document.
        if value := given.get(one.name):
            env[one.name] = value
        elif (value := filled(one, given)) is not None:
            if OF_THE_USER.fullmatch(one.name) or RUNNERS[program].variables.fullmatch(one.name):
                raise DocumentError(f"it sets {one.name} to {value!r}, which could have {program} do anything else")
            env[one.name] = value
    return env


def _words(arguments: Sequence[Argument], given: Mapping[str, str]) -> Iterator[str]:
    for one in arguments:
        if "${" in one.option:
            raise DocumentError(f"the option {one.option!r} refers to a variable of the environment")
        value = filled(one.input, given)
        if value is None:
            continue
        if not one.option:
            yield value
        elif not one.input.is_boolean:
            yield from (one.option, value)
        elif value == "true":
            yield one.option


def _remote_entry(remote: Remote, given: Mapping[str, str]) -> dict[str, Any]:
    url = filled(remote.url, given) or ""
    if not url.startswith(("https://", "http://")):
        raise DocumentError(f"the URL {url!r} does not begin with https:// or http://")
    headers = {one.name: value for one in remote.headers if (value := filled(one, given)) is not None}
    for name, value in headers.items():
        is_valid = re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) and not re.search(r"[\r\n\0]", value)
        if not is_valid or name.lower() in _OF_REQUESTS:
            raise DocumentError(f"the header {name!r} cannot be sent")
    entry: dict[str, Any] = {"url": url}
    if remote.transport == "sse":
        entry["type"] = "sse"
    return {**entry, "headers": headers} if headers else entry


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
