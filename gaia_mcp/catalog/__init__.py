"""A registry's documents about servers, and the entries that are generated from them.

A registry lists servers by names such as `io.github.owner/server`. Its document about one version of a server, in the
format of a `server.json` file, has packages, each of which becomes a command line, and remotes, each a URL. A value
that the user provides is an *input*: an argument, a variable, a header or a part of one. Documents are untrusted: their
texts never reach a shell, they cannot refer to variables of the user's environment, and they cannot make the program
that runs a package, such as npx, do anything but run that package.

They are read here, by the schemas of 2025-09-29 and 2025-12-11. Unknown members are ignored, because both schemas allow
them. All known members are validated: an invalid part is an error that names its place. `packages` fills in inputs and
generates entries: neither does I/O. `registry` is the client of the API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from gaia_mcp.text.redaction import looks_secret

T = TypeVar("T")
# The `_meta` key of the official registry's metadata about a version.
_OFFICIAL = "io.modelcontextprotocol.registry/official"
# Members that exist only in schemas before 2025-09-29.
_OLD_MEMBERS = ("version_detail", "registry_type", "registry_name")
# A placeholder in a value. Hundreds of documents have `Bearer {api_key}` without a variable `api_key`.
_PART = r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]{0,99})\}"
# The name of a server: the reversed domain of its owner, and its own.
_NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")
MAX_NAME_CHARS = 200
# A version names one release: neither a range, nor "latest", with which the registry itself means the newest.
_VERSION = re.compile(r"(?!latest$)[^\s^~<>=*|,]{1,255}", re.IGNORECASE)


class DocumentError(ValueError):
    """A document is invalid. The message names the place and the problem."""


class Input(NamedTuple):
    """A value that the user provides, or the fixed `value` of the document. `name` is that of the variable or header,
    or the option without dashes.

    `{variable}` in `value` is a placeholder for one of `variables`, which are inputs without variables of their own.
    """

    name: str
    description: str = ""
    value: str | None = None
    default: str = ""
    placeholder: str = ""
    is_required: bool = False
    is_secret: bool = False
    is_boolean: bool = False
    choices: tuple[str, ...] = ()
    variables: Mapping[str, Input] = {}


class Argument(NamedTuple):
    """An argument of a command line: the value of `input`, after `option` if that is not empty."""

    input: Input
    option: str


class Package(NamedTuple):
    """A package of the registry type `kind`: "npm", "pypi", "nuget", "oci" or another. `runner` is the program that the
    document recommends to run it, `runner_arguments` are the arguments of that program. If `transport` is not "stdio",
    the package listens at `url`.
    """

    kind: str
    identifier: str
    version: str
    runner: str
    runner_arguments: tuple[Argument, ...]
    arguments: tuple[Argument, ...]
    variables: tuple[Input, ...]
    transport: str
    url: str = ""


class Remote(NamedTuple):
    """A server at a URL, whose placeholders in braces are inputs of `url`. `transport` is "http" or "sse"."""

    transport: str
    url: Input
    headers: tuple[Input, ...]


class Document(NamedTuple):
    """One version of a server. `status` is "active", "deprecated" or "deleted", `status_message` explains it."""

    name: str
    version: str
    title: str
    description: str
    packages: tuple[Package, ...]
    remotes: tuple[Remote, ...]
    status: str = "active"
    status_message: str = ""


def read_document(document: Any, meta: Any = None) -> Document:
    """The document, with the status from `meta`, the `_meta` of the registry's response. Raises `DocumentError`."""
    held = _object(document, "the document")
    if any(member in held for member in _OLD_MEMBERS):
        raise DocumentError("the document has a schema before 2025-09-29")
    notes = meta.get(_OFFICIAL) if isinstance(meta, dict) else None
    notes = notes if isinstance(notes, dict) else {}
    name, version = (_text(held, member, "", is_required=True) for member in ("name", "version"))
    if len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise DocumentError(f"name is {name[:MAX_NAME_CHARS]!r}, not one such as 'io.github.owner/server'")
    if not _VERSION.fullmatch(version):
        raise DocumentError(f"version is {version[:MAX_NAME_CHARS]!r}, not one version such as '1.0.2'")
    return Document(
        name=name,
        version=version,
        title=_text(held, "title", ""),
        description=_text(held, "description", ""),
        packages=_list(held, "packages", "", _package),
        remotes=_list(held, "remotes", "", _remote),
        status=_text(notes, "status", "") or _text(held, "status", "") or "active",
        status_message=_text(notes, "statusMessage", ""),
    )


