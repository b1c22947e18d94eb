"""`gaia mcp login`: log in to a remote server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, JSON, timeout_option
from gaia_mcp.cli.screen.output import done, print_json, print_line

if TYPE_CHECKING:
    from gaia_mcp.session.authorization import Login

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
    from gaia_mcp.cli.lines import to_type
    from gaia_mcp.cli.status import UsageError

    if name is None:
        invocation.check_saved()
    if status:
        _show_status(invocation, name)
        return
    if name is None:
        raise UsageError("no server given", hint=f"see them with: {to_type('login', more='--status')}")
    from gaia_mcp.cli.entries.without_effect import remark_on_oauth
    from gaia_mcp.cli.screen.browser import Browser
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.session.authorization import as_object, log_in

    entry, _ = invocation.server(name, has_item=False)
    remark_on_oauth([entry])
    deadline = Deadline(invocation.timeout or LOGIN_SECONDS)
    made = log_in(entry, Browser(is_elsewhere=no_browser), scope or (), deadline)
    done(f"logged in to {made.server!r}: {_told(made)}", **as_object(made))


def _show_status(invocation: Invocation, name: str | None) -> None:
    from gaia_mcp.cli.screen.output import fail_with
    from gaia_mcp.errors import MCPError
    from gaia_mcp.session.authorization import as_object, login_of

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
    if invocation.as_json:
        print_json({"logins": [as_object(found) for found in logins]})
    else:
        width = max((len(found.server) for found in logins), default=0)
        for found in logins:
            print_line(f"{found.server:<{width}}  {_told(found)}")
        if not logins and not failures:
            print_line("no server behind a URL is configured")
    fail_with(failures)


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
