"""`gaia mcp login` and `logout`, with a browser and without one, at a loopback authorization server."""

from __future__ import annotations

import json
import signal
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import entry_of
from tests.cli.typed_lines import lines_in
from tests.client.transports.http.auth.world import Answer, Paster, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Gaia

# Opens a URL as a browser does: every redirect is followed at once.
BROWSER = """#!{python}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=20).read()
"""


@pytest.fixture
def world() -> Iterator[World]:
    """A protected server and its authorization server."""
    made = World()
    yield made
    made.close()


@pytest.fixture
def browser(gaia: Gaia, tmp_path: Path) -> Gaia:
    """The program on a desktop."""
    script = tmp_path / "browser"
    script.write_text(BROWSER.format(python=sys.executable))
    script.chmod(0o755)
    gaia.environ["BROWSER"] = str(script)
    return gaia


def use(gaia: Gaia, world: World, **members: Any) -> None:
    gaia.write({"web": {"url": world.url, **members}, "local": entry_of("good-stateless")})


def url_in(printed: str) -> str:
    (line,) = [line for line in printed.splitlines() if line.startswith("  http")]
    return line.strip()


def secrets_of(world: World) -> list[str]:
    return [*world.tokens, *world.refresh_tokens]


def test_a_login_is_saved_shown_and_ended(browser: Gaia, world: World) -> None:
    """Spec: AC-11: no output contains any part of a token."""
    use(browser, world)
    world.needs_scope = "files:read"
    before = browser("login", "--status")
    ran = browser("login", "web")
    status = browser("login", "--status")
    as_json = browser("login", "--status", "web", "--json")
    shown = browser("show", "web")
    tokens = secrets_of(world)
    ended = browser("logout", "web", "web")
    again = browser("logout", "web", "--json")

    assert (before.code, before.stdout) == (0, "web  not logged in\n")
    assert ran.code == 0
    assert ran.stdout.startswith(
        f"logged in to 'web': at {world.origin}, scopes files:read, the token expires in 60 min"
    )
    assert url_in(ran.stderr).startswith(f"{world.origin}/authorize?")
    assert status.stdout.startswith(f"web  at {world.origin}, scopes files:read, ")
    (login,) = as_json.json["logins"]
    assert (login["server"], login["logged_in"], login["by"], login["renewed"]) == ("web", True, "person", True)
    assert (ended.code, ended.stdout) == (0, "logged out of 'web'\n")
    assert (again.code, again.json) == (0, {"logged_out": []})
    for each in (ran, status, as_json, shown, ended):
        assert not [token for token in tokens if token in each.stdout + each.stderr]
    assert len(world.asked("/revoke")) == 2


def test_an_empty_token_of_the_entry_does_not_prevent_a_login(browser: Gaia, world: World) -> None:
    """Ours: an entry that many share, `Bearer ${TOKEN:-}`, serves those who have a token and those who log in."""
    use(browser, world, headers={"Authorization": "Bearer ${WEB_TOKEN:-}"})
    before = browser("tools", "web")
    ran = browser("login", "web")

    assert (before.code, ran.code) == (4, 0), ran.stderr
    assert before.errors[1].endswith("gaia mcp login web")


def test_a_login_sends_the_headers_of_the_line_to_the_server(browser: Gaia, world: World) -> None:
    """Ours: a server that wants a key beside the login can be tried before it is saved."""
    ran = browser("login", world.url, "-H", "X-Team: blue")
    refused = browser("login", "--status", "-H", "X-Team: blue")

    assert ran.code == 0, ran.stderr
    assert {asked.headers.get("x-team") for asked in world.asked("/mcp")} == {"blue"}
    assert {asked.headers.get("x-team") for asked in world.asked("/token")} == {None}
    assert (refused.code, refused.errors[0]) == (
        2, "error: --header is for a server that is typed, and none is given",
    )  # fmt: skip


def test_a_token_that_the_server_sends_back_is_masked(browser: Gaia, world: World) -> None:
    """Spec: AC-11, even if the server violates it."""
    use(browser, world)
    assert browser("login", "web").code == 0
    for status in (500, 401, 400):
        world.routes["/mcp"] = lambda request, status=status: Answer(
            status, {"error": {"code": -32000, "message": f"not {request.headers.get('authorization')}"}}
        )
        ran = browser("tools", "web", "--debug")
        assert ran.code in (4, 6)
        assert not [token for token in secrets_of(world) if token in ran.stdout + ran.stderr]


