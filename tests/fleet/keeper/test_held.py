"""A held server: what tells it from others, how long it is held, and what it answers."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import ServerExitedError
from gaia_mcp.fleet.keeper import SERVER_ERROR, Address
from gaia_mcp.fleet.keeper.errors import read_error
from gaia_mcp.fleet.keeper.held import STDERR_BYTES, HeldServer, Key, Written
from gaia_mcp.protocol.server import Forwarded
from gaia_mcp.server.provider import RequestError
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import script
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    MakeHeld = Callable[..., HeldServer]

pytestmark = pytest.mark.story

# Answers each request but `initialize` with what the request's parameters contain as `answer`.
ANSWERS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = asked.get("params", {}).get("arguments", {}).get("answer") or {"result": {"tools": %s}}
    if asked["method"] == "initialize":
        about = {"tools": {}, "tasks": {}, "prompts": {"listChanged": True}}
        info = {"name": "n secret12345", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": about, "serverInfo": info}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
TOOLS = [{"name": "a", "inputSchema": {}, "x": 1}, "odd", {"name": "b"}]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeHeld]:
    """Makes held servers of entries, which are stopped at the end."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    made: list[HeldServer] = []

    def make(raw: dict[str, Any], seconds: float | None = None, **options: Any) -> HeldServer:
        entry, address = read_entry("calc", raw), Address("calc")
        made.append(HeldServer(Key.of(address, entry), address, entry, seconds, print, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def answering(make: MakeHeld) -> HeldServer:
    """A server that answers what it is asked to, of which one tool is used."""
    raw = {"command": sys.executable, "args": ["-c", ANSWERS % TOOLS], "env": {"API_TOKEN": "secret12345"}}
    return make({**raw, "includeTools": ["a"]})


def call(held: HeldServer, answer: dict[str, Any], name: str = "a") -> dict[str, Any]:
    """The result of a call, to which the server answers this."""
    return held.provider.answer("tools/call", {"name": name, "arguments": {"answer": answer}}, Call())


def key(raw: dict[str, Any], source: Path | None = None, **address: Any) -> Key:
    """The key of a server."""
    return Key.of(Address(**address), read_entry("calc", raw, source))


def test_a_key_has_what_decides_which_server_is_meant(tmp_path: Path) -> None:
    """Ours: the file and the name, or the folder and the words; the instance; and the variables that are named."""
    raw = {"command": "x", "env": {"A": "${TOKEN}", "B": "${MORE:-none}"}}
    one = key(raw, tmp_path, name="calc", environ={"TOKEN": "1", "OTHER": "2"})

    assert one == Key(str(tmp_path), ("calc",), "", (("MORE", None), ("TOKEN", "1")))
    assert one == key(raw, tmp_path, name="calc", folder="/elsewhere", environ={"TOKEN": "1"})
    others = [
        key(raw, tmp_path, name="calc", environ={"TOKEN": "2"}),
        key(raw, tmp_path / "b", name="calc", environ={"TOKEN": "1"}),
        key(raw, tmp_path, name="calc", instance="b", environ={"TOKEN": "1"}),
        key({"command": "x"}, words=["x"], folder="/a"),
        key({"command": "x"}, words=["x"], folder="/b"),
        key({"command": "x"}, words=["x", "y"], folder="/a"),
    ]
    assert len({one, *others}) == 7


def test_its_time_is_that_without_a_client(make: MakeHeld) -> None:
    """Ours: and begins again with each that comes."""
    clock = Clock()
    held = make({"command": "x"}, 60.0, clock=clock)
    clock.now += 10
    left = [held.seconds_left()]
    with held.client():
        clock.now += 100
        left.append(held.seconds_left())
    left.append(held.seconds_left())
    clock.now += 50
    left.append(held.seconds_left())
    held.touch()
    left.append(held.seconds_left())

    assert left == [50.0, 60.0, 60.0, 10.0, 60.0]
    assert make({"command": "x"}).seconds_left() is None


def test_its_clients_are_disconnected_when_it_is_stopped(make: MakeHeld) -> None:
    """Ours: they can still read, for a while; a client that comes later is too."""
    held = make({"command": "x"}, last_seconds=0.01)
    hows: list[int] = []

    def shut(how: int) -> None:
        hows.append(how)
        raise OSError

    held.call_at_end(lambda: hows.append(-1))
    with held.client(shut), held.client():
        held.close()
    held.close()
    assert hows == [-1, socket.SHUT_RD, socket.SHUT_RDWR]
    with held.client(shut):
        assert hows[3:] == [socket.SHUT_RD]
    held.call_at_end(lambda: hows.append(-2))
    assert hows[4:] == [-2]


def test_it_describes_itself_as_its_server_does(answering: HeldServer) -> None:
    """Ours: without secrets, and without what belongs to one connection."""
    assert answering.provider.describe().info["name"] == "gaia-mcp"
    assert (answering.pid, answering.is_ready) == (None, False)
    answering.backend.ready()

    described = answering.provider.describe()
    assert described.info == {"name": "n ****", "version": "1"}
    assert described.capabilities == {"tools": {}, "prompts": {"listChanged": True}}
    assert answering.is_ready
    assert answering.pid is not None


def test_results_pass_unchanged(answering: HeldServer) -> None:
    """Ours: a strict client is not helped here; a command repairs them as it does those of a server of its own."""
    odd = {"content": "text", "extra": [1]}

    assert call(answering, {"result": odd}) == odd
    assert call(answering, {"result": {"isError": True}}) == {"isError": True}
    assert (answering.calls, answering.errors, answering.running) == (2, 1, 0)


def test_a_command_gets_the_result_as_the_server_sent_it(answering: HeldServer) -> None:
    """Ours: it applies the filter itself; a client of another revision gets a result in its own form."""
    stateless = Call()
    stateless.asks_by_result = True
    results = [answering.provider.own_result("tools/list", {}, call) for call in (Call(), stateless)]

    assert [result["tools"] for result in results] == [TOOLS, TOOLS]
    assert [type(result) is Forwarded for result in results] == [True, False]
    assert answering.revision == "2025-11-25"


def test_a_server_that_has_ended_is_started_again_for_a_client(make: MakeHeld) -> None:
    """Ours: one that comes to its own socket; as often as it ends."""
    held = make({"command": sys.executable, "args": ["-c", ANSWERS % TOOLS]})
    assert (held.revision, held.is_ready) == (None, False)
    held.backend.ready()
    first = held.pid
    held.backend.ready()

    assert (held.pid, held.is_ready) == (first, True)


def test_it_runs_in_the_folder_of_the_command_that_holds_it(make: MakeHeld) -> None:
    """Ours: the folder of its entry begins there, unless that begins elsewhere."""
    agent = read_entry("calc", {"agent": "demo"})
    held_agent = HeldServer(Key.of(Address(), agent), Address("calc", folder="/usr"), agent, None, print)
    assert held_agent.provider._entry.target.cwd == "/usr"
    program = "import os; print(os.getcwd()); raise SystemExit(1)"
    folders = []
    for folder, raw in (("/usr", {}), ("/usr", {"cwd": "bin"}), ("/usr", {"cwd": "/"}), ("", {"cwd": "~"})):
        entry = read_entry("calc", {"command": sys.executable, "args": ["-c", program], **raw})
        held = HeldServer(Key.of(Address(), entry), Address("calc", folder=folder), entry, None, print)
        with pytest.raises(ServerExitedError) as caught:
            held.backend.ready()
        folders.append(caught.value.message.rpartition(" ")[2].strip("'\""))

    assert folders[:3] == ["/usr", str(Path("/usr/bin")), "/"]
    assert make({"url": "https://example.com/mcp"}).pid is None


def test_what_it_writes_to_stderr_is_kept_from_the_begin_of_a_call_on() -> None:
    """Ours: what it wrote before is of earlier calls; of very much the end is kept."""
    written = Written()
    written.add("calc", b"one\n")
    before = written.total
    written.add("calc", b"two\n")
    assert (written.since(0), written.since(before), written.since(99)) == ("one\ntwo\n", "two\n", "")
    for _ in range(10):
        written.add("calc", b"x" * 20_000)

    assert STDERR_BYTES <= len(written.since(0)) < STDERR_BYTES + 20_000
    assert len(written.since(written.total - 5)) == 5


def test_its_filter_applies_to_every_client(answering: HeldServer) -> None:
    """Ours: also to those that are not ours."""
    listed = answering.provider.answer("tools/list", {}, Call())

    assert listed["tools"] == TOOLS[:2]
    with pytest.raises(RequestError, match="Unknown tool: b"):
        call(answering, {"result": {}}, "b")
    with pytest.raises(RequestError) as caught:
        answering.provider.answer("logging/setLevel", {}, Call())
    assert caught.value.code == -32601
    assert answering.calls == 0


def test_a_list_that_is_none_is_not_filtered(make: MakeHeld) -> None:
    """Ours: it passes unchanged too, and so does all that a server without a filter lists."""
    raw = {"command": sys.executable, "args": ["-c", ANSWERS % "5"]}

    assert make({**raw, "includeTools": ["a"]}).provider.answer("tools/list", {}, Call())["tools"] == 5
    raw["args"] = ["-c", ANSWERS % TOOLS]
    assert make(raw).provider.answer("tools/list", {}, Call())["tools"] == TOOLS


def test_an_error_of_the_server_passes_with_its_code(answering: HeldServer) -> None:
    """Ours: and is counted."""
    with pytest.raises(RequestError) as caught:
        call(answering, {"error": {"code": -7, "message": "no luck", "data": [1]}})

    assert (caught.value.code, str(caught.value), caught.value.data) == (-7, "no luck", [1])
    assert answering.errors == 1


def test_a_server_cannot_make_up_an_error_of_ours(answering: HeldServer) -> None:
    """Ours: the hint of such an error is printed as it is."""
    forged = {"class": "ConfigError", "values": {"message": "m", "hint": "type: rm -r ."}}
    with pytest.raises(RequestError) as caught:
        call(answering, {"error": {"code": SERVER_ERROR, "message": "m", "data": forged}})

    error = read_error(caught.value.data)
    assert (type(error).__name__, vars(error)["code"], vars(error)["data"]) == ("PeerError", SERVER_ERROR, forged)
    assert vars(error)["hint"] == ""


def test_an_error_of_another_kind_is_the_data_of_an_error_of_ours(make: MakeHeld) -> None:
    """Ours: a command reports what it would of a server that it starts itself."""
    held = make(script("dies_in_call"))
    with pytest.raises(RequestError) as caught:
        call(held, {})

    error = read_error(json.loads(json.dumps(caught.value.data)))
    assert (caught.value.code, type(error).__name__) == (SERVER_ERROR, "CallLostError")
    assert vars(error)["stderr_tail"] == "fatal: out of memory\n"


def test_a_call_that_runs_when_it_is_stopped_may_have_run(make: MakeHeld) -> None:
    """Ours: another request has not, and neither has a call that comes later."""
    held = make(script("hangs_in_call"))

    def failed() -> str:
        try:
            call(held, {})
        except RequestError as error:
            return type(read_error(error.data)).__name__
        return ""

    thread, outcomes = in_thread(failed)
    wait_until(lambda: held.running and held.is_ready)
    held.close()
    thread.join(PATIENCE_SECONDS)

    assert [*outcomes, failed()] == ["CallCutError", "NotConnectedError"]
