"""The HTTP headers that repeat parts of a message's body, for proxies that route it without reading the body.

A client builds them (`standard_headers`, `parameter_headers`). A server checks that they agree with the body
(`standard_problem`, `parameter_problem`), since a proxy may have decided by the headers. Stateless era only.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol import STATELESS_VERSIONS
from gaia_mcp.protocol.envelope import TASK_METHODS, VERSION_KEY, meta_of

if TYPE_CHECKING:
    from gaia_mcp.protocol.jsonrpc import Message

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
PARAMETER_PREFIX = "Mcp-Param-"
# Ours: identifies the gateway that sends a request to one of its servers.
GATEWAY_HEADER = "Gaia-Mcp-Gateway"
# Of the handshake era.
SESSION_HEADER = "Mcp-Session-Id"
LAST_EVENT_HEADER = "Last-Event-ID"

# The annotation of a property of a tool's input schema whose value is repeated in a header.
ANNOTATION = "x-mcp-header"
# The largest safe integer of JavaScript; the specification allows no larger ones in headers.
_MAX_INTEGER = 2**53 - 1
# The parameter that `Mcp-Name` repeats, by method.
_NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(TASK_METHODS, "taskId"),
}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
# Text that an HTTP header can carry unencoded: visible characters, with blanks between them.
_PLAIN = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")
_BROKEN = re.compile("[\\r\\n]")
# Control characters, and lone surrogates, which UTF-8 cannot encode.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# A field name of HTTP (RFC 9110, section 5.1).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_INTEGER = re.compile(r"(-?[0-9]{1,32})(?:\.0{1,32})?")
_PRIMITIVE_TYPES = {"string", "integer", "boolean"}
# Keywords whose value contains schemas: one, a list of them, or an object whose values are schemas.
_SCHEMAS = {
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items",
    "not", "oneOf", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_NAMED_SCHEMAS = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}


def repeats_in_headers(version: object) -> bool:
    """Whether messages of this revision repeat parts of their body in headers, and tools can be annotated so that their
    arguments are repeated. False for an unknown one.
    """
    return version in STATELESS_VERSIONS


class Parameter(NamedTuple):
    """An argument of a tool that a header repeats: the header's full name, and the keys that lead to the value."""

    header: str
    path: tuple[str, ...]


class AnnotationError(ValueError):
    """A tool's input schema has an invalid header annotation. A client must ignore the tool."""


# Values.


def encoded(text: str) -> str:
    """`text` as a header value: unchanged, or in Base64 where HTTP cannot carry it or it looks like Base64."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?") and _ENCODED.fullmatch(text)):
        return text
    # As in the body: a surrogate pair becomes one character, and a lone surrogate becomes U+FFFD.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return f"=?base64?{b64encode(whole.encode()).decode()}?="


def decoded(value: str) -> str:
    """The text that a header value encodes. Raises `ValueError` for invalid Base64."""
    if not _PLAIN.fullmatch(value):
        raise ValueError("holds characters that a header may not hold")
    if (match := _ENCODED.fullmatch(value)) is None:
        return value
    try:
        return b64decode(match[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as cause:
        raise ValueError("is not Base64 of UTF-8") from cause


def header_fault(value: str) -> str | None:
    """What HTTP does not allow in the header value `value`, as the end of a sentence; None if it is valid."""
    if _BROKEN.search(value):
        return "contains a line break"
    if _IMPOSSIBLE.search(value):
        return "contains characters that HTTP does not allow"
    blanks = {" ": "a space", "\t": "a tab"}
    if value[:1] in blanks:
        return f"begins with {blanks[value[0]]}"
    if value[-1:] in blanks:
        return f"ends with {blanks[value[-1]]}"
    return None


# For a client.


def standard_headers(message: Message) -> dict[str, str]:
    """The headers of a request or a notification: its revision, its method, and the name or URI in its parameters."""
    params = message.get("params") or {}
    headers = {METHOD_HEADER: encoded(message["method"])}
    if isinstance(version := meta_of(params).get(VERSION_KEY), str):
        headers[VERSION_HEADER] = encoded(version)
    if (name := _named_by(message)) is not None:
        headers[NAME_HEADER] = encoded(name)
    return headers


def parameter_headers(parameters: Iterable[Parameter], arguments: Any) -> dict[str, str]:
    """The headers that repeat arguments of a tool. A missing or null argument has none."""
    return {header: encoded(text) for header, _, text in _given(parameters, arguments)}


def annotated_parameters(schema: Any) -> tuple[Parameter, ...]:
    """The parameters that headers repeat, from a tool's input schema. Raises `AnnotationError`."""
    found: dict[str, Parameter] = {}
    # Each schema with the keys that lead to it; None if the path contains anything but properties.
    open_schemas: list[tuple[Any, tuple[str, ...] | None]] = [(schema, ())]
    while open_schemas:
        inner, path = open_schemas.pop()
        if isinstance(inner, list):
            open_schemas += ((each, None) for each in inner)
        if not isinstance(inner, dict):
            continue
        if ANNOTATION in inner:
            parameter = _annotated(inner, path)
            if found.setdefault(parameter.header.lower(), parameter) is not parameter:
                raise AnnotationError(f"{ANNOTATION} {inner[ANNOTATION]!r} is used twice")
        for key, value in inner.items():
            if key == "properties" and isinstance(value, dict):
                open_schemas += ((each, None if path is None else (*path, name)) for name, each in value.items())
            elif key in _NAMED_SCHEMAS and isinstance(value, dict):
                open_schemas += ((each, None) for each in value.values())
            elif key in _SCHEMAS:
                open_schemas.append((value, None))
    return tuple(found.values())


