"""The built-in agent `filesystem`: reads, writes and lists files below one folder.

gaia mcp serve filesystem --kwarg root=~/notes
gaia mcp serve filesystem --kwarg root=~/notes --kwarg read_only=true

Its tools, their arguments and the format of lists are those of AgentVault's filesystem server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.marks import tool
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.filesystem.tree import MAX_ENTRIES, PathError, Tree
from gaia_mcp.errors import ConfigFileError
from gaia_mcp.paths import home_expanded
from gaia_mcp.safetext import clean, encodable

WRITE = "filesystem.writeFile"
_PATH = "Path below the root folder, with / between names"
# The root folder in the paths of AgentVault's clients: the folder of its server's container.
_DATA = "/data"
_MARKS = {"folder": "[DIR]", "file": "[FILE]", "link": "[LINK]", "other": "[OTHER]"}


class FilesystemAgent(MCPAgent):
    """The files below `root`, to which paths are relative. No path leads out of it, and links are not followed. An
    absolute path begins with `root`, or with `/data`, which stands for it.

    With `read_only` there is no tool to write. Raises `TypeError` for invalid arguments, and `ConfigFileError` if
    `root` is not a folder.
    """

    def __init__(self, root: str = "", read_only: bool = False) -> None:
        super().__init__()
        if not isinstance(root, str) or not root:
            raise TypeError("root is the folder to serve, and has to be given")
        if not isinstance(read_only, bool):
            raise TypeError(f"read_only is true or false, not {read_only!r}")
        given = home_expanded(Path(root)).absolute()
        folder = given.resolve()
        if not folder.is_dir():
            raise ConfigFileError(folder, "is not a folder")
        self._tree = Tree(folder, names=(str(given), _DATA))
        self._is_read_only = read_only

    @tool(name="filesystem.readFile", read_only=True, open_world=False)
    def read_file(self, path: Annotated[str, _PATH]) -> Any:
        """Read a text file in UTF-8."""
        try:
            return self._tree.read(path).decode("utf-8")
        except PathError as problem:
            return _failure(path, problem)
        except UnicodeDecodeError as problem:
            return _failure(path, f"it is not text in UTF-8: byte {problem.start + 1} does not fit")

    @tool(name=WRITE, read_only=False, destructive=True, idempotent=True, open_world=False)
    def write_file(self, path: Annotated[str, _PATH], content: str) -> Any:
        """Write a text file in UTF-8, in place of the one that may be there. Its folder must exist."""
        try:
            data = content.encode("utf-8")
            self._tree.write(path, data)
        except UnicodeEncodeError:
            return _failure(path, "half of a surrogate pair is not text")
        except PathError as problem:
            return _failure(path, problem)
        return f"wrote {len(data)} byte{'s' * (len(data) != 1)} to {path!r}"

    @tool(name="filesystem.listDirectory", read_only=True, open_world=False)
    def list_directory(self, path: Annotated[str, _PATH] = ".") -> Any:
        """List a folder, a line for each entry: [DIR], [FILE], [LINK] or [OTHER], and its name."""
        try:
            entries, is_all = self._tree.entries(path)
        except PathError as problem:
            return _failure(path, problem)
        lines = [f"{_MARKS[entry.kind]} {_shown(entry.name)}" for entry in entries]
        if not is_all:
            lines.append(f"(more than {MAX_ENTRIES}; the others are left out)")
        return "\n".join(lines) or f"{path!r} is empty"

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        tools = super().get_mcp_tool_definitions()
        return [one for one in tools if not (self._is_read_only and one["name"] == WRITE)]

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "filesystem", "title": "Files below one folder", "version": __version__}


def _failure(path: str, problem: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{encodable(path)!r}: {problem}"}], "isError": True}


def _shown(name: str) -> str:
    """A name on one line. Bytes that are not UTF-8 are replaced, since they cannot be sent: such a file cannot be read
    by this name.
    """
    return encodable(clean(name)).replace("\n", "\\n").replace("\t", "\\t")
