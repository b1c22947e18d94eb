"""The secrets passed to a server, which its output must not reveal: each secret, and each part that is itself one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.redaction import finding, looks
from gaia_mcp.redaction.finding import places_in
from gaia_mcp.redaction.looks import looks_secret

if TYPE_CHECKING:
    from gaia_mcp.redaction.finding import Place

_SCHEME = r"(?i)(?:bearer|basic|token)\s+(?=\S)"
_PAIR = r"(?<![\w.-])([\w.-]++)=([^;&\s]++)"
# A secret in a secret in a secret: an encoded password in a URL in a document.
MAX_DEPTH = 4


def secrets_in(variables: Mapping[str, str], arguments: Sequence[str]) -> list[str]:
    """The secrets in a server's own variables and in its arguments, each also without the text around it."""
    found: list[str] = []
    for name, value in variables.items():
        found += secrets_at(value, finding.in_value(name, value))
        found += _in_document(value)
    for argument, places in zip(arguments, places_in(arguments), strict=True):
        found += secrets_at(argument, places)
    return list(dict.fromkeys(found))


def secrets_at(text: str, places: Sequence[Place]) -> list[str]:
    """The secrets in these places of `text`, and the parts of each."""
    found = [part for begin, end in places for part in _parts(text[begin:end], MAX_DEPTH)]
    return [*found, *credentials_in(text)] if "://" in text else found


def credentials_in(text: str) -> list[str]:
    """The credentials in the URLs of `text`, and each password separately, also percent-decoded."""
    found = [text[begin:end] for begin, end in finding.credentials(text)]
    passwords = [password for each in found if (password := each.partition(":")[2])]
    if any("%" in password for password in passwords):
        passwords += [_decoded(password) for password in passwords]
    return [*found, *passwords]


def _in_document(value: str) -> Iterator[str]:
    """The secrets in the members of a value that is a JSON object, by their own names."""
    if not value.lstrip().startswith("{"):
        return
    try:
        members = list(_named_texts("", json.loads(value)))
    except (ValueError, RecursionError):
        return
    for name, text in members:
        yield from secrets_at(text, finding.in_value(name, text))


def _named_texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Each text and number in a JSON value, with the name of its member, or of an outer member that names a secret."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _named_texts(name if looks_secret(name) and not looks_secret(key) else key, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named_texts(name, inner)
    elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield name, str(value)


def _parts(secret: str, depth: int) -> Iterator[str]:
    """The secret, and each part of it that is itself one."""
    yield secret
    if not depth:
        return
    parts = [secret.strip(), *_members(secret)]
    parts += [secret[begin:end] for begin, end in finding.in_text(secret)]
    parts += [pair[2] for pair in re.finditer(_PAIR, secret) if finding.in_value(pair[1], pair[2])]
    if scheme := re.match(_SCHEME, secret):
        parts += secret[scheme.end() :].split()
    if basic := finding.decoded(secret):
        parts.append(basic.partition(":")[2])
    if ";" in secret or "&" in secret:
        parts.append(re.split("[;&]", secret, maxsplit=1)[0])
    if "://" in secret:
        parts += credentials_in(secret)
    if "%" in secret:
        parts.append(_decoded(secret))
    for part in dict.fromkeys(parts):
        if part and part != secret:
            yield from _parts(part, depth - 1)


def _members(secret: str) -> list[str]:
    """The secret texts in a secret that is JSON, or the unescaped text of a secret that is part of JSON."""
    if secret[:1] in ("{", "["):
        with_braces = secret
    elif "\\" in secret:
        with_braces = f'["{secret}"]'
    else:
        return []
    try:
        value = json.loads(with_braces)
    except (ValueError, RecursionError):
        return []
    return [text for text in _texts(value) if not looks.is_ordinary(text)]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _decoded(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)
