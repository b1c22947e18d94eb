"""The configured servers: those of one file, overridden by those of an approved project's file.

The commands and the library's `MCPConfig` read and write through this store. Unknown keys and entries, and their order,
survive every change.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gaia_mcp.config.entries import SERVER_KEYS, ServerEntry, read_entry, servers_in
from gaia_mcp.config.trust import ProjectFile, find_project_file
from gaia_mcp.core.errors import ConfigFileError, EntryError, ServerExistsError, ServerUnknownError
from gaia_mcp.core.names import did_you_mean, is_server_name
from gaia_mcp.core.paths import JSON_SUFFIXES, config_folder, home_expanded, is_there, servers_file
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of
from gaia_mcp.storage.json_files import parse_object, read_object, write_object

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping


class ServersFile(Protocol):
    """A file of servers in a system's own format, whose secrets may be in a file beside it. It is created with its
    path. Every method raises `ConfigFileError` for a file that cannot be read or is invalid.
    """

    path: Path
    secrets_path: Path

    def servers(self) -> dict[str, Any]:
        """The entries by name, in our format; empty without the file."""

    def update(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Write the entries that `change` modifies."""

    def exposed(self) -> Path | None:
        """The file with secrets that users other than its owner may access, if there is one."""

    def item(self, name: str, raw: dict[str, Any]) -> dict[str, Any]:
        """An entry as it is written in the file, its secrets included."""

    def default_handler(self, name: str) -> str:
        """The path of the handler of that name, relative to the folder of the file."""

    def same_name(self, name: str, names: Iterable[str]) -> str | None:
        """The one of `names` that is not distinguished from this name; None if there is none."""

    def split(self, members: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The members for the file itself, and those for the file with its secrets."""


class ConfigStore:
    """The servers of `path`, overridden by those of `project` if it is approved.

    With `is_alone`, the user named `path`, and the servers in it may use no other file. With `reads_once`, it is read
    once, so that a named one may be a pipe, and again after a change by this store.
    """

    def __init__(
        self,
        path: Path,
        project: ProjectFile | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        reads_once: bool = False,
        is_alone: bool = False,
    ) -> None:
        self.path = path
        self.project = project
        self._environ = environ
        self._reads_once = reads_once
        self._is_alone = is_alone
        self._held: dict[str, Any] | None = None

    @classmethod
    def locate(
        cls,
        path: Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        reads_once: bool = False,
    ) -> ConfigStore:
        """The store of `path` alone, or the user's own with the project of the working folder. `reads_once` as above.

        Raises `ConfigFileError` for a home folder that is not known, or approvals that cannot be read.
        """
        if path is not None:
            return cls(home_expanded(path), environ=environ, reads_once=reads_once, is_alone=True)
        user = servers_file(environ)
        try:
            cwd = cwd or Path.cwd()
        except OSError:
            return cls(
                user, environ=environ, reads_once=reads_once
            )  # The working folder has been removed, and every project with it.
        if os.path.realpath(cwd) == os.path.realpath(user.parent):
            return cls(user, environ=environ, reads_once=reads_once)
        return cls(user, find_project_file(cwd, environ), environ=environ, reads_once=reads_once)

    def unread(self) -> ConfigStore:
        """The store of the same file without its servers: for commands that need none of an unreadable file."""
        store = ConfigStore(self.path, environ=self._environ, is_alone=self._is_alone)
        store._held = {}
        return store

    def servers(self) -> dict[str, Any]:
        """The entries as written in the files, by name: the user's in order, then those that only the project has.

        Raises `ConfigFileError`.
        """
        return {name: raw for name, (raw, _) in self._raw_entries().items()}

    def names(self) -> list[str]:
        """The names of the servers. Raises `ConfigFileError`."""
        return list(self.servers())

    def entry(self, name: str) -> ServerEntry:
        """The entry of that name.

        Raises `ServerUnknownError` with a suggestion, `EntryError` if it is invalid, `ConfigFileError`.
        """
        entry = self.find(name)
        if entry is None:
            raise self.unknown(name)
        return entry

    def find(self, name: str) -> ServerEntry | None:
        """The entry of that name, None without one. Raises `EntryError` if it is invalid, `ConfigFileError`."""
        found = self._raw_entries()
        return self.read(name, *found[name]) if name in found else None

    def read(self, name: str, raw: Any, source: Path | None = None) -> ServerEntry:
        """The entry in `raw` as one of the file `source`, by default of the one that is written to.

        Raises `EntryError` if it is invalid.
        """
        return self.in_use(read_entry(name, raw, source or self.path))

    def in_use(self, entry: ServerEntry) -> ServerEntry:
        """The entry as it is used with this store, which may be of a file alone; see `Served.in_file`."""
        return entry.in_file(self.path) if self._is_alone else entry

    def unknown(self, name: str) -> ServerUnknownError:
        """The error for an unknown server name, with a suggestion. Raises `ConfigFileError`."""
        return ServerUnknownError(name, self.path, suggestion=did_you_mean(name, self.names()))

    def entries(self) -> dict[str, ServerEntry | EntryError]:
        """All entries by name; for an invalid one, the error in its place.

        Raises `ConfigFileError`.
        """
        return {name: self._entry_or_error(name, raw, source) for name, (raw, source) in self._raw_entries().items()}

    def section(self, key: str) -> dict[str, tuple[Any, Path]]:
        """The members of another object at the top of the files, each with its file; those of an approved project win
        over the user's. Empty where there is none. Raises `ConfigFileError`.
        """
        # In another format this key may have another meaning.
        documents = [(self._read(), self.path)] if self.in_own_format() is None else []
        if self.project is not None and self.project.approved:
            documents.append((parse_object(self.project.data, self.project.path), self.project.path))
        found: dict[str, tuple[Any, Path]] = {}
        for document, path in documents:
            members = document.get(key, {})
            if not isinstance(members, dict):
                raise ConfigFileError(path, f"{key!r} is not an object", hint=f'it should read {{"{key}": {{…}}}}')
            found.update((name, (member, path)) for name, member in members.items())
        return found

    def source_of(self, name: str) -> Path:
        """The file with the entry of this name that is used."""
        return self.project.path if self.project is not None and name in self._project_servers() else self.path

    def names_by_file(self) -> tuple[list[str], list[str]]:
        """The names of the servers in the file itself, and in an approved project's. Raises `ConfigFileError`."""
        return list(self._own_servers()), list(self._project_servers())

    def add(self, *entries: ServerEntry, replace: Collection[str] = ()) -> None:
        """Save entries as they are in `raw`, all or none, in one step. Those named in `replace` may exist already.

        Raises `ServerExistsError`, `EntryError` for a name that a new server may not have, `ConfigFileError`.
        """
        for entry in entries:
            check_server_name(entry.name)

        def change(servers: dict[str, Any]) -> None:
            for entry in entries:
                if entry.name in servers and entry.name not in replace:
                    raise ServerExistsError(entry.name, self.path)
                servers[entry.name] = entry.raw

        self._update(change)

    def remove(self, names: list[str]) -> list[dict[str, Any]]:
        """Remove entries, all or none, and return them as they were.

        Raises `ServerUnknownError` for the first that does not exist, `ConfigFileError`.
        """
        removed: list[dict[str, Any]] = []

        def change(servers: dict[str, Any]) -> None:
            removed.extend(servers.pop(name) for name in dict.fromkeys(names))

        self._update(change, names)
        return removed

    def set_disabled(self, names: list[str], *, disabled: bool) -> None:
        """Disable or enable servers, all or none.

        Raises `ServerUnknownError` for the first that does not exist, `EntryError` for an invalid entry,
        `ConfigFileError`.
        """

        def change(servers: dict[str, Any]) -> None:
            for name in names:
                read_entry(name, servers[name])
                entry = {key: value for key, value in servers[name].items() if key != "disabled"}
                servers[name] = {**entry, "disabled": True} if disabled else entry

        self._update(change, names)

    def own(self, name: str) -> Any:
        """The entry of that name as it is in the file that is written to, valid or not.

        Raises `ServerUnknownError` with a suggestion, `ConfigFileError`.
        """
        servers = self._own_servers()
        self._require([name], servers)
        return servers[name]

    def replace(self, name: str, before: Any, after: ServerEntry, *, new_name: str | None = None) -> None:
        """Replace the entry `name` with `after`, under `new_name` if that is given.

        Raises `ConfigFileError` if the entry is no longer `before`, so that no other change is lost;
        `ServerUnknownError`, `ServerExistsError` and `EntryError` as `add` and `remove` do.
        """
        if new_name is not None:
            check_server_name(new_name)

        def change(servers: dict[str, Any]) -> None:
            if new_name in servers and new_name != name:
                taken = ServerExistsError(str(new_name), self.path)
                taken.hint = "choose another name, or remove that server first"
                raise taken
            if servers[name] != before:
                problem = f"another program has changed {name!r} meanwhile"
                raise ConfigFileError(self.path, problem, server=name, case="entry-changed")
            changed = {new_name or name if key == name else key: held for key, held in servers.items()}
            servers.clear()
            servers.update({**changed, new_name or name: after.raw})

        self._update(change, [name])

    def in_own_format(self) -> ServersFile | None:
        """The file `path`, if it has a format of its own; a JSON file has not, whatever its name.

        Raises `ConfigFileError` for a file that cannot be read.
        """
        if self._held is not None or (found := in_own_format(self.path)) is None:
            return None
        return None if (read_bytes(self.path) or b"").lstrip().startswith(b"{") else found

    def exposed_secrets(self) -> Path | None:
        """The file with secrets that users other than its owner may read, if a format of its own has one."""
        found = in_own_format(self.path)
        return found.exposed() if found is not None and os.name != "nt" else None

    def _own_servers(self) -> dict[str, Any]:
        """The entries of the writable file."""
        file = self.in_own_format()
        return file.servers() if file is not None else servers_in(self._read(), self.path)

    def _read(self) -> dict[str, Any]:
        if self._held is not None:
            return self._held
        document = read_object(self.path, may_be_pipe=self._reads_once and self._is_alone) or {}
        if self._reads_once:
            self._held = document
        return document

    def _raw_entries(self) -> dict[str, tuple[Any, Path]]:
        found = {name: (raw, self.path) for name, raw in self._own_servers().items()}
        if self.project is not None:
            found |= {name: (raw, self.project.path) for name, raw in self._project_servers().items()}
        return found

    def _require(self, names: Collection[str], servers: Mapping[str, Any]) -> None:
        """Raise `ServerUnknownError` for the first name that is not one of `servers`, those of the file itself."""
        for name in names:
            if name not in servers:
                if self.project is not None and name in self._project_servers():
                    raise ServerUnknownError(name, self.path, project=self.project.path)
                raise ServerUnknownError(name, self.path, suggestion=did_you_mean(name, servers))

    def _update(self, change: Callable[[dict[str, Any]], None], required: Collection[str] = ()) -> None:
        """Write the servers of the file after `change` modified them. Those in `required` must exist."""
        if not is_there(self.path):
            self._require(required, {})  # Before a folder would be created.
        if (file := self.in_own_format()) is not None:

            def checked_change(servers: dict[str, Any]) -> None:
                self._require(required, servers)
                change(servers)

            file.update(checked_change)
            return
        with locked(self.path):
            before = snapshot_of(self.path)
            document = parse_object(before.data, self.path) if before.exists else {SERVER_KEYS[0]: {}}
            servers = servers_in(document, self.path)
            key = next((key for key in SERVER_KEYS if key in document), SERVER_KEYS[0])
            document[key] = servers
            self._require(required, servers)
            change(servers)
            # The user's own folder is private; a file elsewhere keeps the rights that its owner chose.
            write_object(self.path, document, before, private=self.path.parent == config_folder(self._environ))
            self._held = None

    def _project_servers(self) -> dict[str, Any]:
        if self.project is None or not self.project.approved:
            return {}
        return servers_in(parse_object(self.project.data, self.project.path), self.project.path)

    def _entry_or_error(self, name: str, raw: Any, source: Path) -> ServerEntry | EntryError:
        try:
            return self.read(name, raw, source)
        except EntryError as error:
            return error


def in_own_format(path: Path) -> ServersFile | None:
    """The file in the format that its name says; None for a JSON file."""
    if (suffix := path.suffix.lower()) in JSON_SUFFIXES:
        return None
    from gaia_mcp.core.systems import servers_format

    kind = servers_format(suffix)
    found: ServersFile | None = None if kind is None else kind(path)
    return found


def check_server_name(name: str) -> None:
    """Raise `EntryError` for a name that a new server may not have."""
    if not is_server_name(name):
        raise EntryError(
            name,
            "a name is made of letters, digits, '_', '.', '@' and '-', begins with one of the first three, "
            "and has at most 64 characters",
            hint="choose another name",
        )
