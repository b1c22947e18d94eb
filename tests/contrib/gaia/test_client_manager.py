"""`MCPClientManager`: many servers, none of which costs another anything."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest

from gaia_mcp.client import MCPClient, MCPClientManager
from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.host import Host
from gaia_mcp.core.errors import ConfigFileError, ConnectError, EntryError, ServerExistsError
from tests.processes import living_with
from tests.waiting import PATIENCE_SECONDS, wait_until

SERVERS = Path(__file__).parents[2] / "servers"


def entry(mark: str, server: str = "good_stateless", **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / f"{server}.py")], "env": {"MARK": mark}, **more}


def saved(config: MCPConfig) -> dict[str, Any]:
    if not config.config_file.exists():
        return {}
    servers: dict[str, Any] = json.loads(config.config_file.read_text())["mcpServers"]
    return servers


def test_a_server_is_connected_and_then_saved(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents."""
    client = manager.add_server("one", entry(mark))

    assert isinstance(client, MCPClient)
    assert client.is_connected()
    assert manager.get_client("one") is client
    assert manager.list_servers() == ["one"]
    assert saved(manager.config) == {"one": entry(mark)}


def test_an_entry_filters_the_tools_of_its_server(manager: MCPClientManager, mark: str) -> None:
    """Ours: the others can be neither listed nor called, and are not counted."""
    client = manager.add_server("one", entry(mark, "many_pages", includeTools=["tool9*"], excludeTools=["tool9?*"]))

    assert [tool.name for tool in client.list_tools()] == ["tool9"]
    assert manager.get_status_report()[0]["tool_count"] == 1
    assert "is not among the 'includeTools' of its entry" in client.call_tool("tool1", {})["error"]
    assert "is excluded by the 'excludeTools' of its entry" in client.call_tool("tool90", {})["error"]


def test_a_server_that_cannot_be_reached_is_not_saved(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents: a RuntimeError with the reason."""
    with pytest.raises(RuntimeError, match=r"Failed to connect to MCP server 'bad': .*exited with status 3") as caught:
        manager.add_server("bad", entry(mark, "exits_at_once"))

    assert isinstance(caught.value, ConnectError)
    assert caught.value.server == "bad"
    assert manager.list_servers() == []
    assert saved(manager.config) == {}


def test_a_name_can_be_added_only_once(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents: a ValueError."""
    manager.add_server("one", entry(mark))

    with pytest.raises(ValueError, match="MCP server 'one' already exists") as caught:
        manager.add_server("one", entry(mark))

    assert isinstance(caught.value, ServerExistsError)


def test_of_two_threads_with_one_name_only_one_starts_a_server(manager: MCPClientManager, mark: str) -> None:
    """Ours: the name is taken before the server is started."""
    outcomes: list[str] = []

    def add() -> None:
        try:
            manager.add_server("one", entry(mark))
            outcomes.append("connected")
        except ServerExistsError:
            outcomes.append("exists")

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(outcomes) == ["connected", "exists", "exists", "exists"]
    assert len(living_with(mark)) == 1


def test_an_invalid_entry_is_a_value_error_with_the_name(manager: MCPClientManager) -> None:
    """GAIA's documents, and ours: the member that is wrong is named."""
    rows: list[tuple[Any, str]] = [
        ("uvx server", "config dict"),
        ({}, "command"),
        ({"command": "x", "args": [1]}, "'args' must be a list of strings"),
        ({"command": "x", "env": ["A=1"]}, "'env' must be an object of strings"),
        ({"command": "x", "timeout": "soon"}, "'timeout' must be a number"),
    ]

    for config, problem in rows:
        with pytest.raises(ValueError, match=problem) as caught:
            manager.add_server("odd", config)
        assert isinstance(caught.value, EntryError)
        assert "'odd'" in str(caught.value)


def test_an_invalid_server_name_is_refused(manager: MCPClientManager, mark: str) -> None:
    """Ours: the names of its tools begin with it."""
    for name in ("", "a b", "a/b", "-x", "x" * 65, "ä"):
        with pytest.raises(EntryError):
            manager.add_server(name, entry(mark))


def test_a_server_that_cannot_be_saved_is_stopped(tmp_path: Path, mark: str) -> None:
    """Ours: connected but forgotten would be neither."""
    config = MCPConfig(tmp_path / "servers.json")
    config.config_file.write_text("{")

    with MCPClientManager(config) as manager, pytest.raises(ConfigFileError):
        manager.add_server("one", entry(mark))

    assert manager.list_servers() == []
    wait_until(lambda: not living_with(mark))


def test_a_removed_server_is_stopped_and_deleted_from_the_file(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents."""
    client = manager.add_server("one", entry(mark))

    manager.remove_server("one")

    assert not client.is_connected()
    assert manager.get_client("one") is None
    assert saved(manager.config) == {}


def test_removing_an_unknown_server_is_a_warning(manager: MCPClientManager, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents: no exception."""
    with caplog.at_level(logging.WARNING, "gaia_mcp"):
        manager.remove_server("unknown")

    assert "'unknown'" in caplog.text


def test_all_configured_servers_are_loaded_at_once_and_a_failed_one_delays_no_other(
    config: MCPConfig, mark: str
) -> None:
    """Ours: each has its own time; what failed is in the report with its reason."""
    for name, server in {"one": entry(mark), "two": entry(mark, "good_handshake")}.items():
        config.add_server(name, server)
    config.add_server("dead", entry(mark, "exits_at_once"))
    config.add_server("slow", entry(mark, "hangs_at_start", timeout=0.5))
    config.add_server("off", entry(mark, disabled=True))
    config.add_server("unset", entry(mark, cwd="${SURELY_NOT_SET}"))
    config.add_server("far", {"url": "http://127.0.0.1:1/mcp"})

    with MCPClientManager(config) as manager:
        manager.load_from_config()
        report = {line["name"]: line for line in manager.get_status_report()}

        assert sorted(manager.list_servers()) == ["one", "two"]
        client = manager.get_client("one")
        assert client is not None
        tools = len(client.known_tools())
        assert tools > 0
        assert report["one"] == {"name": "one", "connected": True, "tool_count": tools, "error": None}
        assert report["two"]["connected"] is True
        assert "off" not in report
        assert {name: line["tool_count"] for name, line in report.items() if not line["connected"]} == {
            "dead": 0, "slow": 0, "unset": 0, "far": 0
        }  # fmt: skip
        assert "status 3" in report["dead"]["error"]
        assert "0.5 s" in report["slow"]["error"]
        assert "SURELY_NOT_SET" in report["unset"]["error"]
        assert "nothing listens there" in report["far"]["error"]


def test_servers_and_tools_are_in_the_order_of_the_configuration(config: MCPConfig, mark: str) -> None:
    """GAIA's documents; ours: whichever server starts first, so that a prompt is the same each time."""
    for name, server in {"slow": "slow_start", "two": "good_stateless", "late": "good_stateless"}.items():
        config.add_server(name, entry(mark, server, disabled=name == "late"))

    with MCPClientManager(config) as manager:
        manager.load_from_config()
        manager.add_server("added", entry(mark))
        names = manager.list_servers()
        tools = [tool.name.partition(".")[0] for tool in manager.get_tools_for_scope()]

    assert names == ["slow", "two", "added"]
    assert list(dict.fromkeys(tools)) == ["slow", "two", "added"]


def test_an_invalid_entry_does_not_affect_the_others(tmp_path: Path, mark: str) -> None:
    """Ours: the file was edited by hand."""
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"odd": "uvx x", "worse": {"command": 7}, "one": entry(mark)}}))

    with MCPClientManager(MCPConfig(path)) as manager:
        manager.load_from_config()

        assert manager.list_servers() == ["one"]
        assert {line["name"] for line in manager.get_status_report() if line["error"]} == {"odd", "worse"}


def test_loading_again_keeps_connected_servers(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents: those that are connected are left alone."""
    client = manager.add_server("one", entry(mark))
    manager.config.add_server("two", entry(mark))

    manager.load_from_config()

    assert manager.get_client("one") is client
    assert manager.list_servers() == ["one", "two"]


def test_a_server_that_works_again_is_no_longer_reported_as_failed(config: MCPConfig, mark: str) -> None:
    """Ours: the report is about now, and an old error would send a person to look for a cause."""
    config.add_server("one", entry(mark, "exits_at_once"))
    with MCPClientManager(config) as manager:
        manager.load_from_config()
        assert [line["connected"] for line in manager.get_status_report()] == [False]

        manager.add_server("one", entry(mark))

        assert [line["connected"] for line in manager.get_status_report()] == [True]


def test_a_server_that_has_exited_is_reported(manager: MCPClientManager, mark: str) -> None:
    """Ours: without asking it anything."""
    manager.add_server("one", entry(mark)).disconnect()

    assert manager.get_status_report() == [
        {"name": "one", "connected": False, "tool_count": 0, "error": "the server has exited"}
    ]


def test_disconnecting_from_all_leaves_no_client_and_keeps_the_file(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents."""
    manager.add_server("one", entry(mark))
    manager.add_server("two", entry(mark, "ignores_eof"))

    manager.disconnect_all()
    manager.disconnect_all()

    assert manager.list_servers() == []
    assert living_with(mark) == []
    assert sorted(saved(manager.config)) == ["one", "two"]


def test_a_collected_manager_stops_its_servers(config: MCPConfig, mark: str) -> None:
    """Ours: after it is collected, no other code could."""
    manager = MCPClientManager(config)
    manager.add_server("one", entry(mark, "ignores_eof"))

    del manager
    gc.collect()

    wait_until(lambda: not living_with(mark))


def test_the_servers_of_a_program_exit_with_it(tmp_path: Path, mark: str) -> None:
    """Ours: also those that do not leave when their input ends, and without a word from the program."""
    import subprocess

    program = (
        "import json, sys\n"
        "from gaia_mcp.client import MCPClientManager, MCPConfig\n"
        "manager = MCPClientManager(MCPConfig(sys.argv[1]))\n"
        "for name in ('one', 'two'):\n"
        "    manager.add_server(name, json.loads(sys.argv[2]))\n"
        "print(manager.list_servers())\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "s.json"), json.dumps(entry(mark, "ignores_eof"))]

    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "['one', 'two']\n", "")


def test_each_server_may_have_a_host_of_its_own(config: MCPConfig, mark: str) -> None:
    """Ours: who answers a server's questions depends on whose they are."""
    hosts: dict[str, Host] = {}

    def host(name: str) -> Host:
        return hosts.setdefault(name, Host())

    with MCPClientManager(config, host=host) as manager:
        assert manager.add_server("one", entry(mark)).host is hosts["one"]


def test_the_repr_lists_the_servers(manager: MCPClientManager, mark: str) -> None:
    """Ours: in a debugger."""
    manager.add_server("one", entry(mark))

    assert repr(manager) == "<MCPClientManager ['one']>"


def test_servers_that_others_have_added_to_the_file_are_loaded(manager: MCPClientManager, mark: str) -> None:
    """GAIA's documents: servers are read from the file. Ours: as it is now."""
    MCPConfig(manager.config.config_file).add_server("one", entry(mark))

    manager.load_from_config()

    assert manager.list_servers() == ["one"]


def test_a_file_that_can_no_longer_be_read_is_logged(
    manager: MCPClientManager, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    """GAIA's documents: loading raises nothing. Who is connected stays so."""
    manager.add_server("one", entry(mark))
    manager.config.config_file.write_text("{")

    with caplog.at_level(logging.ERROR, "gaia_mcp"):
        manager.load_from_config()

    assert str(manager.config.config_file) in caplog.text
    assert manager.list_servers() == ["one"]


def test_a_server_that_has_failed_can_be_removed(config: MCPConfig, mark: str) -> None:
    """Ours: it is in the file, and in the report, and would be there for ever."""
    config.add_server("bad", entry(mark, "exits_at_once"))
    with MCPClientManager(config) as manager:
        manager.load_from_config()

        manager.remove_server("bad")

        assert manager.get_status_report() == []
        assert saved(config) == {}


def test_a_file_that_cannot_be_changed_leaves_no_removed_server_running(manager: MCPClientManager, mark: str) -> None:
    """Ours: a person who removes a server does not expect it to run on."""
    client = manager.add_server("one", entry(mark))
    manager.config.config_file.write_text("{")

    with pytest.raises(ConfigFileError):
        manager.remove_server("one")

    assert not client.is_connected()
    assert manager.list_servers() == []


def failing_host(name: str) -> Host:
    raise LookupError(f"no host for {name}")


def test_a_host_that_cannot_be_created_affects_only_its_own_server(config: MCPConfig, mark: str) -> None:
    """Ours: it is the program's own code."""
    config.add_server("one", entry(mark))

    with MCPClientManager(config, host=failing_host) as manager:
        manager.load_from_config()

        (line,) = manager.get_status_report()
        assert line["error"] == "LookupError: no host for one"


def test_connecting_and_listing_share_the_timeout_of_the_entry(config: MCPConfig, mark: str) -> None:
    """Ours: connecting and listing together; one that hangs then is not kept, for every use of it would."""
    # Long enough to connect on a busy machine.
    config.add_server("mute", entry(mark, "hangs_in_list", timeout=6))
    with MCPClientManager(config) as manager:
        manager.load_from_config()

        (line,) = manager.get_status_report()
        assert line["connected"] is False
        assert "tools/list" in line["error"]
        assert living_with(mark) == []


def test_a_server_without_tools_is_connected_all_the_same(config: MCPConfig, mark: str) -> None:
    """Spec, server/prompts: one may offer nothing else, and refuse to list tools."""
    config.add_server("one", entry(mark, "refuses_list"))
    with MCPClientManager(config) as manager:
        manager.load_from_config()

        assert manager.list_servers() == ["one"]


def adding(manager: MCPClientManager, mark: str) -> tuple[threading.Thread, list[BaseException]]:
    """A thread that adds a server which never gets ready; the server runs."""
    raised: list[BaseException] = []

    def add() -> None:
        try:
            manager.add_server("slow", entry(mark, "hangs_at_start", timeout=60))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=add)
    thread.start()
    wait_until(lambda: living_with(mark))
    return thread, raised


@pytest.mark.parametrize("leave", ["remove", "disconnect", "with"])
def test_removing_or_disconnecting_cancels_a_server_that_is_being_added(
    manager: MCPClientManager, mark: str, leave: str
) -> None:
    """Ours: a caller that removes it, or disconnects from all, does not expect it to come after that."""
    thread, raised = adding(manager, mark)

    if leave == "remove":
        manager.remove_server("slow")
    elif leave == "disconnect":
        manager.disconnect_all()
    else:
        manager.__exit__()
    thread.join(PATIENCE_SECONDS)

    assert not thread.is_alive()
    (error,) = raised
    assert isinstance(error, ConnectError)
    assert "meanwhile" in str(error)
    assert living_with(mark) == []
    assert manager.get_status_report() == []
    assert saved(manager.config) == {}


def test_disconnecting_while_servers_are_loaded_leaves_none_running(config: MCPConfig, mark: str) -> None:
    """Ours: those that are connected and those that are not yet."""
    config.add_server("one", entry(mark))
    config.add_server("slow", entry(mark, "hangs_at_start", timeout=60))
    manager = MCPClientManager(config)
    thread = threading.Thread(target=manager.load_from_config)
    thread.start()
    wait_until(lambda: manager.list_servers() == ["one"] and len(living_with(mark)) == 2)

    manager.disconnect_all()
    thread.join(PATIENCE_SECONDS)

    assert not thread.is_alive()
    assert manager.get_status_report() == []
    assert living_with(mark) == []


def test_ctrl_c_cancels_the_servers_that_are_still_being_connected(config: MCPConfig, mark: str) -> None:
    """Ours: nothing goes on after Ctrl-C. Those that are connected stay."""
    config.add_server("one", entry(mark))
    config.add_server("slow", entry(mark, "hangs_at_start", timeout=60))
    with MCPClientManager(config) as manager:

        def interrupt() -> None:
            wait_until(lambda: manager.list_servers() == ["one"] and len(living_with(mark)) == 2)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            manager.load_from_config()
        thread.join()

        assert len(living_with(mark)) == 1
        assert manager.list_servers() == ["one"]
        assert [line["name"] for line in manager.get_status_report()] == ["one"]


def test_many_threads_at_once_leave_nothing_running(manager: MCPClientManager, mark: str) -> None:
    """Ours: adding, removing, loading, reporting and disconnecting, in any order."""
    surprises: list[BaseException] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for what in range(3):
            try:
                if number % 4 == 0:
                    manager.add_server(f"s{number}{what}", entry(mark))
                elif number % 4 == 1:
                    manager.load_from_config()
                elif number % 4 == 2:
                    for name in manager.list_servers():
                        manager.remove_server(name)
                else:
                    manager.disconnect_all()
                manager.get_status_report()
            except ConnectError:
                continue  # Given up by another thread.
            except BaseException as error:
                surprises.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    manager.disconnect_all()

    assert surprises == []
    wait_until(lambda: not living_with(mark))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_that_ends_leaves_the_servers_to_its_parent(manager: MCPClientManager, mark: str) -> None:
    """Ours: they were started by the other one, which goes on using them."""
    client = manager.add_server("one", entry(mark, "ignores_eof"))

    child = os.fork()
    if child == 0:
        manager.disconnect_all()
        os._exit(0)
    os.waitpid(child, 0)

    assert client.is_connected()
    assert len(living_with(mark)) == 1


class Stuck(MCPClient):
    """A client that cannot be disconnected."""

    def disconnect(self) -> None:
        raise OSError("stuck")


def test_a_client_that_cannot_be_disconnected_is_logged_and_the_others_are_disconnected(
    manager: MCPClientManager, mark: str, caplog: pytest.LogCaptureFixture
) -> None:
    """GAIA's documents: errors are logged, and the remaining servers disconnected."""
    manager._clients["stuck"] = Stuck.from_config("stuck", {"command": "x"})
    client = manager.add_server("one", entry(mark))

    manager.disconnect_all()

    assert "'stuck' could not be disconnected: stuck" in caplog.text
    assert not client.is_connected()


def test_a_program_may_test_its_manager_with_clients_of_its_own(tmp_path: Path) -> None:
    """GAIA: its documents replace the class of the client under the path that the manager has there, by an object that
    has every member and no values.
    """
    entry = {"command": "npx", "args": ["-y", "server"]}
    with patch("gaia_mcp.client.mcp_client_manager.MCPClient") as client_class:
        good, bad = Mock(), Mock(last_error="refused")
        good.list_tools.return_value = [Mock(), Mock()]
        bad.connect.return_value = False
        client_class.from_config.side_effect = [good, bad, bad]
        manager = MCPClientManager(MCPConfig(tmp_path / "servers.json"))

        assert manager.add_server("good", entry) is good
        client_class.from_config.assert_called_once_with("good", entry, debug=False)
        with pytest.raises(ConnectError, match="Failed to connect"):
            manager.add_server("bad", entry)
        manager.config._servers = {"bad": entry}
        manager.load_from_config()

        assert manager.list_servers() == ["good"]
        assert manager.get_status_report() == [
            {"name": "good", "connected": True, "tool_count": 2, "error": None},
            {"name": "bad", "connected": False, "tool_count": 0, "error": "refused"},
        ]
        manager.disconnect_all()
    good.disconnect.assert_called_once_with()


@pytest.mark.story
def test_a_manager_reads_its_file_again_when_it_is_reloaded(tmp_path: Path) -> None:
    """GAIA, from 0.18 on: what has been removed from the file is disconnected, and what is new is connected."""
    file = tmp_path / "servers.json"
    old, new = ({"command": sys.executable, "args": [str(SERVERS / "good_stateless.py")]} for _ in range(2))
    file.write_text(json.dumps({"mcpServers": {"old": old}}))
    with MCPClientManager(MCPConfig(file)) as manager:
        manager.load_from_config()
        assert manager.list_servers() == ["old"]
        file.write_text(json.dumps({"mcpServers": {"new": new}}))

        manager.reload()

        assert manager.list_servers() == ["new"]
