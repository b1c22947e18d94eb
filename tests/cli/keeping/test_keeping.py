"""When a command uses a server that is held, and when it has one held."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gaia_mcp
from gaia_mcp.cli.keeping import LOG_BYTES
from tests.cli.conftest import entry_of
from tests.processes import end_all_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.cli.conftest import Gaia

MEM = entry_of("remembers")


@pytest.fixture
def mem(keeping: Gaia) -> Gaia:
    """The program, with a server whose `keep` returns the word that it was called with before."""
    keeping.write({"mem": MEM})
    return keeping


def kept(gaia: Gaia, word: str, *more: str, name: str = "mem", **variables: str) -> str:
    """The word that the server was called with before."""
    return gaia("call", name, "keep", f"label={word}", *more, **variables).stdout.rstrip("\n")


def held_names(gaia: Gaia) -> list[str]:
    return [each["name"] for each in gaia("ps", "--json").json["servers"]]


def sockets_of(gaia: Gaia) -> Path:
    """The folder of the keeper's sockets, whose name is known once there is one."""
    (folder,) = Path(gaia.environ["XDG_RUNTIME_DIR"], "gaia-mcp").iterdir()
    return folder


def test_a_command_uses_a_held_server_unless_it_is_to_be_fresh(mem: Gaia) -> None:
    """Ours: `--fresh` and the variable start one that knows nothing, and leave the other alone."""
    mem("up", "mem")
    kept(mem, "one")

    assert kept(mem, "two", "--fresh") == ""
    assert kept(mem, "three", GAIA_MCP_KEEPER="0") == ""
    assert kept(mem, "four") == "one"
    assert mem("read", "mem", "mem://word").stdout == "four\n"
    assert mem("read", "mem", "mem://word", "--fresh").stdout == ""


def test_what_is_not_about_a_running_server_uses_none(mem: Gaia) -> None:
    """Ours: `lock`, `record` and `serve` are about a server of their own."""
    mem("up", "mem")
    mem("lock", "mem")

    assert mem("ps", "--json").json["servers"][0]["calls"] == 0


def test_an_entry_that_keeps_its_server_alive_starts_it_with_the_first_command(keeping: Gaia) -> None:
    """Ours: `keepAlive` is for the server that a person always wants held; the time begins with the last command."""
    keeping.write({"mem": {**MEM, "keepAlive": "1s"}})

    assert [kept(keeping, "one"), kept(keeping, "two")] == ["", "one"]
    assert keeping("ps", "--json").json["servers"][0]["keepAlive"] == 1
    wait_until(lambda: held_names(keeping) == [])
    assert kept(keeping, "three") == ""


def test_up_holds_without_a_limit_what_a_command_has_begun_to_hold(keeping: Gaia) -> None:
    """Ours: who types `up` wants the server until `down`."""
    keeping.write({"mem": {**MEM, "keepAlive": "1h"}})
    kept(keeping, "one")

    (server,) = keeping("up", "mem", "--json").json["servers"]

    assert server["keepAlive"] is None
    assert kept(keeping, "two") == "one"


@pytest.mark.parametrize("variables", [{"CI": "true"}, {"GAIA_MCP_KEEPER": "0"}])
def test_a_build_starts_no_keeper_by_itself(keeping: Gaia, variables: dict[str, str]) -> None:
    """Ours: a process that outlives its command would outlive a build."""
    keeping.write({"mem": {**MEM, "keepAlive": True}})

    assert kept(keeping, "one", **variables) == ""
    assert held_names(keeping) == []


def test_shells_with_other_values_of_a_variable_have_servers_of_their_own(keeping: Gaia) -> None:
    """Ours: only of the variables that the entry names, since each shell has other values of some."""
    keeping.write({"mem": {**MEM, "env": {"WORD": "${WORD}"}}})
    keeping("up", "mem", WORD="red", OTHER="1")
    keeping("up", "mem", WORD="blue")
    kept(keeping, "one", WORD="red")
    kept(keeping, "two", WORD="blue", OTHER="2")

    assert kept(keeping, "x", WORD="red", OTHER="3") == "one"
    assert kept(keeping, "x", WORD="blue") == "two"
    assert kept(keeping, "x", WORD="green") == ""


