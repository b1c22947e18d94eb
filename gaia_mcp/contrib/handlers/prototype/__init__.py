"""`prototype.yaml`, az prototype's file with the handlers of a project, and its secrets file in the same folder.

The main file lists servers under `mcp.servers`; `prototype.secrets.yaml` has the same format and overrides it: servers
are merged by name, member by member. `listing` converts both to our entries, and decides which values belong in the
secrets file. Both are read and changed here together: the changes of both texts are planned for changed entries, as few
values as possible, and each file is written atomically, in an order in which no secret is ever missing, nor in the main
file.

A server without a command, a URL, a handler or an agent is a handler: the file `NAME_handler.py` in `.prototype/mcp`
beside the main file. `enabled: false` is our `disabled`.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from gaia_mcp.contrib.handlers.prototype.listing import (
    REFERENCE,
    SERVERS,
    TARGETS,
    Item,
    Listing,
    Server,
    default_handler,
    is_secret,
    merged,
    overlaid,
    project_config,
    read_listing,
    same_name,
    split,
)
from gaia_mcp.core.errors import ConfigFileError, ServerExistsError
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.text.strict_json import TextProblemError, place_in
from gaia_mcp.text.yaml import REMOVED, Change, edited

MARK = codecs.BOM_UTF8
# The names of the members that lead to a value.
Keys: TypeAlias = tuple[str, ...]


class _Text(NamedTuple):
    """A file that was read: its bytes, its text without the byte order mark, and its servers."""

    data: bytes
    text: str
    listing: Listing


class PrototypeFiles:
    """The servers of the file `path`, overridden by those of its secrets file.

    Every method raises `ConfigFileError` for a file that cannot be read or is invalid, with line and column.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.secrets_path = path.with_suffix(f".secrets{path.suffix}")

    def servers(self) -> dict[str, Any]:
        """The entries by name, in our format, those of the main file first; empty without the file."""
        found = self._read(_load(self.path), _load(self.secrets_path))
        return {name: server.raw for name, server in found.items()}

    def project_config(self) -> dict[str, Any]:
        """The configuration of the whole project, its secrets included; a handler gets a copy."""
        try:
            return project_config(_load(self.path).text, _load(self.secrets_path).text)
        except ValueError as problem:
            raise ConfigFileError(self.path, str(problem)) from problem

    def exposed(self) -> Path | None:
        """The file with secrets that users other than its owner may access, if there is one: the secrets file, or else
        the main file. Without a valid main file it is not known whether that contains any.
        """
        if _access_of_others(self.secrets_path):
            return self.secrets_path
        if not _access_of_others(self.path):
            return None
        try:
            items = _load(self.path).listing.items.values()
        except (ConfigFileError, OSError):
            return None
        return self.path if any(split(item.members)[1] for item in items) else None

    def item(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        """An entry as an item of the list in the main file, its secrets included."""
        listing = _load(self.path).listing
        members = members_of(name, self._with_relative_path(raw), {}, listing.folder, self._handler_files(listing))
        return {"name": name, **members}

    def default_handler(self, name: str) -> str:
        """The path of the handler of that name, relative to the folder of the main file."""
        listing = _load(self.path).listing
        return default_handler(name, listing.folder, self._handler_files(listing))

    def same_name(self, name: str, names: Iterable[str]) -> str | None:
        """The one of `names` that az prototype does not distinguish from this name; None if there is none."""
        return same_name(name, names)

    def split(self, members: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The members for the main file, and those for the secrets file."""
        return split(members)

    def update(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Write the entries that `change` returns or modifies. Only the lines of changed values differ.

        Raises `ServerExistsError` for a new name that az prototype would not distinguish from another server's, and as
        `change` does. If the files cannot be changed without loss, neither is written.
        """
        with contextlib.ExitStack() as stack:
            # A lock is held on a folder, and cannot be acquired twice.
            for folder in sorted({os.path.realpath(path) for path in self._folders()}):
                stack.enter_context(locked(Path(folder) / self.path.name))
            main, overlay = _load(self.path), _load(self.secrets_path)
            before = self._read(main, overlay)
            after = deepcopy({name: server.raw for name, server in before.items()})
            change(after)
            for name, raw in after.items():
                if name not in before or raw != before[name].raw:
                    after[name] = self._with_relative_path(raw)
            _check_names(before, after, self.path)
            plan = planned(before, after, main.listing, overlay.listing, self._handler_files(main.listing))
            new_main = _edited(self.path, main, plan.main)
            new_overlay = _edited(self.secrets_path, overlay, plan.overlay)
            last_overlay = _edited(self.secrets_path, new_overlay, plan.overlay_afterwards)
            result = {name: server.raw for name, server in self._read(new_main, last_overlay).items()}
            if _comparable(result) != _comparable(after):
                raise ConfigFileError(self.path, "cannot be changed in this way without losing something else in it")
            _write(self.secrets_path, overlay, new_overlay, private=True)
            try:
                _write(self.path, main, new_main, private=False)
            except ConfigFileError:
                # What was added belongs to nothing.
                with contextlib.suppress(ConfigFileError):
                    _write(self.secrets_path, new_overlay, overlay, private=True)
                raise
            _write(self.secrets_path, new_overlay, last_overlay, private=True)

    def _with_relative_path(self, raw: Any) -> dict[str, Any]:
        """The entry, with the path of a handler in the project made relative: other users' projects are elsewhere."""
        entry = dict(raw)
        for key in ("handler", "agent"):
            if isinstance(held := entry.get(key), str):
                entry[key] = held.removeprefix(f"{self.path.parent.absolute()}{os.sep}")
        return entry

    def _folders(self) -> Iterator[Path]:
        for path in (self.path, self.secrets_path):
            yield Path(os.path.realpath(path)).parent

    def _read(self, main: _Text, overlay: _Text) -> dict[str, Server]:
        return merged(main.listing, overlay.listing, self._handler_files(main.listing))

    def _handler_files(self, listing: Listing) -> Sequence[str]:
        try:
            return os.listdir(self.path.parent / listing.folder)  # noqa: PTH208 (the names alone)
        except (OSError, ValueError):
            return ()  # The entry of a missing handler contains its expected path.


def _access_of_others(path: Path) -> int:
    """The permission bits of group and others; 0 without the file."""
    try:
        return path.stat().st_mode & 0o077
    except OSError:
        return 0


def _load(path: Path) -> _Text:
    data = read_bytes(path) or b""
    return _as_text(path, data)


def _as_text(path: Path, data: bytes) -> _Text:
    bare = data.removeprefix(MARK)
    try:
        text = bare.decode()
    except UnicodeDecodeError as cause:
        line, column = place_in(data.decode("latin-1"), cause.start)
        raise ConfigFileError(path, "not UTF-8", line=line, column=column, hint="save it as UTF-8") from cause
    try:
        return _Text(data, text, read_listing(text))
    except TextProblemError as problem:
        raise ConfigFileError(path, problem.problem, line=problem.line, column=problem.column) from problem


def _edited(path: Path, old: _Text, changes: Sequence[Change]) -> _Text:
    if not changes:
        return old
    try:
        text = edited(old.text, changes)
    except TextProblemError as problem:
        raise ConfigFileError(path, problem.problem, line=problem.line, column=problem.column) from problem
    mark = MARK if old.data.startswith(MARK) else b""
    return _as_text(path, mark + text.encode())


def _write(path: Path, old: _Text, new: _Text, *, private: bool) -> None:
    if new.data == old.data:
        return
    before = snapshot_of(path)
    if before.data != old.data:
        hint = "nothing was written; do it again"
        raise ConfigFileError(path, "has been changed by another program meanwhile", hint=hint)
    write_bytes(path, before, new.data, before.mode & 0o700 if private else before.mode)


def _check_names(before: Collection[str], after: Collection[str], path: Path) -> None:
    for name in after:
        others = [each for each in after if each != name]
        if name not in before and same_name(name, others) is not None:
            taken = ServerExistsError(name, path)
            taken.hint = "'-' and '_' are the same in the names of handlers; choose another name"
            raise taken


def _comparable(servers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in raw.items() if (key, value) != ("disabled", False)}
        for name, raw in servers.items()
    }


@dataclass
class Plan:
    """The changes of the main text and of the overlay. Those of the overlay are applied before the main text is
    written, except removals, which follow it, so that no secret is missing in between.
    """

    main: list[Change] = field(default_factory=list)
    overlay: list[Change] = field(default_factory=list)
    overlay_afterwards: list[Change] = field(default_factory=list)


def planned(
    before: Mapping[str, Server], after: Mapping[str, Any], main: Listing, overlay: Listing, files: Sequence[str]
) -> Plan:
    """The plan for changing the entries `before` to `after`. `files` are the files in the folder of handlers."""
    plan, new_main, new_overlay = Plan(), [], []
    old_names = _old_names(list(before), list(after))
    for name, raw in after.items():
        server = before.get(old_names.get(name, name))
        if server is None:
            seen, hidden = split(members_of(name, raw, {}, main.folder, files))
            new_main.append({"name": name, **seen})
        elif server.raw == raw and name in before:
            continue
        else:
            if name not in before:
                _rename(plan, server, name)
            old = overlaid(*(item.members if item is not None else {} for item in (server.main, server.overlay)))
            hidden = _change(plan, server, old, members_of(name, raw, old, main.folder, files))
        if hidden:
            new_overlay.append({"name": name, **hidden})
    plan.main += _additions(main, new_main)
    plan.overlay += _additions(overlay, new_overlay)
    gone = [server for name, server in before.items() if name not in after and name not in old_names.values()]
    plan.main += _removals(server.main for server in gone)
    plan.overlay_afterwards += _removals(server.overlay for server in gone)
    return plan


def _old_names(before: list[str], after: list[str]) -> dict[str, str]:
    """The former name of a renamed server, by its new one. It keeps its position."""
    if len(before) != len(after):
        return {}
    pairs = zip(before, after, strict=True)
    return {new: old for old, new in pairs if old not in after and new not in before}


def members_of(
    name: str, raw: Mapping[str, Any], old: Mapping[str, Any], folder: str, files: Sequence[str]
) -> dict[str, Any]:
    """An entry of ours as az prototype's members; `old` are the server's previous members."""
    members = {key: value for key, value in raw.items() if key != "name"}
    targets = [key for key in TARGETS if key in members]
    if targets == ["handler"] and members["handler"] == default_handler(name, folder, files) and "handler" not in old:
        del members["handler"]
    is_disabled = bool(members.get("disabled"))
    if "disabled" not in old:
        members.pop("disabled", None)
        if is_disabled or "enabled" in old:
            members["enabled"] = not is_disabled
    return members


def _rename(plan: Plan, server: Server, name: str) -> None:
    for item, changes in ((server.main, plan.main), (server.overlay, plan.overlay)):
        if item is not None:
            changes.append(Change((*SERVERS, item.number, "name"), name))


def _change(plan: Plan, server: Server, old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Plan the changes of a server's members from `old` to `new`. Returns the secrets for which the overlay has no item
    yet.
    """
    hidden: dict[str, Any] = {}
    main, overlay = server.main, server.overlay
    for path, value in _differences(old, new):
        in_main, in_overlay = _has(main, path), _has(overlay, path)
        is_removed = value is REMOVED
        if is_removed and in_overlay and overlay is not None:
            plan.overlay_afterwards.append(Change((*SERVERS, overlay.number, *path), value))
        goes_over = not is_removed and (in_overlay or main is None or is_secret(path, value))
        if goes_over and overlay is not None:
            plan.overlay.append(Change((*SERVERS, overlay.number, *path), value))
        elif goes_over:
            _put(hidden, path, value)
        if main is not None and ((in_main and (is_removed or goes_over)) or not (is_removed or goes_over)):
            plan.main.append(Change((*SERVERS, main.number, *path), REMOVED if goes_over else value))
    return hidden


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Each value that differs, with its path; for a new mapping, each value in it."""
    for key in old:
        if key not in new:
            yield (*path, key), REMOVED
    for key, value in new.items():
        held = old.get(key)
        here = (*path, key)
        if (
            isinstance(value, Mapping)
            and value
            and REFERENCE not in value
            and (key not in old or isinstance(held, dict))
        ):
            yield from _differences(held or {}, value, here)
        elif key not in old or held != value or type(held) is not type(value):
            if isinstance(held, dict) and value == {}:
                yield from _differences(held, {}, here)
            else:
                yield here, value


def _has(item: Item | None, path: Keys) -> bool:
    held: Any = item.members if item is not None else None
    for step in path:
        if not isinstance(held, dict) or step not in held:
            return False
        held = held[step]
    return True


def _put(members: dict[str, Any], path: Keys, value: Any) -> None:
    for step in path[:-1]:
        members = members.setdefault(step, {})
    members[path[-1]] = value


def _additions(listing: Listing, items: list[dict[str, Any]]) -> list[Change]:
    if items and not listing.takes_items:
        return [Change(SERVERS, items)]
    return [Change((*SERVERS, listing.count + number), item) for number, item in enumerate(items)]


def _removals(items: Iterable[Item | None]) -> list[Change]:
    """In reverse order, so that the positions of the others stay valid."""
    numbers = [item.number for item in items if item is not None]
    return [Change((*SERVERS, number), REMOVED) for number in sorted(numbers, reverse=True)]
