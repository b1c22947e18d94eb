"""Servers behind a network with a proxy: which settings of the shell they inherit, and the hint when one is missing."""

from __future__ import annotations

import base64
import shlex
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

PRIVATE_INDEX = "http://ada:swordfish@private.index.invalid/simple"


class Proxy(BaseHTTPRequestHandler):
    """A proxy that wants a password, and has only a few pages."""

    user = "worker:hunter2"
    pages: tuple[str, ...] = ("http://public.index.invalid/simple", PRIVATE_INDEX)

    def do_GET(self) -> None:
        wanted = f"Basic {base64.b64encode(self.user.encode()).decode()}"
        if self.headers.get("Proxy-Authorization") != wanted:
            self.send_error(407, "Proxy Authentication Required")
        elif self.path not in self.pages:
            self.send_error(401, "Unauthorized")
        else:
            self.send_response(200)
            self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class PrivateProxy(Proxy):
    """A proxy that lets nothing through to the public index."""

    pages = (PRIVATE_INDEX,)


@contextmanager
def proxy(kind: type[Proxy] = Proxy) -> Iterator[str]:
    """The URL of a proxy on this machine, with its password."""
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://{kind.user}@127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def command(name: str) -> list[str]:
    entry = entry_of(name)
    return [entry["command"], *entry["args"]]


def test_a_server_is_fetched_through_the_proxy_of_the_shell_without_showing_its_password(gaia: Gaia) -> None:
    """Ours: the same command works in the shell; the password of the proxy is in no log."""
    with proxy() as url:
        added = gaia("add", "calc", "--", *command("needs_index"), http_proxy=url)
        called = gaia("call", "calc", "echo", "--debug", http_proxy=url)
    logs = gaia("logs", "calc")

    assert added.code == 0, added.stderr
    assert "fetching from http://public.index.invalid/simple by http://****@127.0.0.1" in logs.stdout
    assert "hunter2" not in added.stdout + added.stderr + called.stderr + logs.stdout


def test_an_error_about_the_network_names_the_variables_that_were_not_passed_on(gaia: Gaia) -> None:
    """Ours: an index with a password is passed on only if it is asked for, and the hint says how."""
    with proxy(PrivateProxy) as url:
        shell = {"http_proxy": url, "UV_INDEX_URL": PRIVATE_INDEX, "UV_PUBLISH_TOKEN": "pypi-x", "EDITOR": "vi"}
        refused = gaia("add", "calc", "--", *command("needs_index"), **shell)
        as_json = gaia("add", "calc", "--json", "--", *command("needs_index"), **shell)
        gaia("add", "calc", "--no-check", "--", *command("needs_index"), **shell)
        called = gaia("tools", "calc", **shell)
        edited = gaia("edit", "calc", "--env", "UV_INDEX_URL", **shell)
        listed = gaia("tools", "calc", **shell)

    what = "set here, but not passed to the server: UV_INDEX_URL;"
    assert refused.code == 4
    line = shlex.join(["gaia", "mcp", "add", "calc", "--env", "UV_INDEX_URL", "--", *command("needs_index")])
    assert refused.errors[-1] == f"hint: nothing was saved; {what} pass it with: {line}"
    assert as_json.json["error"]["not_passed_on"] == ["UV_INDEX_URL"]
    assert called.errors[-1] == f"hint: {what} pass it with: gaia mcp edit calc --env UV_INDEX_URL"
    assert (edited.code, listed.code) == (0, 0), edited.stderr
    assert "swordfish" not in refused.stderr + edited.stdout + edited.stderr


def test_more_variables_than_a_hint_names_are_passed_on_together(gaia: Gaia) -> None:
    """Ours: a command line of ten options is not typed."""
    gaia.use("needs-index")

    names = ("PIP_PASSWORD", "UV_A_TOKEN", "UV_B_TOKEN", "NPM_TOKEN")
    failed = gaia("tools", "needs-index", **dict.fromkeys(names, "x"))

    assert failed.errors[-1] == (
        "hint: set here, but not passed to the server: NPM_TOKEN, PIP_PASSWORD, UV_A_TOKEN and 1 more; "
        "pass them with: gaia mcp edit needs-index --inherit-env"
    )


def test_a_server_that_fails_for_another_reason_is_not_blamed_on_the_network(gaia: Gaia) -> None:
    """Ours: wrong advice costs more time than no advice."""
    gaia.use("exits-at-once")

    failed = gaia("tools", "exits-at-once", UV_INDEX_URL=PRIVATE_INDEX)

    assert failed.code == 4
    assert "UV_INDEX_URL" not in failed.stderr


@pytest.mark.parametrize("way", ["add", "edit"])
def test_a_server_may_inherit_every_variable(gaia: Gaia, way: str) -> None:
    """Ours: `inherit` is shown with the entry, and `--no-inherit-env` removes it."""
    with proxy(PrivateProxy) as url:
        shell = {"http_proxy": url, "UV_INDEX_URL": PRIVATE_INDEX}
        if way == "add":
            saved = gaia("add", "calc", "--inherit-env", "--", *command("needs_index"), **shell)
        else:
            gaia("add", "calc", "--no-check", "--", *command("needs_index"))
            saved = gaia("edit", "calc", "--inherit-env", **shell)
        shown = gaia("show", "calc")
        listed = gaia("list", "--json")
        called = gaia("call", "calc", "echo", **shell)
        taken_back = gaia("edit", "calc", "--no-inherit-env", "--no-check")
        no_longer = gaia("call", "calc", "echo", **shell)

    assert saved.code == 0, saved.stderr
    assert ["inherit", "yes"] in [line.split() for line in shown.stdout.splitlines()]
    assert listed.json["servers"][0]["inherit"] is True
    assert called.code == 0, called.stderr
    assert "inherit: true → nothing" in taken_back.stdout
    assert no_longer.code == 4


def test_only_a_command_inherits_variables(gaia: Gaia) -> None:
    """Ours: a URL has no environment."""
    refused = gaia("add", "far", "--url", "https://example.com/mcp", "--inherit-env", "--no-check")

    assert refused.code == 2
    assert "--inherit-env is for a command" in refused.stderr


def test_an_invalid_inherit_names_the_member(gaia: Gaia) -> None:
    """Ours: the person corrects the file by hand, so the error says where."""
    gaia.use("good-handshake", inherit="yes")

    assert "'inherit' must be true or false" in gaia("tools", "good-handshake").stderr


def test_debug_names_each_variable_that_is_not_passed_on(gaia: Gaia) -> None:
    """Ours: without its value; a server often needs one of them."""
    variables = {"MY_SETTING": "swordfish", "GIVEN": "1"}
    gaia.use("good-handshake", env={"GIVEN": "${GIVEN}"})

    shown = gaia("tools", "good-handshake", "--debug", **variables)
    quiet = gaia("tools", "good-handshake", **variables)
    added = gaia("add", "x", "--debug", "--", *command("good-handshake"), **variables)
    everything = gaia("add", "y", "--debug", "--inherit-env", "--", *command("good-handshake"), **variables)

    assert "note: not passed on to 'good-handshake': MY_SETTING" in shown.stderr
    assert "note: not passed on to 'x': GIVEN, MY_SETTING" in added.stderr
    assert "not passed on" not in quiet.stderr + everything.stderr
    assert "swordfish" not in shown.stderr + added.stderr