def _annotated(schema: dict[str, Any], path: tuple[str, ...] | None) -> Parameter:
    name = schema[ANNOTATION]
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        raise AnnotationError(f"{ANNOTATION} {name!r} is not the name of a header")
    if not path:
        raise AnnotationError(f"{ANNOTATION} {name!r} is not at a property that is always in the same place")
    kinds = schema.get("type")
    # A null argument has no header.
    named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    if not named or not all(isinstance(kind, str) and kind in _PRIMITIVE_TYPES for kind in named):
        raise AnnotationError(f"{ANNOTATION} {name!r} is at {path[-1]!r}, which is not a string, integer or boolean")
    return Parameter(PARAMETER_PREFIX + name, path)


# For a server.


def standard_problem(headers: Mapping[str, str], message: Message) -> str | None:
    """What is wrong with the headers of a request that has an envelope, None if nothing is.

    `headers` have their names in lower case.
    """
    params = message.get("params") or {}
    expected = {VERSION_HEADER: meta_of(params).get(VERSION_KEY), METHOD_HEADER: message["method"]}
    if (named := _named_by(message)) is not None:
        expected[NAME_HEADER] = named
    for name, wanted in expected.items():
        given = headers.get(name.lower())
        if given is None:
            return f"the header {name} is missing"
        # Most are the same, and need no decoding.
        if given == wanted and _PLAIN.fullmatch(given) and not given.startswith("=?"):
            continue
        if (problem := _difference(name, given, wanted)) is not None:
            return problem
    return None


def parameter_problem(headers: Mapping[str, str], parameters: Iterable[Parameter], arguments: Any) -> str | None:
    """As `standard_problem`, for the headers that repeat arguments of a tool."""
    parameters = tuple(parameters)
    values = {header: (value, text) for header, value, text in _given(parameters, arguments)}
    for parameter in parameters:
        given = headers.get(parameter.header.lower())
        if parameter.header not in values:
            # A value that no header can carry is left to the validation of the arguments.
            if given is not None and _value_at(parameter.path, arguments) is None:
                return f"the header {parameter.header} repeats an argument that is not given"
            continue
        value, text = values[parameter.header]
        if given is None:
            return f"the header {parameter.header} is missing"
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if is_number and (match := _INTEGER.fullmatch(given)) is not None and int(match[1]) == value:
            continue
        if (problem := _difference(parameter.header, given, text)) is not None:
            return problem
    return None


def _named_by(message: Message) -> str | None:
    member = _NAMED_BY.get(message["method"], "")
    name = (message.get("params") or {}).get(member)
    return name if isinstance(name, str) else None


def _difference(name: str, given: str, wanted: object) -> str | None:
    try:
        is_same = decoded(given) == wanted
    except ValueError as problem:
        return f"the header {name} {problem}"
    return None if is_same else f"the header {name} is {given!r}, and the body has {wanted!r}"


def _given(parameters: Iterable[Parameter], arguments: Any) -> Iterator[tuple[str, Any, str]]:
    """The header name, the value and its text, for each parameter whose value a header can carry."""
    for header, path in parameters:
        value = _value_at(path, arguments)
        if isinstance(value, bool):
            yield header, value, "true" if value else "false"
        elif isinstance(value, str):
            yield header, value, value
        elif isinstance(value, (int, float)) and abs(value) <= _MAX_INTEGER and value == int(value):
            yield header, int(value), str(int(value))


def _value_at(path: tuple[str, ...], arguments: Any) -> Any:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments
