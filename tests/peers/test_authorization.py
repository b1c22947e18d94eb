"""Logins at the authorization server of the official SDK, and calls with what it grants."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import gaia, no_orphans, shared
from tests.client.transports.http.auth.world import Paster
from tests.peers.conftest import PROGRAMS
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

__all__ = ["gaia", "no_orphans", "shared"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the official SDK that wants a token, with the SDK's own authorization server."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    running = subprocess.Popen([sys.executable, PROGRAMS / "protected_server.py", str(port)])
    try:
        wait_until(lambda: _listens(port), ENOUGH_SECONDS)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        running.terminate()
        running.wait()


def test_a_server_of_the_official_sdk_is_logged_in_to_and_used(gaia: Gaia, url: str) -> None:
    """Spec: AC-1 to AC-12, against an implementation that is not ours: until the login, the login is what is hinted."""
    gaia.write({"web": {"url": url}})
    before = gaia("call", "web", "add", "a=1", "b=2")
    assert (before.code, before.errors) == (
        4,
        ["error: server 'web' requires authorization", "hint: log in with: gaia mcp login web"],
    )

    log_in(gaia)
    called = gaia("call", "web", "add", "a=1", "b=2")
    assert (called.code, called.stdout.strip()) == (0, "3"), called.stderr

    assert gaia("logout", "web").stdout == "logged out of 'web'\n"
    assert gaia("call", "web", "add", "a=1", "b=2").code == 4


def test_commands_that_start_at_once_renew_an_expired_token_once(gaia: Gaia, url: str) -> None:
    """Spec: AC-11. The SDK's server takes each refresh token once: the second to send it would be logged out."""
    gaia.write({"web": {"url": url}})
    log_in(gaia)
    (file,) = (gaia.home / ".gaia" / "tokens").glob("*/credentials.json")
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "expires_at": 1.0}))

    running = [gaia.popen("call", "web", "add", f"a={number}", "b=1") for number in range(4)]
    ended = [(process.communicate(timeout=60), process.returncode) for process in running]

    assert [(int(out), code) for (out, _), code in ended] == [(number + 1, 0) for number in range(4)], ended
    assert json.loads(file.read_text())["secret"]["refresh_token"] != kept["secret"]["refresh_token"]


def log_in(gaia: Gaia) -> bytes:
    """Log in as a person does whose browser is on another machine. What was printed at the end."""
    running = gaia.popen("login", "web", "--no-browser")
    assert running.stdin is not None
    assert running.stderr is not None
    lines = [running.stderr.readline().decode() for _ in range(3)]
    running.stdin.write(f"{Paster().redirect(lines[1].strip())}\n".encode())
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    assert b"scopes files" in out
    return out


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
