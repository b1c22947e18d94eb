"""Which servers lose something when they end.

`known_servers.json` has the tools of servers from npm and PyPI, as `gaia mcp tools --json -- COMMAND` printed them: the
names, the hints that are true, the parameters, and the values of a parameter `action`. `keeps` says what their calls
need of earlier ones; it is empty for a server that can be started for each call.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gaia_mcp.toolspec.statefulness import keeps_state, stateful_tools

KNOWN = json.loads(Path(__file__).with_name("known_servers.json").read_text("utf-8"))


def tool(signature: str, **actions: Any) -> dict[str, Any]:
    """A definition from `name parameter* parameter`, where `*` marks a required one; `actions` are its `action`s."""
    name, *words = signature.split()
    properties: dict[str, Any] = {word.rstrip("*"): {} for word in words}
    if actions:
        properties["action"] = {"enum": actions["enum"]}
    required = [word.rstrip("*") for word in words if word.endswith("*")]
    return {"name": name, "inputSchema": {"properties": properties, "required": required}}


def found(*signatures: str) -> list[str]:
    """The tools among these that depend on earlier calls."""
    return stateful_tools([tool(signature) for signature in signatures])


def listed(server: dict[str, Any]) -> list[dict[str, Any]]:
    """The definitions of a known server."""
    definitions = []
    for each in server["tools"]:
        properties: dict[str, Any] = {name: {} for name in (*each.get("required", ()), *each.get("optional", ()))}
        if "actions" in each:
            properties["action"] = {"enum": each["actions"]}
        schema = {"type": "object", "properties": properties, "required": each.get("required", [])}
        definitions.append({"name": each["name"], "inputSchema": schema})
    return definitions


def test_each_known_server_is_told_from_those_of_the_other_kind() -> None:
    """Ours: a false alarm sends a person to hold a server open for nothing. A server that is missed says why."""
    wrong = [
        server["package"]
        for server in KNOWN
        if keeps_state(listed(server)) != (bool(server["keeps"]) and not server.get("is_missed", False))
    ]

    assert not wrong


def test_tools_of_a_server_that_need_nothing_of_what_it_holds_are_left_out() -> None:
    """Ours: two files that are read within a minute lose nothing, although the server can hold a process too."""
    (server,) = (server for server in KNOWN if server["package"] == "npm:@wonderwhy-er/desktop-commander")

    tools = stateful_tools(listed(server))

    assert {"start_process", "read_process_output", "interact_with_process"} <= {*tools}
    assert not {"read_file", "list_directory", "list_processes"} & {*tools}


def test_a_handle_that_another_tool_has_returned_marks_the_tools_that_take_it() -> None:
    """Ours: by its name, singular or plural, in any notation."""
    session = ["openSession", "send sessionId* text*", "list_sessions", "close-session session_id*", "help topic"]
    assert found(*session) == ["openSession", "send", "close-session"]
    # Without a tool that opens: the first call without a handle does.
    assert found("ask question* session_id", "end_session session_id*", "ping") == ["ask", "end_session"]
    assert found("kill_process pid*", "show_process pid*") == []
    # A handle that no tool closes is that of a service.
    assert found("open_session", "close_session", "get_job process_id*", "ping") == [
        "open_session", "close_session", "get_job", "ping",
    ]  # fmt: skip
    assert found("open_tab", "close_tab tab_id*", "get_job process_id*") == ["open_tab", "close_tab"]
    # What a tool does in a place that it names stays there.
    assert found("open_tab", "close_tab tab_id*", "tap device* tab_id*") == ["open_tab", "close_tab"]


def test_tools_that_use_the_current_one_are_all_marked() -> None:
    """Ours: the second of them does not say what it acts on."""
    assert found("start_kernel", "compute text*", "disconnect_kernel") == [
        "start_kernel",
        "compute",
        "disconnect_kernel",
    ]
    assert found("connect address*", "get", "disconnect") == ["connect", "get", "disconnect"]
    assert found("attach_to_pid pid*", "look", "detach_from_pid") == ["attach_to_pid", "look", "detach_from_pid"]
    # A service attaches a policy, and connects an account.
    assert found("attach_policy name*", "look", "detach_policy name*") == []
    assert found("connect_account name*", "look", "disconnect_account name*") == []
    # Many ports are forwarded at once: the others do not use one.
    assert found("open_port", "get_pods", "stop_port") == ["open_port", "stop_port"]


def test_actions_of_one_tool_count_as_tools_if_they_open_and_close() -> None:
    """Ours: a tool for all of it has its verbs in an enumeration."""
    look = tool("look")
    assert stateful_tools([tool("session", enum=["start", "stop", "status", 1]), look]) == ["session", "look"]
    assert not keeps_state([tool("session", enum=["list", "kill"]), look])
    # A service connects the boards of a team.
    assert not keeps_state([tool("board_connection", enum=["connect", "detach"]), look])
    assert not keeps_state([tool("session", enum="start stop"), look])
    assert not keeps_state([tool("session action"), look])
    assert not keeps_state([{"name": "session", "inputSchema": {"properties": {"action": True}}}, look])


def test_a_browser_navigates_and_acts_on_its_page() -> None:
    """Ours: the page is not named again. A tool that takes the address of a page opens it itself."""
    browser = ["navigate url*", "click selector*", "fill selector*", "screenshot"]
    assert found(*browser) == ["navigate", "click", "fill", "screenshot"]
    assert found("new_page url*", "click uid*", "hover uid*", "snapshot")
    named = ["browser_navigate url*", "browser_click", "browser_hover", "browser_type", "browser_close"]
    assert found(*named, "search text*") == [signature.split()[0] for signature in named]
    assert not found("navigate url*", "screenshot url*", "evaluate url*", "click url*")
    assert not found("click selector*", "fill selector*", "screenshot")
    assert not found("navigate url*", "screenshot")


def test_a_debugger_has_breakpoints() -> None:
    """Ours: and runs the program until one."""
    assert found("set_breakpoint line*", "step_over") == ["set_breakpoint", "step_over"]
    assert not found("list_breakpoints", "search text*")


def test_an_interpreter_executes_code() -> None:
    """Ours: with the variables of earlier calls. Another tool counts if it has the handle of a session."""
    assert found("repl_run_code text*", "activate session*", "help") == ["repl_run_code", "activate"]
    assert found("python_repl code*") == ["python_repl"]
    assert not found("kernel_version", "run_code code*")


def test_a_connection_to_a_database_is_used_by_queries() -> None:
    """Ours: which do not say where."""
    assert found("connect_db url*", "query sql*") == ["connect_db", "query"]
    assert not found("connect_account name*", "query sql*")


def test_state_that_another_program_keeps_does_not_count() -> None:
    """Ours: a session of tmux goes on without its server."""
    assert not found("tmux_create_session", "send_keys session_id*", "tmux_kill_session session_id*")


def test_invalid_definitions_are_ignored() -> None:
    """Ours: a server may send any JSON."""
    invalid: list[Any] = [7, {}, {"name": 7}, {"name": "open_session", "inputSchema": []}]
    assert not keeps_state(invalid)
    odd = {"name": "close_session", "inputSchema": {"properties": {"session_id": {}}, "required": [7, "session_id"]}}
    assert stateful_tools([*invalid, odd, {"name": "x", "inputSchema": {"required": 7}}]) == [
        "open_session", "close_session", "x",
    ]  # fmt: skip
