"""What the keeper and its clients share: addresses, and lines."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.deadline import Deadline
from gaia_mcp.fleet.keeper import Address, encoded_line, is_switched_off, read_line, socket_path
from tests.fleet.keeper.conftest import enough

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FULL = Address("calc", ["a", "b"], "one", "/c.json", "/work", {"A": "1", "B": "\udcff"})


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two connected sockets."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("address", [FULL, Address(), Address("calc")])
def test_an_address_passes_as_json(address: Address) -> None:
    """Ours: also a variable that is not UTF-8."""
    found = Address.of({"version": "1", **json.loads(json.dumps(address.as_json()))})

    assert found.as_json() == address.as_json()


def test_an_address_is_shown_as_it_is_typed() -> None:
    """Ours: `down` takes what `ps` prints."""
    shown = [Address("calc").shown, Address("calc", instance="b").shown, Address(words=["npx", "x"]).shown]

    assert shown == ["calc", "calc@b", "npx x"]


@pytest.mark.parametrize(
    "params",
    [
        {"name": 1}, {"instance": None}, {"folder": []}, {"config": 1}, {"words": "ab"}, {"words": [1]},
        {"environ": []}, {"environ": {"A": 1}}, {"folder": "/a\0b"}, {"config": "\0"},
    ],
)  # fmt: skip
def test_an_address_with_wrong_types_is_refused(params: dict[str, Any]) -> None:
    """Ours: it is what any process of the user may have sent."""
    with pytest.raises(ValueError, match="invalid"):
        Address.of(params)


def test_each_configuration_has_a_socket_of_its_own(tmp_path: Path) -> None:
    """Ours: below the folder of the login session."""
    variables = {"XDG_RUNTIME_DIR": str(tmp_path)}
    one, other = (socket_path({**variables, "GAIA_HOME": home}) for home in ("/a", "/b"))

    assert one != other
    assert (one.name, one.parent.parent) == (".keeper", tmp_path / "gaia-mcp")


def test_a_variable_switches_keepers_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: with "0", and with nothing else."""
    monkeypatch.setenv("GAIA_MCP_KEEPER", "0")
    assert is_switched_off()
    assert not is_switched_off({"GAIA_MCP_KEEPER": "1"})
    assert not is_switched_off({})


def test_lines_are_read_one_after_the_other(pair: tuple[socket.socket, socket.socket]) -> None:
    """Ours: nothing of what comes at once, or in pieces, is lost; blank lines are left out."""
    ours, theirs = pair
    theirs.sendall(encoded_line({"a": 1}) + b"\n  \n" + b"second\nthe ")

    line, rest = read_line(ours, enough()) or (b"", b"")
    assert json.loads(line) == {"a": 1}
    assert read_line(ours, enough(), rest) == (b"second", b"the ")
    theirs.sendall(b"third\n")
    assert read_line(ours, enough(), b"the ") == (b"the third", b"")
    theirs.sendall(b"unfinished")
    theirs.close()
    assert read_line(ours, enough()) is None


def test_a_line_that_does_not_end_is_given_up(pair: tuple[socket.socket, socket.socket]) -> None:
    """Ours: neither its size nor its time is without a limit."""
    ours, theirs = pair
    theirs.sendall(b"x")
    with pytest.raises(TimeoutError):
        read_line(ours, Deadline(0.01))
    with pytest.raises(TimeoutError):
        read_line(ours, Deadline(0.0))
    theirs.sendall(b"x")

    assert read_line(ours, enough(), b"x" * 11, limit=10) is None
