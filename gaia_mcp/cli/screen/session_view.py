"""The output on stderr while a command uses servers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import Typed
from gaia_mcp.cli.screen.output import Form, remark, to_stderr
from gaia_mcp.cli.screen.progress import Waiting
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.safetext import clean, one_line
from gaia_mcp.session.observer import Observer

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

# Log messages of these levels are printed with `--debug` only.
QUIET_LEVELS = frozenset({"debug", "info", "notice"})


class SessionView(Waiting, Observer):
    """The progress line while servers are being waited for, remarks, and with `--debug` the servers' stderr."""

    @property
    def command(self) -> str:
        return Typed.command

    @property
    def debug(self) -> bool:
        return Form.debug

    def remark(self, text: str) -> None:
        remark(text)

    def stderr(self, server: str, lines: bytes) -> None:
        for line in clean(lines.decode("utf-8", "replace")).removesuffix("\n").split("\n"):
            to_stderr(f"[{server}] {line.rstrip()}")

    def logged(self, server: str, level: str, data: Any) -> None:
        """Print a log message, on a terminal or with `--debug`."""
        if Form.debug or (on_terminal(sys.stderr) and level not in QUIET_LEVELS):
            text = data if isinstance(data, str) else repr(data)
            remark(f"{server} logged ({level}): {one_line(text, 500)}")


def asking(entries: Sequence[ServerEntry]) -> SessionView:
    """The view of a command that uses these servers concurrently."""
    # Imported before the servers start: while they hold all file descriptors, no module can be loaded, but a shortage
    # must be reported.
    import gaia_mcp.cli.hints  # noqa: F401

    return SessionView(f"asking {entries[0].name}" if len(entries) == 1 else f"asking {len(entries)} servers")
