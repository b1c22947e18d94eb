"""Handler files that tests write, each in a folder of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.importing import forget_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Write = Callable[..., Path]

IMPORT = "from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult\n"
METHODS = """
    def connect(self): self._connected = True
    def list_tools(self): return [MCPToolDefinition("word", "A word.", {}, self.name)]
    def call_tool(self, name, arguments): return MCPToolResult(WORD)
    def disconnect(self): self._connected = False
"""
WORD = "WORD = 'hello'\n"


def handler_text(name: str = "WordHandler", base: str = "MCPHandler") -> str:
    """The text of a class that is a handler."""
    return f"class {name}({base}):{METHODS}"


HANDLER = IMPORT + WORD + handler_text()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a file into a working folder of its own; what was imported from there is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def write_file(name: str, content: str | bytes = HANDLER) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    yield write_file
    forget_modules(tmp_path)
