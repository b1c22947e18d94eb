"""The person at the terminal of a command whose line runs in the keeper: the line while they wait, with the server's
progress, and the questions of the server.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gaia_mcp.cli.calls import Answers
from gaia_mcp.cli.calls.calling import screen_of, tool_in
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.core.errors import MCPError
from gaia_mcp.fleet.keeper import errors
from gaia_mcp.protocol.events import Progressed

if TYPE_CHECKING:
    from collections.abc import Sequence


class Person:
    """The one who has typed the line `words`, a plain `call`. For `quiet_seconds` they are shown nothing."""

    def __init__(self, words: Sequence[str], quiet_seconds: float = 0.0) -> None:
        server, tool = tool_in(words)
        self._view = SessionView(screen_of(words), f"calling {server} {tool}", quiet_seconds=quiet_seconds)
        self._is_waiting = False

    def wait(self) -> None:
        """Show that the call is running."""
        if not self._is_waiting:
            self._is_waiting = True
            self._view.__enter__()

    def hide(self) -> None:
        """Show nothing more, before something is printed."""
        if self._is_waiting:
            self._view.hide()

    def progressed(self, report: bytes) -> None:
        """Show the progress that the server has reported."""
        self._view.progressed(Progressed(*json.loads(report)))

    def answer(self, question: bytes) -> bytes:
        """Ask the question, and return the answer, or the error that ends the call."""
        # Most tools never ask.
        from gaia_mcp.cli.calls.elicitation import answered

        asked = json.loads(question)
        try:
            found = {"answer": answered(asked["server"], asked["params"], self._view, Answers())}
        except MCPError as error:
            found = {"error": errors.as_json(error)}
        return json.dumps(found).encode()