def _package(held: Any, where: str) -> Package:
    held = _object(held, where)
    transport = _object(held.get("transport", {"type": "stdio"}), f"{where}.transport")
    return Package(
        kind=_text(held, "registryType", where, is_required=True),
        identifier=_text(held, "identifier", where, is_required=True),
        version=_text(held, "version", where),
        runner=_text(held, "runtimeHint", where),
        runner_arguments=_list(held, "runtimeArguments", where, _argument),
        arguments=_list(held, "packageArguments", where, _argument),
        variables=_named_inputs(held, "environmentVariables", where),
        transport=_text(transport, "type", f"{where}.transport", is_required=True),
        url=_text(transport, "url", f"{where}.transport"),
    )


def _remote(held: Any, where: str) -> Remote:
    held = _object(held, where)
    kind = _text(held, "type", where, is_required=True)
    if kind not in ("streamable-http", "sse"):
        raise DocumentError(f"{where}.type is {kind!r}, not streamable-http or sse")
    address = _text(held, "url", where, is_required=True)
    url = _with_parts(Input("url", value=address, is_required=True, variables=_variables(held, where)))
    headers = _named_inputs(held, "headers", where)
    return Remote("sse" if kind == "sse" else "http", url, headers)


def _argument(held: Any, where: str) -> Argument:
    held = _object(held, where)
    # Some published documents have no type, or an empty one.
    kind = _text(held, "type", where) or ("named" if "name" in held else "positional")
    if kind == "named":
        option = _text(held, "name", where, is_required=True)
        return Argument(_with_parts(_input(held, where, option.lstrip("-"))), option)
    if kind != "positional":
        raise DocumentError(f"{where}.type is {kind!r}, not positional or named")
    name = _text(held, "valueHint", where) or _text(held, "name", where)
    if not name and held.get("value") is None:
        raise DocumentError(f"{where} has neither value nor valueHint")
    return Argument(_with_parts(_input(held, where, name)), "")


def _named_inputs(held: dict[str, Any], member: str, where: str) -> tuple[Input, ...]:
    """The variables or headers, except those with an empty name, which some documents have instead of none."""
    found = _list(held, member, where, _named_input)
    # A value is unusable without the values of its placeholders.
    return tuple(_with_parts(one, is_required=True) for one in found if one.name)


def _named_input(held: Any, where: str) -> Input:
    held = _object(held, where)
    name = "" if held.get("name") == "" else _text(held, "name", where, is_required=True)
    return _input(held, where, name)


def _with_parts(one: Input, *, is_required: bool = False) -> Input:
    """The input, with a variable added for each placeholder that has none. Added variables are required if
    `is_required` is true or the input is required.
    """
    parts = {
        name: Input(
            name,
            description=one.description,
            default=one.default,
            is_required=is_required or one.is_required,
            is_secret=one.is_secret or looks_secret(name),
            choices=one.choices,
        )
        for name in re.findall(_PART, one.value or "")
    }
    return one._replace(variables={**parts, **one.variables})


def _input(held: dict[str, Any], where: str, name: str) -> Input:
    return Input(
        name,
        description=_text(held, "description", where),
        value=_text(held, "value", where) if held.get("value") is not None else None,
        default=_text(held, "default", where),
        placeholder=_text(held, "placeholder", where),
        is_required=held.get("isRequired") is True,
        is_secret=held.get("isSecret") is True,
        is_boolean=held.get("format") == "boolean",
        choices=_list(held, "choices", where, _choice),
        variables=_variables(held, where),
    )


def _variables(held: dict[str, Any], where: str) -> dict[str, Input]:
    where = f"{where}.variables"
    variables = _object(held.get("variables") or {}, where)
    return {
        name: _input(_object(one, f"{where}.{name}"), f"{where}.{name}", name)._replace(variables={})
        for name, one in variables.items()
    }


def _choice(held: Any, where: str) -> str:
    if not isinstance(held, str):
        raise DocumentError(f"{where} is not a string")
    return held


def _list(held: dict[str, Any], member: str, where: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
    where = f"{where}.{member}" if where else member
    # Registries write null for a missing list.
    values = held.get(member)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise DocumentError(f"{where} is not a list")
    return tuple(read(value, f"{where}[{number}]") for number, value in enumerate(values))


def _object(held: Any, where: str) -> dict[str, Any]:
    if not isinstance(held, dict):
        raise DocumentError(f"{where} is not an object")
    return held


def _text(held: dict[str, Any], member: str, where: str, *, is_required: bool = False) -> str:
    where = f"{where}.{member}" if where else member
    value = held.get(member)
    if value is None and not is_required:
        return ""
    if not isinstance(value, str) or (is_required and not value):
        raise DocumentError(f"{where} is missing" if value is None else f"{where} is not a string, or empty")
    return value