def test_the_files_of_a_login_are_private(browser: Gaia, world: World) -> None:
    """Spec: AC-11: other users of the machine cannot read a token."""
    use(browser, world)
    assert browser("login", "web").code == 0

    files = list((browser.home / ".gaia" / "tokens").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in files} == {0}
    assert any(token in path.read_text() for token in world.tokens for path in files if path.is_file())


def test_without_a_browser_the_url_is_printed_and_the_redirect_pasted(gaia: Gaia, world: World) -> None:
    """Ours: for a machine that is used over ssh; the server may be given by its URL."""
    running = gaia.popen("login", world.url, "--no-browser", "--scope", "a", "--scope", "b")
    assert running.stdin is not None
    assert running.stderr is not None
    lines = [running.stderr.readline().decode() for _ in range(3)]
    running.stdin.write(f"{Paster().redirect(url_in(''.join(lines)))}\n".encode())
    out, err = running.communicate(timeout=20)

    assert running.returncode == 0, err
    assert b"scopes a b" in out


def test_a_pasted_redirect_must_belong_to_the_login(gaia: Gaia, world: World) -> None:
    """Spec: AC-5: another state may be that of an attacker."""
    use(gaia, world)
    ran = gaia("login", "web", "--no-browser", stdin="http://127.0.0.1:1/callback?code=x&state=stolen\n")

    assert ran.code == 4
    assert ran.errors[-2:] == [
        "error: server 'web' was not authorized: what was pasted is not its answer",
        "hint: repeat it and paste the whole URL that the browser ends at: gaia mcp login web --no-browser",
    ]
    assert world.asked("/token") == []


def test_a_login_without_a_redirect_times_out(gaia: Gaia, world: World) -> None:
    """Ours: the hint names the option that allows more time."""
    use(gaia, world)
    ran = gaia("login", "web", "--no-browser", "--timeout", "8")

    assert ran.code == 5
    assert ran.errors[-1] == "hint: allow more time with --timeout SECONDS"


def test_ctrl_c_ends_a_login(gaia: Gaia, world: World) -> None:
    """Ours: nothing is saved."""
    use(gaia, world)
    running = gaia.popen("login", "web", "--no-browser")
    assert running.stderr is not None
    for _ in range(3):
        running.stderr.readline()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=20)

    assert running.returncode == 130
    assert gaia("login", "--status").stdout == "web  not logged in\n"


def test_a_refused_login_is_reported_in_two_lines(browser: Gaia, world: World) -> None:
    """Ours: with the error of the authorization server, escaped."""
    use(browser, world)
    world.answer_of_token = lambda _: Answer(400, {"error": "invalid_grant", "error_description": "no\x1b[31m"})
    ran = browser("login", "web")

    assert ran.code == 4
    assert ran.errors[-2:] == [
        "error: server 'web' was not authorized: invalid_grant: no\\x1b[31m",
        "hint: grant the access in the browser; if it is refused all the same, ask the operator of the server",
    ]


def test_hostile_metadata_is_refused_before_a_login(browser: Gaia, world: World) -> None:
    """Spec: AC-2, AC-12: of another issuer, or with an endpoint that is not https."""
    use(browser, world)
    for change, problem in (
        ({"issuer": "https://evil.example"}, "is about another issuer"),
        ({"token_endpoint": "http://evil.example/token"}, "its token_endpoint is not https"),
    ):
        world.metadata = {**world.metadata, "issuer": world.origin, **change}
        ran = browser("login", "web")
        assert ran.code == 4
        assert problem in ran.errors[0]
    assert world.asked("/authorize") == []


def test_a_server_without_registration_needs_a_client_id(browser: Gaia, world: World) -> None:
    """Ours: it is in the entry, and its secret in a variable."""
    use(browser, world)
    del world.metadata["registration_endpoint"]
    ran = browser("login", "web")
    assert "write its id as oauth.clientId in its entry: gaia mcp edit web" in ran.errors[-1]

    use(browser, world, oauth={"clientId": "CID", "clientSecret": "${S}"})
    assert browser("login", "web", S="s3cret-s3cret").code == 0
    assert world.asked("/token")[-1].headers["authorization"].startswith("Basic ")
    assert "s3cret" not in browser("show", "web", S="s3cret-s3cret").stdout


