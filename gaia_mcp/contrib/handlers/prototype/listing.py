"""Reads the servers of both texts, merged by name, as our entries, and decides which values of an entry are secrets and
belong in the secrets file.

Pure. An invalid text raises `TextProblemError` with a position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from gaia_mcp.core.names import HANDLER_SUFFIX, handler_key, handler_name
from gaia_mcp.text.redaction import in_text, in_value, looks_secret, masked_arguments, masked_url
from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.text.yaml import offset_of, parse, plain

SERVERS = ("mcp", "servers")
HANDLER_FOLDER = ".prototype/mcp/"
# The members that define a connection. Without one, a server is a handler, which is found by its name.
TARGETS = ("command", "url", "handler", "agent")
# Path separators of all systems.
SEPARATORS = frozenset("/\\")
# Booleans in YAML 1.1, which az prototype reads, and strings in YAML 1.2.
_WORDS = {"yes": True, "on": True, "y": True, "no": False, "off": False, "n": False}
# A reference is not itself a secret.
REFERENCE = "$keyring"


class Item(NamedTuple):
    """A server in one of the texts: its index in the list, and its members."""

    number: int
    members: dict[str, Any]


@dataclass(frozen=True)
class Listing:
    """The servers of one text, by name. `takes_items` is false for a value that is not a list yet, such as the empty
    text that az prototype writes. `folder` is where the files of handlers are.
    """

    items: dict[str, Item] = field(default_factory=dict)
    count: int = 0
    takes_items: bool = True
    folder: str = HANDLER_FOLDER


class Server(NamedTuple):
    """A server of both texts: as our entry, and its item in each text, if any."""

    raw: dict[str, Any]
    main: Item | None
    overlay: Item | None


def read_listing(text: str) -> Listing:
    """The servers of one text. Raises `TextProblemError`."""

    def problem(what: str, *path: str | int) -> TextProblemError:
        return TextProblemError(what, at=offset_of(text, path)).placed(text)

    try:
        document = plain(parse(text))
    except TextProblemError as wrong:
        raise wrong.placed(text) from wrong.__cause__
    if document is None:
        return Listing()
    if not isinstance(document, dict):
        raise problem("does not hold a mapping")
    settings = document.get(SERVERS[0])
    if settings is not None and not isinstance(settings, dict):
        raise problem("'mcp' is not a mapping", *SERVERS[:1])
    held, folder = (settings or {}).get(SERVERS[1]), (settings or {}).get("custom_dir")
    if folder is not None and not isinstance(folder, str):
        raise problem("'mcp.custom_dir' is not text", SERVERS[0], "custom_dir")
    if held is not None and held != "" and not isinstance(held, list):
        raise problem("'mcp.servers' is not a list, such as '- name: …'", *SERVERS)
    items: dict[str, Item] = {}
    for number, item in enumerate(held or []):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            raise problem(f"server {number + 1} of 'mcp.servers' has no name that is text", *SERVERS, number)
        if (same := same_name(name, items)) is not None:
            other = f" ('-' and '_' are the same in names, as in {same!r})" if same != name else ""
            raise problem(f"has two servers called {name!r}{other}", *SERVERS, number)
        try:
            members = {key: _as_json(value, key) for key, value in item.items() if key != "name"}
            if "enabled" in members:
                members["enabled"] = _as_boolean(members["enabled"])
        except ValueError as wrong:
            raise problem(f"server {name!r}: {wrong}", *SERVERS, number) from wrong
        items[name] = Item(number, members)
    return Listing(items, len(held or []), isinstance(held, list | None), folder or HANDLER_FOLDER)


def project_config(main: str, overlay: str) -> dict[str, Any]:
    """The configuration of a project: both texts, of which the second overrides the first, and the servers merged by
    name. Raises `TextProblemError`, and `ValueError` for a value that JSON does not have.
    """
    servers = [
        {"name": name, **overlaid(*(item.members if item else {} for item in (server.main, server.overlay)))}
        for name, server in merged(read_listing(main), read_listing(overlay)).items()
    ]
    documents = [_as_json(plain(parse(text)) or {}, "the file") for text in (main, overlay)]
    config = overlaid(*documents)
    if servers:
        config[SERVERS[0]] = {**config[SERVERS[0]], SERVERS[1]: servers}
    return config


def merged(main: Listing, overlay: Listing, files: Sequence[str] = ()) -> dict[str, Server]:
    """The servers of the main text, then those only in the `overlay`. `files` are the names in the folder of
    handlers.
    """
    overlays = dict(overlay.items)
    found: dict[str, Server] = {}
    for name, item in main.items.items():
        over = overlays.pop(same_name(name, overlays) or "", None)
        members = item.members if over is None else overlaid(item.members, over.members)
        found[name] = Server(as_entry(name, members, main.folder, files), item, over)
    for name, item in overlays.items():
        found[name] = Server(as_entry(name, item.members, main.folder, files), None, item)
    return found


def as_entry(name: str, members: Mapping[str, Any], folder: str, files: Sequence[str] = ()) -> dict[str, Any]:
    """The members of a server as our entry; the path of a handler is relative to the file."""
    entry = {key: value for key, value in members.items() if key != "enabled"}
    if members.get("enabled") is False:
        entry["disabled"] = True
    # A name with a path separator would lead to another folder.
    if not any(key in entry for key in TARGETS) and SEPARATORS.isdisjoint(name):
        entry = {"handler": default_handler(name, folder, files), **entry}
    return entry


def default_handler(name: str, folder: str, files: Sequence[str] = ()) -> str:
    """The path of the handler of that name, which may not exist."""
    stem = handler_key(name)
    fits = [file for file in sorted(files) if file.endswith(".py") and handler_key(handler_of(file)) == stem]
    exact = [file for file in fits if handler_of(file) == name]
    return f"{folder.rstrip('/')}/{[*exact, *fits, f'{stem}{HANDLER_SUFFIX}.py'][0]}"


def handler_of(file: str) -> str:
    """The name of the handler in a file; empty for a file that is ignored."""
    return "" if file.startswith("_") else handler_name(file.removesuffix(".py"))


def same_name(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that az prototype does not distinguish from this name; None if there is none."""
    return next((each for each in names if handler_key(each) == handler_key(name)), None)


