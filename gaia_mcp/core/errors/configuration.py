"""The configuration cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core.errors.root import MCPError

if TYPE_CHECKING:
    from pathlib import Path


class ConfigError(MCPError, kind="config"):
    """The configuration cannot be used."""


class ConfigFileError(ConfigError, kind="config-file"):
    """A configuration file that cannot be read, parsed or written. It is never overwritten."""

    def __init__(
        self,
        path: Path,
        problem: str,
        *,
        line: int = 0,
        column: int = 0,
        hint: str = "",
        server: str = "",
        case: str = "",
    ) -> None:
        where = f"{path}:{line}:{column}" if line else str(path)
        super().__init__(f"{where}: {problem}", hint=hint, server=server, case=case)
        self.path = path
        self.line = line
        self.column = column


class ServerUnknownError(ConfigError, kind="server-unknown"):
    """No server of that name is in the file at `path`; `project` is the project's file that it is in."""

    def __init__(self, server: str, path: Path, *, suggestion: str = "", project: Path | None = None) -> None:
        super().__init__(f"no server {server!r} in {path}", hint=suggestion, server=server)
        self.path = path
        self.project = project


class ServerExistsError(ConfigError, ValueError, kind="server-exists"):
    """A server of that name exists already."""

    def __init__(self, server: str, path: Path | None = None) -> None:
        where = f" in {path}" if path is not None else ""
        super().__init__(f"MCP server {server!r} already exists{where}", server=server)
        self.path = path


class EntryError(ConfigError, ValueError, kind="entry"):
    """A server's entry is invalid."""

    def __init__(self, server: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"server {server!r}: {problem}", hint=hint, server=server, case=case)


class VariableUnsetError(ConfigError, kind="variable-unset"):
    """An entry refers to a variable that is not set and has no default."""

    def __init__(self, server: str, variable: str, field: str) -> None:
        super().__init__(f"server {server!r}: {field} refers to ${{{variable}}}, which is not set", server=server)
        self.variable = variable
        self.field = field


class RegistryUnknownError(ConfigError, kind="registry-unknown"):
    """The registry at `url` does not have the server `name`, or not the version that was asked for."""

    def __init__(self, url: str, name: str, version: str = "", *, hint: str = "") -> None:
        what = f"version {version!r} of {name!r}" if version else f"server {name!r}"
        super().__init__(f"the registry {url} has no {what}", hint=hint, case="version-unknown" if version else "")
        self.url = url
        self.name = name
        self.version = version


class CatalogError(ConfigError, ValueError, kind="catalog"):
    """A registry's document about a server cannot become an entry."""

    def __init__(self, name: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{name!r}: {problem}", hint=hint)
        self.name = name


class AgentError(ConfigError, kind="agent"):
    """An agent that cannot be loaded or lacks what is needed to serve it."""

    def __init__(self, target: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"agent {target!r} {problem}", hint=hint, case=case)
        self.target = target


class HandlerError(ConfigError, ValueError, kind="handler"):
    """A handler that cannot be loaded. `target` is its file, or a class as it was named."""

    def __init__(self, target: str, problem: str, *, hint: str = "", case: str = "") -> None:
        super().__init__(f"handler {target!r} {problem}", hint=hint, case=case)
        self.target = target