def test_a_client_of_ones_own_for_a_url_is_saved_as_advised(browser: Gaia, world: World) -> None:
    """Ours: a URL that is not saved has no entry to edit, so the line saves one; then the login works."""
    del world.metadata["registration_endpoint"]
    (line,) = lines_in(browser("login", world.url).stderr)

    assert browser(*("web" if word == "NAME" else word for word in line)).code == 0
    assert browser("login", "web").code == 0
    assert world.asked("/authorize")[-1].query["client_id"] == "CLIENT_ID"


def test_a_static_token_is_replaced_by_a_login_as_advised(browser: Gaia, world: World) -> None:
    """Ours: the header of an entry takes the place of a login, so it has to go."""
    use(browser, world, headers={"Authorization": "Bearer ${T}"})
    refused = browser("tools", "web", T="x")
    (line,) = lines_in(browser("login", "web", T="x").stderr)

    assert refused.errors[-1] == "hint: set another in the variable that it refers to: export T=…"
    assert browser(*line).code == 0
    assert browser("login", "web").code == 0


def test_members_of_oauth_that_are_not_read_are_named(browser: Gaia, world: World) -> None:
    """Ours: one may be misspelled; the login goes on without it."""
    added = browser(
        "add", "web", "--no-check", "--entry", json.dumps({"url": world.url, "oauth": {"redirectURL": "x"}})
    )
    told = "note: not read in 'oauth' of 'web': 'redirectURL'; did you mean 'redirectUri' or 'redirect_uri'?"
    seen = [added, browser("login", "web"), browser("test-client", "web")]

    assert [ran.stderr.splitlines().count(told) for ran in seen] == [1, 1, 1]
    use(browser, world, oauth={"audiences": [], "tokenParamName": "x", "scopes": ["a"]})
    assert "note: not read in 'oauth' of 'web': 'audiences', 'tokenParamName'\n" in browser("login", "web").stderr


def test_a_server_without_a_login_is_reported(gaia: Gaia, world: World) -> None:
    """Ours: each with one line to type."""
    use(gaia, world, headers={"Authorization": "Bearer ${T}"})

    assert (gaia("login").code, gaia("login", "none").code, gaia("login", "local").code) == (2, 3, 3)
    assert gaia("login", "local").errors[-1] == "hint: see which servers have one: gaia mcp login --status"
    with_header = gaia("login", "web", T="x")
    assert (with_header.code, with_header.errors[0]) == (
        4,
        "error: server 'web' has no login: its entry has an Authorization header",
    )
    assert gaia("login", "--status", T="x").stdout == "web  uses the Authorization header of its entry\n"
    missing = gaia("login", "--status")
    assert (missing.code, missing.stdout) == (3, "")

    use(gaia, world, oauth=False)
    assert gaia("login", "--status").stdout == "web  OAuth is disabled in its entry\n"
    assert gaia("login", "web").errors[-1] == "hint: turn it on: gaia mcp edit web --unset oauth"
    gaia.write({})
    assert gaia("login", "--status").stdout == "no server behind a URL is configured\n"


def test_client_credentials_need_no_person(gaia: Gaia, world: World) -> None:
    """Spec: client credentials: no URL is printed, and no browser opened."""
    use(gaia, world, oauth={"grantType": "client_credentials", "clientId": "CID", "clientSecret": "${S}"})
    world.lifetime = 5 * 24 * 3600

    assert gaia("login", "--status", S="s").stdout == "web  requests a token when it is used\n"
    ran = gaia("login", "web", S="s")
    assert ran.stdout == f"logged in to 'web': at {world.origin}, the token expires in 5 days and is renewed\n"
    assert ran.stderr == ""


def test_removing_a_server_logs_out(browser: Gaia, world: World) -> None:
    """Ours: unless another entry uses the same login."""
    browser.write({"web": {"url": world.url}, "same": {"url": world.url}, "broken": {"url": 7}})
    world.lifetime = None
    assert browser("login", "web").stdout == f"logged in to 'web': at {world.origin}\n"

    assert "logged out" not in browser("remove", "same").stdout
    assert browser("remove", "web", "--json").json["logged_out"] == ["web"]
    assert list((browser.home / ".gaia" / "tokens").rglob("*.json")) == []


def test_the_expiry_of_a_token_is_printed(browser: Gaia, world: World) -> None:
    """Ours: in hours or minutes, whichever fits."""
    use(browser, world)
    for seconds, told in (
        (3 * 3600, "the token expires in 3 h"),
        (20, "the token expires in 1 min"),
        (0, "the token has expired"),
    ):
        world.lifetime = seconds
        assert told in browser("login", "web").stdout