def overlaid(main: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """The members of one server, overridden by those of the other text. A null overrides nothing."""
    result = dict(main)
    for key, value in over.items():
        held = main.get(key)
        if isinstance(value, dict) and isinstance(held, dict):
            result[key] = overlaid(held, value)
        elif value is not None or key not in main:
            result[key] = value
    return result


def _as_boolean(value: Any) -> bool:
    known = _WORDS.get(value.lower(), value) if isinstance(value, str) else value
    if not isinstance(known, bool):
        raise ValueError("'enabled' must be true or false")
    return known


def _as_json(value: Any, where: str) -> Any:
    """A YAML value as JSON: dates, and keys that are numbers, become strings."""
    if isinstance(value, dict):
        return {str(key): _as_json(held, f"{where}.{key}") for key, held in value.items()}
    if isinstance(value, list):
        return [_as_json(held, where) for held in value]
    if isinstance(value, date):
        return value.isoformat()
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    if value is None or isinstance(value, str) or is_number:
        return value
    raise ValueError(f"JSON has no form for the value of {where!r}")


def is_secret(path: tuple[str, ...], value: Any) -> bool:
    """Whether a member that is not a mapping holds a secret, judging by its name or its value."""
    if path == ("args",):
        words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
        return masked_arguments(words) != words
    if path == ("command",) and isinstance(value, str):
        return masked_arguments(value.split(" ")) != value.split(" ")
    if path == ("url",) and isinstance(value, str):
        return masked_url(value) != value
    return _holds_secret(path[-1], value)


def _holds_secret(name: str, value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_holds_secret(key, held) for key, held in value.items())
    if isinstance(value, list):
        return any(_holds_secret(name, held) for held in value)
    if name == REFERENCE or value is None or isinstance(value, bool):
        return False
    text = str(value)
    return bool(in_value(name, text)) and (looks_secret(name) or bool(in_text(text)))


def split(members: Mapping[str, Any], path: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members that are not secret, and those that are, each at its path."""
    seen: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    for key, value in members.items():
        here = (*path, key)
        if isinstance(value, Mapping) and value and REFERENCE not in value:
            inner, secret = split(value, here)
            if inner or not secret:
                seen[key] = inner
            if secret:
                hidden[key] = secret
        elif is_secret(here, value):
            hidden[key] = value
        else:
            seen[key] = value
    return seen, hidden
