"""Reads and changes `prototype.yaml` and its secrets file together.

Each is written atomically, in an order in which no secret is ever missing, nor in the main file.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.config.prototype.planning import members_of, planned
from gaia_mcp.config.prototype.reading import Listing, Server, default_handler, merged, read_listing, same_name, split
from gaia_mcp.errors import ConfigFileError, ServerExistsError
from gaia_mcp.jsontext import TextProblemError, place_in
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.yamltext.editing import Change, edited

MARK = codecs.BOM_UTF8


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
