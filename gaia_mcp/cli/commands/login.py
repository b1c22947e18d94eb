"""`gaia mcp login`: log in to a remote server, in a browser that is opened here, or elsewhere with the redirect URL
pasted here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, JSON, timeout_option
from gaia_mcp.cli.screen import on_terminal

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.fleet.authorization import Login

# A person may need time to find a password and a second factor.
LOGIN_SECONDS = 300.0
Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="Server to log in to: a name or a URL.",
        autocompletion=server_names,
        show_default=False,
    ),
]
ScopeOption = Annotated[
    list[str] | None, typer.Option("--scope", metavar="SCOPE", help="Request this scope too.", show_default=False)
]
NoBrowserOption = Annotated[
    bool, typer.Option("--no-browser", help="Print the URL to open elsewhere, and read the URL of the redirect.")
]
StatusOption = Annotated[bool, typer.Option("--status", help="Show what is granted, for one server or for all.")]

COMMON = (HEADER, CONFIG, JSON, timeout_option("Limit the time of the login. Default: 300."))
# Longer than any redirect URL.
MAX_PASTED_BYTES = 65536


def login(
    invocation: Invocation,
    name: Name = None,
    scope: ScopeOption = None,
    no_browser: NoBrowserOption = False,
    status: StatusOption = False,
) -> None:
    """Log in to a server.

    Opens a browser in which access is granted. The token is kept in the system's keyring if the package keyring is
    installed, else in a file that only you can read, and is renewed by itself as long as the server allows that.

    Example: gaia mcp login github
    """
    screen = invocation.screen
    from gaia_mcp.cli.status import UsageError

    if name is None:
        invocation.check_saved()
    if status:
        _show_status(invocation, name)
        return
    if name is None:
        raise UsageError("no server given", hint=f"see them with: {screen.line.to_type('login', more='--status')}")
    from gaia_mcp.cli.entries.remarks import remark_on_oauth
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.authorization import as_object, log_in

    entry, _ = invocation.server(name, has_item=False)
    remark_on_oauth(screen, [entry])
    deadline = Deadline(invocation.timeout or LOGIN_SECONDS)
    made = log_in(entry, Browser(screen, is_elsewhere=no_browser), scope or (), deadline)
    screen.done(f"logged in to {made.server!r}: {_told(made)}", **as_object(made))


def _show_status(invocation: Invocation, name: str | None) -> None:
    screen = invocation.screen
    from gaia_mcp.core.errors import MCPError
    from gaia_mcp.fleet.authorization import as_object, login_of

    logins: list[Login] = []
    failures: list[MCPError] = []
    store = invocation.open_store()
    for each in [name] if name is not None else store.names():
        try:
            entry = invocation.server(each, has_item=False, store=store)[0]
            if name is not None or entry.is_remote:
                logins.append(login_of(entry))
        except MCPError as error:
            failures.append(error)
    if screen.as_json:
        screen.print_json({"logins": [as_object(found) for found in logins]})
    else:
        width = max((len(found.server) for found in logins), default=0)
        for found in logins:
            screen.print_line(f"{found.server:<{width}}  {_told(found)}")
        if not logins and not failures:
            screen.print_line("no server behind a URL is configured")
    screen.fail_with(failures)


def _told(login: Login) -> str:
    """The granted access, in words."""
    import time

    if login.way == "header":
        return "uses the Authorization header of its entry"
    if login.way == "off":
        return "OAuth is disabled in its entry"
    if not login.issuer:
        return "requests a token when it is used" if login.way == "program" else "not logged in"
    parts = [f"at {login.issuer}"]
    if login.scopes:
        parts.append(f"scopes {' '.join(login.scopes)}")
    if login.expires_at is not None:
        seconds = login.expires_at - time.time()
        minutes = max(1, round(seconds / 60))
        ends = f"the token expires in {_span(minutes)}" if seconds > 0 else "the token has expired"
        parts.append(f"{ends} and is renewed" if login.is_renewed else ends)
    return ", ".join(parts)


def _span(minutes: int) -> str:
    if minutes < 120:
        return f"{minutes} min"
    hours = round(minutes / 60)
    return f"{hours} h" if hours < 48 else f"{round(hours / 24)} days"


class Browser:
    """The browser of the person at this terminal. `is_elsewhere`: it runs on another machine."""

    def __init__(self, screen: Screen, *, is_elsewhere: bool = False) -> None:
        self._screen = screen
        self._is_elsewhere = is_elsewhere
        self._pasted: deque[str] = deque()

    def show(self, url: str) -> None:
        """Open `url` here, or print it for the person to open. It is always printed, complete and on one line."""
        if self._is_elsewhere or not has_browser():
            self._screen.to_stderr("open this URL in a browser, and grant access there:")
            self._screen.to_stderr(f"  {url}")
            self._screen.to_stderr(
                "the browser is then redirected to a page that may not open; paste the URL of that page:"
            )
            threading.Thread(target=self._read, name="gaia-mcp paste", daemon=True).start()
            return
        self._screen.to_stderr("grant access in the browser; if it does not open, open this URL:")
        self._screen.to_stderr(f"  {url}")
        # A browser that runs in the terminal would block this thread.
        threading.Thread(target=_open, args=(url,), name="gaia-mcp browser", daemon=True).start()

    def pasted(self) -> str | None:
        """Return the pasted URL, once; None if there is none yet."""
        return self._pasted.popleft() if self._pasted else None

    def _read(self) -> None:
        """Read lines without the buffer of `sys.stdin`, whose lock would delay the end of the program."""
        line = b""
        while len(line) < MAX_PASTED_BYTES:
            try:
                piece = os.read(sys.stdin.fileno(), 4096)
            except (OSError, ValueError):
                return
            line += piece
            if b"\n" in piece or (not piece and line):
                self._pasted.append(line.decode("ascii", "replace").strip())
                line = b""
            if not piece:
                return


def has_browser() -> bool:
    """Whether a browser can be opened here: on a desktop, or with the variable `BROWSER`."""
    if os.environ.get("BROWSER"):
        return True
    if sys.platform in ("win32", "darwin"):
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def can_ask() -> bool:
    """Whether a person can grant access: with a browser, or a terminal to paste into."""
    return has_browser() or on_terminal(sys.stdin)


def _open(url: str) -> None:
    import contextlib
    import webbrowser

    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
