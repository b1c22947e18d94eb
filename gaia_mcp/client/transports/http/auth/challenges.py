"""`WWW-Authenticate`: the challenges of a response, and the one that is about OAuth (RFC 9110, RFC 6750, RFC 9728)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

# Longer than any real one.
MAX_HEADER_CHARS = 8192
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf'(?P<name>{_NAME})[ \t]*=[ \t]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>{_NAME}))'
    rf"|(?P<scheme>{_NAME})(?:[ \t]+[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|$)))?"
)
# RFC 6749: no blank, no quotation mark, no backslash.
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_SCHEMES = ("bearer", "dpop")


class Challenge(NamedTuple):
    """The challenge of a response. `scheme` is in lower case, empty if there is no challenge about OAuth."""

    scheme: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})

    @property
    def error(self) -> str:
        """The error code."""
        return self.parameters.get("error", "")

    @property
    def resource_metadata(self) -> str:
        """The URL of the metadata of the resource, as the server sent it."""
        return self.parameters.get("resource_metadata", "")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the request needs."""
        return scopes_in(self.parameters.get("scope"))


def challenge_in(headers: Iterable[str]) -> Challenge:
    """The challenge about OAuth among the values of the header: one that names metadata, else the first."""
    found = [each for header in headers for each in challenges_in(header) if each.scheme in _SCHEMES]
    named = [each for each in found if each.resource_metadata]
    return next(iter([*named, *found]), Challenge())


def challenges_in(header: str) -> list[Challenge]:
    """All challenges in one header value. Malformed ones are skipped."""
    found: list[tuple[str, dict[str, str]]] = []
    for part in _PART.finditer(header[:MAX_HEADER_CHARS]):
        if part["scheme"] is not None:
            found.append((part["scheme"].lower(), {}))
        elif found:
            quoted = part["quoted"]
            value = part["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found[-1][1].setdefault(part["name"].lower(), value)
    return [Challenge(scheme, parameters) for scheme, parameters in found]


def scopes_in(value: object) -> tuple[str, ...]:
    """The valid scopes in a text, without repetitions."""
    words = value.split() if isinstance(value, str) else []
    return tuple(dict.fromkeys(word for word in words if _SCOPE.fullmatch(word)))