def test_projects_have_servers_of_their_own(keeping: Gaia) -> None:
    """Ours: the name alone does not tell which entry is meant, nor does a target that is typed."""
    words = [str(MEM["command"]), *MEM["args"]]
    folders = [keeping.cwd / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
        (folder / "mcp_servers.json").write_text(json.dumps({"mcpServers": {"mem": MEM}}))
        keeping.cwd = folder
        assert keeping("trust").code == 0
        assert keeping("up", "mem").code == keeping("up", "--", *words).code == 0
        kept(keeping, folder.name)
        keeping("call", "keep", f"label={folder.name}", "--", *words)

    for folder in folders:
        keeping.cwd = folder
        assert kept(keeping, "x") == folder.name
        assert keeping("call", "keep", "label=x", "--", *words).stdout == f"{folder.name}\n"
    listed = keeping("ps").stdout
    assert all(f"from {folder / 'mcp_servers.json'}" in listed for folder in folders)
    keeping("down", "mem")
    assert kept(keeping, "y") == ""
    keeping.cwd = folders[0]
    assert kept(keeping, "y") == "x"


def test_a_changed_entry_starts_its_server_again_and_no_other(keeping: Gaia) -> None:
    """Ours: what the server kept is lost, and the command says so, once."""
    keeping.write({"mem": MEM, "other": MEM})
    keeping("up", "mem", "other")
    kept(keeping, "one")
    kept(keeping, "one", name="other")
    keeping.write({"mem": {**MEM, "env": {"A": "1"}}, "other": MEM})

    ran = keeping("call", "mem", "keep", "label=two")

    assert (ran.code, ran.stdout) == (0, "")
    assert ran.stderr == "note: the entry of 'mem' has changed, and it was started again: what it kept is lost\n"
    assert keeping("call", "mem", "keep", "label=three").stderr == ""
    assert kept(keeping, "two", name="other") == "one"


def test_a_server_that_has_ended_is_started_again_with_a_remark(keeping: Gaia) -> None:
    """Ours: the call that it ended reports it, with its last words; the next one works, without the state."""
    keeping.write({"dies": entry_of("good-handshake")})
    keeping("up", "dies")

    died = keeping("call", "dies", "die")
    after = keeping("call", "dies", "echo", "a=b")

    assert died.code == 4
    assert died.stderr.startswith(
        "error: server 'dies' exited with status 3 while answering tools/call 'die'; "
        "the last line of its stderr: told to die\nhint: 'die' may have run, and was not called again; "
    )
    assert (after.code, after.stdout) == (0, '{"a": "b"}\n')
    assert after.stderr == "note: server 'dies' had ended, and was started again: what it kept is lost\n"


def test_a_folder_that_others_can_enter_is_not_used(mem: Gaia) -> None:
    """Ours: who can enter it could answer in the place of the keeper. A command that needs none starts its own."""
    mem("up", "mem")
    sockets = sockets_of(mem)
    sockets.chmod(0o755)

    called, shown = mem("call", "mem", "keep", "label=x"), mem("ps")

    problem = f"the folder '{sockets}' of the sockets can be used by others: its mode is 0755"
    assert called.code == 0
    assert called.stderr == f"note: {problem}; 'mem' is started for this command alone\n"
    assert (shown.code, shown.stderr.splitlines()[0]) == (4, f"error: {problem}")
    assert mem("up", "mem").code == mem("down", "--all").code == 4
    sockets.chmod(0o700)


def test_a_path_that_is_too_long_for_a_socket_is_named(mem: Gaia) -> None:
    """Ours: the system has room for 107 bytes."""
    mem.write({"mem": {**MEM, "keepAlive": True}})
    long = Path(mem.environ["XDG_RUNTIME_DIR"], "x" * 100)
    long.mkdir()

    up = mem("up", "mem", XDG_RUNTIME_DIR=str(long))
    called = mem("call", "mem", "keep", "label=x", XDG_RUNTIME_DIR=str(long))

    assert up.code == 4
    assert "bytes, and 107 are allowed: " in up.stderr
    assert up.stderr.endswith("\nhint: name a folder with a shorter path in XDG_RUNTIME_DIR\n")
    assert called.code == 0
    assert called.stderr.endswith("; 'mem' is started for this command alone\n")


def test_a_folder_that_cannot_be_made_is_named(mem: Gaia) -> None:
    """Ours: a command that only asks for a server to be held goes on without."""
    mem.write({"mem": {**MEM, "keepAlive": True}})
    place = Path(mem.environ["XDG_RUNTIME_DIR"], "gaia-mcp")
    place.write_text("")

    assert mem("up", "mem").stderr.startswith(f"error: the folder of the keeper, {place}, cannot be used: ")
    ran = mem("call", "mem", "keep", "label=x")
    assert ran.code == 0
    assert ran.stderr.endswith("; 'mem' is started for this command alone\n")
    assert mem("ps").code == 0


def test_the_folder_for_temporary_files_is_used_without_a_better_one(mem: Gaia) -> None:
    """Ours: without a login session there is none, and the one of TMPDIR may be gone."""
    runtime = mem.environ["XDG_RUNTIME_DIR"]
    places: list[dict[str, str]] = [
        {"XDG_RUNTIME_DIR": f"{runtime}/gone", "TMPDIR": runtime},
        {"XDG_RUNTIME_DIR": f"{runtime}/gone", "TMPDIR": f"{runtime}/gone"},
    ]
    for place in places:
        try:
            assert mem("up", "mem", **place).code == 0
            assert [kept(mem, word, **place) for word in "ab"] == ["", "a"]
        finally:
            assert mem("down", "--all", **place).code == 0
            end_all_with(f"XDG_RUNTIME_DIR={runtime}/gone\0")


def test_the_socket_of_a_keeper_that_was_killed_is_no_keeper(mem: Gaia) -> None:
    """Ours: it refuses connections, and the next keeper takes its place, and removes the others that were left."""
    mem("up", "mem")
    sockets = sockets_of(mem)
    mem("down", "mem")
    wait_until(lambda: not sockets.exists())
    sockets.mkdir(mode=0o700)
    for name in (".keeper", "mem.sock"):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(sockets / name))

    assert kept(mem, "one") == ""
    assert held_names(mem) == []
    assert mem("up", "mem").code == 0
    assert sorted(path.name for path in sockets.iterdir()) == [".keeper", ".lock", "mem.sock"]


