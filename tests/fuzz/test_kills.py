"""A little of `python -m tests.fuzz kills`, and proof that its checks find something."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.oracles import Fault
from tests.fuzz.writers import World

ROOT = Path(__file__).parents[2]
KILLS = ["--count", "50", "--cold", "2", "--seed", "3"]


@pytest.mark.story
def test_a_kill_leaves_complete_files_and_every_acknowledged_change() -> None:
    """Ours: at any moment of a command that writes. In a process of its own, which forks and takes in orphans."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "kills", *KILLS], cwd=ROOT, capture_output=True, text=True, timeout=300
    )

    assert done.returncode == 0, done.stdout + done.stderr
    for outcome in ("ended before", "killed, done", "killed, not done", "killed between making and renaming"):
        assert outcome in done.stdout


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Files that no command has touched."""
    return World(tmp_path)


def test_a_damaged_file_is_found(world: World) -> None:
    """Ours: the check can fail."""
    world.files["config"].write_text(world.files["config"].read_text()[:-3])

    with pytest.raises(Fault, match="is damaged"):
        world.check(world.next(Random(1)), is_acknowledged=False)


def test_an_acknowledged_entry_that_is_gone_is_found(world: World) -> None:
    """Ours: the check can fail."""
    config = json.loads(world.files["config"].read_text())
    del config["mcpServers"]["real"]
    world.files["config"].write_text(json.dumps(config))

    with pytest.raises(Fault, match="'real' of"):
        world.check(world.next(Random(1), only="remove"), is_acknowledged=False)


def test_acknowledged_work_that_was_not_done_is_found(world: World) -> None:
    """Ours: the check can fail."""
    with pytest.raises(Fault, match="has not done it"):
        world.check(world.next(Random(1), only="add"), is_acknowledged=True)


def test_a_leftover_file_is_found(world: World) -> None:
    """Ours: the check can fail."""
    (world.home / ".gaia" / "mcp_servers.json.bak").touch()

    with pytest.raises(Fault, match="it has left"):
        world.check(world.next(Random(1), only="add"), is_acknowledged=False)
