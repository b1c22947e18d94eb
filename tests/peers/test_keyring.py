"""Logins in the keyring of a real desktop: GNOME's, on a session bus of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import gaia, no_orphans, shared
from tests.peers.test_authorization import log_in, url
from tests.prepare.peers import KEYRING
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Gaia
    from tests.prepare.fixtures import Prepared

__all__ = ["gaia", "no_orphans", "shared", "url"]

# Reports that the keyring is open, and then, for each line, what is in it for this program, or locks it.
KEYRING_PROGRAM = """
import json, secretstorage, sys, time
def collection():
    while True:
        try:
            return secretstorage.get_default_collection(secretstorage.dbus_init())
        except secretstorage.exceptions.SecretStorageException:
            time.sleep(0.02)
found = collection()
while found.is_locked():
    time.sleep(0.02)
print("open", flush=True)
for line in sys.stdin:
    if line == "lock\\n":
        found.lock()
    items = secretstorage.search_items(found.connection, {"service": "gaia-mcp"})
    print(json.dumps([] if found.is_locked() else [item.get_secret().decode() for item in items]), flush=True)
"""


class Desktop:
    """The desktop of a person who has just logged in, so that the keyring is open."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        assert self._line() == "open\n"

    def tokens(self) -> list[str]:
        """The access tokens in the keyring."""
        return [json.loads(secret)["access_token"] for secret in self._ask("list")]

    def lock(self) -> None:
        """Lock the keyring."""
        self._ask("lock")

    def _ask(self, what: str) -> list[str]:
        assert self._program.stdin is not None
        self._program.stdin.write(f"{what}\n")
        self._program.stdin.flush()
        found: list[str] = json.loads(self._line())
        return found

    def _line(self) -> str:
        assert self._program.stdout is not None
        return self._program.stdout.readline()


@pytest.fixture
def desktop(prepared: Prepared, gaia: Gaia, tmp_path: Path) -> Iterator[Desktop]:
    """A session bus and a keyring; the commands of the test run there."""
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    address = f"unix:path={place}/bus"
    gaia.environ |= {
        "DBUS_SESSION_BUS_ADDRESS": address,
        "PYTHONPATH": str(prepared.folder(KEYRING)),
        "XDG_RUNTIME_DIR": str(place),
    }
    quiet = {"env": gaia.environ, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    bus = [prepared.program("dbus-daemon"), "--session", "--nofork", "--nopidfile", f"--address={address}"]
    keyring = [prepared.program("gnome-keyring-daemon"), "--foreground", "--unlock", "--components=secrets"]
    with subprocess.Popen(bus, **quiet) as first:  # type: ignore[call-overload]
        try:
            wait_until((place / "bus").exists)
            with subprocess.Popen(keyring, stdin=subprocess.PIPE, **quiet) as second:  # type: ignore[call-overload]
                try:
                    second.stdin.write(b"password")
                    second.stdin.close()
                    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
                    words = [sys.executable, "-c", KEYRING_PROGRAM]
                    with subprocess.Popen(words, env=gaia.environ, **pipes) as program:  # type: ignore[call-overload]
                        yield Desktop(program)
                finally:
                    second.terminate()
        finally:
            first.terminate()


def _kept(gaia: Gaia) -> object:
    """The secret part of the one login, as its file has it."""
    (file,) = (gaia.home / ".gaia" / "tokens").glob("*/credentials.json")
    return json.loads(file.read_text())["secret"]


def test_the_tokens_of_a_login_are_only_in_the_keyring(desktop: Desktop, gaia: Gaia, url: str) -> None:
    """AC-11: no file has the tokens; each command reads them, and a logout removes them."""
    gaia.write({"web": {"url": url}})
    log_in(gaia)
    assert _kept(gaia) == "keyring"
    (token,) = desktop.tokens()

    called = gaia("call", "web", "add", "a=1", "b=2")
    assert (called.code, called.stdout) == (0, "3\n"), called.stderr
    (listed,) = gaia("login", "--status", "--json").json["logins"]
    assert listed["logged_in"] is True
    files = [path for path in gaia.home.rglob("*") if path.is_file() and ".local" not in path.parts]
    assert [path for path in files if token.encode() in path.read_bytes()] == []

    assert gaia("logout", "web").stdout == "logged out of 'web'\n"
    assert desktop.tokens() == []


def test_a_locked_keyring_is_reported(desktop: Desktop, gaia: Gaia, url: str) -> None:
    """Ours: it does not count as logged out, and no token is forgotten. A new login works without the keyring."""
    gaia.write({"web": {"url": url}})
    log_in(gaia)
    desktop.lock()

    for command in (("call", "web", "add", "a=1", "b=2"), ("login", "--status"), ("logout", "web")):
        refused = gaia(*command)
        problem, hint = refused.errors
        assert refused.code == 4
        assert problem.startswith("error: server 'web' has a login in the system's keyring, which cannot be read: ")
        assert hint == "hint: unlock it, or log in again: gaia mcp login web"

    log_in(gaia)
    assert isinstance(_kept(gaia), dict)
    assert gaia("call", "web", "add", "a=1", "b=2").stdout == "3\n"
    assert gaia("logout", "web").stdout == "logged out of 'web'\n"
