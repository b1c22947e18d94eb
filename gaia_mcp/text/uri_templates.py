"""Matching URIs against URI templates: the values of a template's variables in a URI (RFC 6570, levels 1 to 3).

The RFC defines only expansion, and notes that matching works where literals delimit the variables. Here, a URI matches
if the template roughly expands to it: a variable matches at least one character, and as many as possible, the first
variable first. `{id}`, `{.x}` and `{/x}` match none of `/?#`, those of `{x,y}` no comma either; `{+path}` and `{#part}`
match any. The variables of `{?a,b}`, `{&a,b}` and `{;a,b}` may be in any order, and each may be missing.

Matching takes time in proportion to the length of the URI: no template backtracks.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

# The minimum that servers must support (RFC 9110, 4.1). A longer URI matches no template.
MAX_URI_CHARS = 8000

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*")
# By operator: the prefix of an expansion, the separator of its variables, and the characters that no variable matches.
_OPERATORS = {
    "": ("", ",", "/?#"),
    "+": ("", ",", ""),
    "#": ("#", ",", ""),
    ".": (".", ".", "/?#"),
    "/": ("/", "/", "/?#"),
}
_NAMED = {"?": "&", "&": "&", ";": ";"}


def has_scheme(uri: str) -> bool:
    """Whether a URI, or a template before its first variable, begins with a scheme (RFC 3986, 3.1): a relative
    reference, such as `notes/1`, names nothing to a client.
    """
    return _SCHEME.match(uri) is not None


def uri_problem(uri: str) -> str | None:
    """What is wrong with a URI for clients that check it, such as `has no scheme`; None if nothing is. Blanks in a path
    are common, and are accepted by clients.
    """
    if not has_scheme(uri):
        return "has no scheme, as notes://1 has"
    scheme, _, rest = uri.partition(":")
    host = re.split("[/?#]", rest[2:], maxsplit=1)[0] if rest.startswith("//") else None
    if host is not None and (re.search(r"[\s<>^|]", host) or ("[" in host) != ("]" in host)):
        return f"has an invalid host, {host!r}"
    # RFC 9110, 4.2.1: a recipient rejects a URI without a host. `file:///a` has none.
    if not host and scheme.lower() in ("http", "https", "ws", "wss"):
        return "has no host"
    return None


class TemplateError(ValueError):
    """Not a URI template of level 1 to 3. The message names the template and the reason."""


class _Literal(NamedTuple):
    text: str


class _Value(NamedTuple):
    """One variable, and the characters at which it ends at the latest."""

    name: str
    stops: frozenset[str]


class _Pairs(NamedTuple):
    """Variables with their names, as in `?a=1&b=2`, after `lead`."""

    names: tuple[str, ...]
    lead: str
    separator: str
    stops: frozenset[str]


_Part = _Literal | _Value | _Pairs


class Template:
    """A template. `variables` are its variables in order, `optional` those that may be missing in a URI.

    Raises `TemplateError`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts = _parts_of(text)
        self.optional = frozenset(name for part in self._parts if isinstance(part, _Pairs) for name in part.names)
        self.variables = tuple(name for part in self._parts for name in _names_of(part))
        if len(set(self.variables)) < len(self.variables):
            raise TemplateError(f"{text!r} has the same variable twice")

    @property
    def shape(self) -> tuple[object, ...]:
        """The template without its variable names: templates of the same shape match the same URIs."""
        return tuple(part._replace(name="") if isinstance(part, _Value) else part for part in self._parts)

    @property
    def specificity(self) -> tuple[int, int]:
        """Of two templates that match a URI, the greater one is the more specific: it has more fixed characters, or as
        many and fewer variables.
        """
        fixed = sum(len(part.text) for part in self._parts if isinstance(part, _Literal))
        return fixed, -len(self.variables)

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables that have a value in `uri`, decoded; None if it does not match."""
        if len(uri) > MAX_URI_CHARS:
            return None
        # Backwards: where each part and all after it may begin. Then forwards: each part matches as much as it can.
        begins = [[False] * len(uri) + [True]]
        for part in reversed(self._parts):
            begins.append(_before(part, uri, begins[-1]))
        begins.reverse()
        if not begins[0][0]:
            return None
        found: dict[str, str] = {}
        at = 0
        for part, following in zip(self._parts, begins[1:], strict=True):
            end = _end_of(part, uri, at, following)
            if isinstance(part, _Value):
                found[part.name] = unquote(uri[at:end])
            elif isinstance(part, _Pairs):
                pairs = _read_pairs(part, uri[at:end])
                if pairs is None:
                    return None
                found.update(pairs)
            at = end
        return found


def _parts_of(text: str) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    for expression in _EXPRESSION.finditer(text):
        _add_literal(parts, text[at : expression.start()])
        _add_expression(parts, expression[1], text)
        at = expression.end()
    _add_literal(parts, text[at:])
    if any("{" in part.text or "}" in part.text for part in parts if isinstance(part, _Literal)):
        raise TemplateError(f"{text!r} has a brace without its partner")
    return parts


def _add_literal(parts: list[_Part], text: str) -> None:
    if not text:
        return
    if parts and isinstance(before := parts[-1], _Literal):
        parts[-1] = _Literal(before.text + text)
    else:
        parts.append(_Literal(text))


def _add_expression(parts: list[_Part], inner: str, text: str) -> None:
    operator = inner[:1] if inner[:1] in ("+", "#", ".", "/", ";", "?", "&") else ""
    names = inner[len(operator) :].split(",")
    for name in names:
        if _VARIABLE.fullmatch(name) is None:
            level = " (prefixes and lists, of level 4, cannot be matched)" if name[-1:] == "*" or ":" in name else ""
            raise TemplateError(f"{text!r} has an invalid variable {name!r}{level}")
    if operator in _NAMED:
        separator = _NAMED[operator]
        stops = frozenset("#" if separator == "&" else "/?#")
        if operator == "&" and parts and isinstance(before := parts[-1], _Pairs) and before.separator == "&":
            parts[-1] = before._replace(names=(*before.names, *names))
        else:
            parts.append(_Pairs(tuple(names), operator, separator, stops))
        return
    lead, separator, forbidden = _OPERATORS[operator]
    stops = frozenset(forbidden + ("," if separator == "," and len(names) > 1 else ""))
    for number, name in enumerate(names):
        _add_literal(parts, lead if number == 0 else separator)
        parts.append(_Value(name, stops))


def _names_of(part: _Part) -> tuple[str, ...]:
    if isinstance(part, _Value):
        return (part.name,)
    return part.names if isinstance(part, _Pairs) else ()


def _before(part: _Part, uri: str, following: list[bool]) -> list[bool]:
    """For each place of `uri`, whether `part` may begin there, if what follows may begin where `following` is true."""
    if isinstance(part, _Literal):
        length = len(part.text)
        return [
            at + length <= len(uri) and following[at + length] and uri.startswith(part.text, at)
            for at in range(len(uri) + 1)
        ]
    found = [False] * (len(uri) + 1)
    # Whether what follows can be reached from the place after this one, over characters that the part takes.
    reaches = following[-1]
    for at in range(len(uri) - 1, -1, -1):
        takes = uri[at] not in part.stops
        if isinstance(part, _Value):
            found[at] = takes and reaches
        else:
            found[at] = uri[at] == part.lead and reaches
        reaches = following[at] or (takes and reaches)
    # Pairs may be missing.
    return found if isinstance(part, _Value) else [each or after for each, after in zip(found, following, strict=True)]


def _end_of(part: _Part, uri: str, at: int, following: list[bool]) -> int:
    """Where `part`, which begins at `at`, ends at the latest, so that what follows may begin there."""
    if isinstance(part, _Literal):
        return at + len(part.text)
    limit = at
    if isinstance(part, _Value) or uri.startswith(part.lead, at):
        limit = at + 1
        while limit < len(uri) and uri[limit] not in part.stops:
            limit += 1
    return next(end for end in range(limit, at - 1, -1) if following[end])


def _read_pairs(part: _Pairs, text: str) -> dict[str, str] | None:
    """The values of the pairs, None for one that the template does not have, or that is there twice."""
    found: dict[str, str] = {}
    for pair in text[1:].split(part.separator) if text else ():
        name, _, value = pair.partition("=")
        if name not in part.names or name in found:
            return None
        found[name] = unquote(value)
    return found
