"""Preparing: once for each version, whole or not at all; and what a test hears of what has not been prepared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.prepare.fixtures import Prepared
from tests.prepare.installing import InstallError
from tests.prepare.peers import BENCH_PEERS, PEERS, Peer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made() -> list[Path]:
    """The folders in which the peer has been made."""
    return []


@pytest.fixture
def peer(tmp_path: Path, made: list[Path]) -> Peer:
    """A peer that takes no time to install."""

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "server").touch()

    return Peer("mine", ("mine==1",), make, "server", tmp_path)


def test_a_peer_is_installed_once(peer: Peer, made: list[Path]) -> None:
    """Ours: running it again does nothing."""
    for _ in range(2):
        peer.install()

    assert peer.is_there
    assert len(made) == 1
    assert [path.name for path in peer.cache.iterdir()] == [peer.folder.name]


def test_another_version_lies_elsewhere(peer: Peer) -> None:
    """Ours: checkouts of several versions share the cache."""
    assert replace(peer, versions=("mine==2",)).folder != peer.folder


def test_what_could_not_be_installed_leaves_nothing(peer: Peer) -> None:
    """Ours: whether the installer fails, or does not bring what it should."""

    def fail(_: Path) -> None:
        raise InstallError("no network")

    with pytest.raises(InstallError, match="no network"):
        replace(peer, make=fail).install()
    with pytest.raises(InstallError, match="mine==1 has no other"):
        replace(peer, witness="other").install()

    assert list(peer.cache.iterdir()) == []


def test_a_peer_whose_interpreter_has_gone_is_installed_again(peer: Peer, made: list[Path]) -> None:
    """Ours: a virtual environment only links to the Python that it was made with."""
    peer.install()
    (peer.folder / "server").unlink()
    (peer.folder / "server").symlink_to("gone")

    peer.install()

    assert peer.is_there
    assert len(made) == 2


def test_what_is_missing_is_a_skip_on_a_persons_machine_and_a_failure_elsewhere(peer: Peer) -> None:
    """Ours: with the command that installs it."""
    with pytest.raises(pytest.skip.Exception, match=r"mine is missing: .*`python -m tests\.prepare`"):
        Prepared({}).folder(peer)
    with pytest.raises(pytest.fail.Exception, match=r"surely-not is missing: .*`python -m tests\.prepare`"):
        Prepared({"CI": "true"}).program("surely-not")


def test_no_two_peers_share_a_folder() -> None:
    """Ours: one would be taken for the other, and never be installed."""
    peers = PEERS + BENCH_PEERS
    assert len({peer.folder for peer in peers}) == len(peers)
