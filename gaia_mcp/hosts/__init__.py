"""The files of other MCP hosts: where they are, their format, and how to change one server in them.

A text is read and changed here, as JSON with comments, TOML or YAML. A change keeps every other character: every new
text is read back, and differs from the old one only in that server. `known` lists the hosts, and `files` finds and
changes their files. `conversion` converts one entry in both directions, `dialects` its references.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gaia_mcp.text.strict_json import Repeated, TextProblemError


class Layout(NamedTuple):
    """Its format ("json", "toml" or "yaml"), the keys that lead to the servers, and whether the servers are a list."""

    format: str
    root: tuple[str, ...]
    listed: bool = False


def read_servers(text: str, layout: Layout) -> dict[str, Any]:
    """The entries in `text`, by name, in the host's format. Raises `TextProblemError` with line and column."""
    try:
        return servers_in(_parsed(text, layout.format), layout)
    except TextProblemError as problem:
        raise problem.placed(text) from problem.__cause__


def with_server(text: str, layout: Layout, name: str, entry: Mapping[str, Any]) -> str:
    """`text` with the entry `name` added or replaced; everything else is unchanged, to the last byte.

    Raises `TextProblemError` if that is not possible.
    """
    try:
        before = _parsed(text, layout.format)
        servers_in(before, layout)
        new = _spliced(text, layout, name, dict(entry))
        # A text may have a form that we cannot change correctly, so each result is read back.
        try:
            new.encode()
        except UnicodeEncodeError as cause:
            raise TextProblemError(f"{name!r} holds half a surrogate pair, which has no UTF-8") from cause
        try:
            done = _parsed(new, layout.format) == _expected(before, layout, name, dict(entry))
        except TextProblemError:
            done = False
        if not done:
            where = ".".join(layout.root)
            raise TextProblemError(f"{where!r} is written in a form in which {name!r} cannot be changed alone")
    except TextProblemError as problem:
        raise problem.placed(text) from problem.__cause__
    return new


def parsed(text: str, kind: str) -> Any:
    """The value of a text; that of an empty text is an empty object. Raises `TextProblemError` with line and column."""
    try:
        return _parsed(text, kind)
    except TextProblemError as problem:
        raise problem.placed(text) from problem.__cause__


def _parsed(text: str, kind: str) -> Any:
    if not text.strip():
        return {}
    if kind == "json":
        from gaia_mcp.text import jsonc

        return jsonc.parse(text)
    if kind == "toml":
        from gaia_mcp.text import toml

        return toml.parse(text)
    from gaia_mcp.text.yaml import parse

    return parse(text) or {}


def _spliced(text: str, layout: Layout, name: str, entry: dict[str, Any]) -> str:
    if layout.format == "json":
        from gaia_mcp.text import jsonc

        return jsonc.with_member(text, (*layout.root, name), entry)
    if layout.format == "toml":
        from gaia_mcp.text import toml

        return toml.with_table(text, (*layout.root, name), entry)
    if len(layout.root) > 1:
        from gaia_mcp.text.yaml import Change, edited

        names = list(servers_in(_parsed(text, layout.format), layout))
        place = names.index(name) if name in names else len(names)
        return edited(text, [Change((*layout.root, place if layout.listed else name), entry)])
    import gaia_mcp.text.yaml as yaml_text

    return yaml_text.with_item(text, layout.root[0], name, entry, listed=layout.listed)


def servers_in(document: Any, layout: Layout) -> dict[str, Any]:
    """The entries in the value of a text, by name. Raises `TextProblemError`."""
    held = document
    for depth, key in enumerate(layout.root):
        held = _object(held, layout.root[:depth]).get(key)
        if held is None:
            return {}
    if not layout.listed:
        return {str(name): entry for name, entry in _object(held, layout.root).items()}
    where = ".".join(layout.root)
    if not isinstance(held, list):
        raise TextProblemError(f"{where!r} is not a list")
    servers: dict[str, Any] = {}
    for number, item in enumerate(held, 1):
        name = item.get("name") if isinstance(item, dict) else None
        name = name if isinstance(name, str) and name else f"#{number}"
        if name in servers:
            raise TextProblemError(f"has two servers called {name!r}")
        servers[name] = item
    return servers


def _object(value: Any, trail: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TextProblemError(f"{'.'.join(trail)!r} is not an object" if trail else "does not contain an object")
    if isinstance(value, Repeated):
        raise TextProblemError(f"has the key {value.key!r} twice in one object")
    return value


def _expected(document: Any, layout: Layout, name: str, entry: dict[str, Any]) -> Any:
    """The expected value of the changed text."""
    if not layout.root:
        return {**document, name: entry}
    key, *rest = layout.root
    if layout.listed and not rest:
        held = document.get(key) or []
        names = [item.get("name") if isinstance(item, dict) else None for item in held]
        changed = [entry if found == name else item for found, item in zip(names, held, strict=True)]
        return {**document, key: changed if name in names else [*held, entry]}
    inner = layout._replace(root=tuple(rest))
    return {**document, key: _expected(document.get(key) or {}, inner, name, entry)}