@pytest.fixture
def other_version(mem: Gaia) -> Iterator[dict[str, str]]:
    """The variables of a command that is of another version: a package with links to all files of this one but one."""
    folder = Path(tempfile.mkdtemp(prefix="g"))
    (folder / "gaia_mcp").mkdir()
    for path in Path(gaia_mcp.__file__).parent.iterdir():
        if path.name not in ("_version.py", "__pycache__"):
            (folder / "gaia_mcp" / path.name).symlink_to(path)
    (folder / "gaia_mcp" / "_version.py").write_text('__version__ = "0.0.9"\n')
    yield {**mem.environ, "PYTHONPATH": str(folder)}
    shutil.rmtree(folder)


def typed_in(gaia: Gaia, environ: dict[str, str], *words: str) -> tuple[int, str, str]:
    """The outcome of a line in another version."""
    command = [sys.executable, "-m", "gaia_mcp", *words]
    ran: Any = gaia.command(*command, env=environ, starts=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def test_a_keeper_of_another_version_is_ended_once_it_is_idle(mem: Gaia, other_version: dict[str, str]) -> None:
    """Ours: an update must not wait for a person. Until then, a command starts its own server."""
    mem.write({"mem": MEM, "hand": entry_of("good-handshake")})
    assert typed_in(mem, other_version, "up", "mem", "hand")[0] == 0
    calling = mem.popen("call", "hand", "slow", "seconds:=60", env=other_version)
    wait_until(lambda: mem("ps", "--json").json["keeper"]["running"])
    busy = mem("call", "mem", "keep", "label=one")
    calling.terminate()
    calling.communicate()
    wait_until(lambda: not mem("ps", "--json").json["keeper"]["running"])

    ran = mem("call", "mem", "keep", "label=one")

    assert (busy.code, ran.code) == (0, 0)
    assert busy.stderr == (
        "note: the keeper is of version 0.0.9, and is busy: 'mem' is started for this command alone\n"
    )
    assert ran.stderr == (
        "note: the keeper is of version 0.0.9: it was ended, with the servers that it held; "
        "hold this one again with: gaia mcp up mem\n"
    )
    assert held_names(mem) == []


def test_a_log_is_cut_when_a_keeper_starts(mem: Gaia) -> None:
    """Ours: to its end, so that it does not fill the disk. Without a place for it, the keeper runs all the same."""
    mem("up", "mem")
    mem("down", "mem")
    (log,) = mem.home.rglob("keeper.log")
    log.write_text("an old line\n" * (LOG_BYTES // 12 + 2))
    mem("up", "mem")

    assert log.stat().st_size < LOG_BYTES
    assert log.read_text().splitlines()[0] == "an old line"
    mem("down", "mem")
    shutil.rmtree(log.parent)
    log.parent.write_text("")
    assert mem("up", "mem").code == 0
