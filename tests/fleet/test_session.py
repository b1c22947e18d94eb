"""A session: the whole surface, what is remembered of the server, and its certain end."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.factory import transport_of
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    AgentError,
    CancelledError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    ServerExitedError,
    SpawnError,
    VariableUnsetError,
)
from gaia_mcp.fleet.server_process import prestarted
from gaia_mcp.fleet.session import Answerers, Session, connected, unknown_tool
from gaia_mcp.protocol.events import ListChanged, ResourceUpdated, SubscriptionEnded
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.toolspec.tool_filter import ToolFilter
from tests.fleet.conftest import QUIET, Noting
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry
    from tests.fleet.conftest import Entries

    Change = ListChanged | ResourceUpdated | SubscriptionEnded


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


def test_many_calls_are_made_on_the_open_connection(entries: Entries) -> None:
    """Ours: by one thread. Once that is lost, no call is made on another one."""
    with connected(entries("good_handshake"), QUIET) as session:
        used = session.usage()
        assert used is None or used.memory_bytes > 1e6
        calls, last = session.calls("echo", {"a": 1}, 3), session.calls("die", {}, 1)
        assert calls is not None
        assert last is not None
        session.stay_disconnected()
        for _ in range(3):
            calls.send()
        found = []
        while calls.in_flight:
            found += [texts(answer.result) for answer in calls.answers()]
        last.send()
        with pytest.raises(ServerExitedError):
            last.answers()
        with pytest.raises(NotConnectedError):
            session.call("echo", {})
        assert not session.is_closed

    assert found == [['{"a": 1}']] * 3
    assert session.is_closed
    assert session.usage() is None


def test_a_session_connects_calls_a_tool_and_closes(entries: Entries) -> None:
    """Ours: what every front does."""
    entry = entries("good_handshake")

    with connected(entry, QUIET) as session:
        assert session.is_connected()
        assert session.peer is not None
        assert session.peer.info["name"] == "good_handshake.py"
        assert session.capabilities == {"tools": {}, "logging": {}}
        session.check_alive()
        found = session.find_tool("echo")
        assert found is not None
        assert found.name == "echo"
        assert session.find_tool("nothing") is None
        assert texts(session.call("echo", {"a": 1})) == ['{"a": 1}']

    assert repr(session) == "<Session with 'good_handshake'>"
    assert not session.is_connected()
    assert (session.peer, session.capabilities) == (None, {})
    with pytest.raises(NotConnectedError):
        session.call("echo", {})


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_prompts_resources_and_completions_are_the_same_in_both_eras(entries: Entries, revision: str) -> None:
    """Specification, server features."""
    with connected(entries("offers", revision), QUIET) as session:
        assert [prompt["name"] for prompt in session.prompts()] == ["review", "second"]
        assert len(session.problems) == 2
        assert session.prompt("review", {"lang": "en"})["messages"][0]["role"] == "user"
        assert [resource["uri"] for resource in session.resources()] == ["file:///a"]
        assert session.problems == []
        both = session.resources_and_templates()
        assert [one.get("uri") or one["uriTemplate"] for one in both] == ["file:///a", "file:///{path}"]
        assert session.read("file:///a")["contents"][0]["text"] == "hello"
        assert session.complete({"type": "ref/prompt", "name": "review"}, "lang", "py").values == ["python", "pypy"]
        assert [item for item in session.listed("prompts/list") if not isinstance(item, dict)] == ["odd"]

    assert '"review"' in entries.remembered("prompts", "offers")
    assert "file:///{path}" in entries.remembered("resources", "offers")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_notifications_of_changes_reach_the_watcher(entries: Entries, revision: str) -> None:
    """Specification, resources: Subscriptions. A change is named, and of its own type."""
    changes: SimpleQueue[Change] = SimpleQueue()
    with connected(entries("offers", revision), QUIET) as session:
        session.watch(changes.put)
        session.subscribe("file:///a")
        with pytest.raises(PeerError):
            session.subscribe("file:///refused")
        session.call("touch", {})
        change = changes.get(timeout=PATIENCE_SECONDS)
        assert (type(change), change) == (ResourceUpdated, ("file:///a",))
        if revision == "2026-07-28":
            session.call("end", {})
            change = changes.get(timeout=PATIENCE_SECONDS)
            assert (type(change), change) == (SubscriptionEnded, ("file:///a",))


def test_a_changed_list_is_announced_and_requested_again(entries: Entries) -> None:
    """Ours: what was known stays until something newer is known."""
    changes: SimpleQueue[Change] = SimpleQueue()
    with connected(entries("list_changes"), QUIET) as session:
        session.watch(changes.put)
        assert [tool.name for tool in session.tools()] == ["echo"]
        assert '"echo"' in entries.remembered("tools", "list_changes")
        session.call("echo", {})
        change = changes.get(timeout=PATIENCE_SECONDS)
        assert (type(change), change) == (ListChanged, ("tools",))
        assert '"new1"' not in entries.remembered("tools", "list_changes")
        assert '"echo"' in entries.remembered("tools", "list_changes")

    assert '"new1"' in entries.remembered("tools", "list_changes")


def test_tools_are_requested_without_the_tools_capability(entries: Entries) -> None:
    """Ours, for what servers do: and one that has none may refuse."""
    with connected(entries("declares_no_tools", "all the same"), QUIET) as session:
        assert [tool.name for tool in session.tools()] == ["echo"]
    with connected(entries("declares_no_tools"), QUIET) as session:
        assert session.tools() == []
    with connected(entries("list_errors", "-32603", "no"), QUIET) as session, pytest.raises(PeerError):
        session.tools()


def test_log_messages_go_to_the_observer_or_to_on_log(entries: Entries) -> None:
    """Specification, logging."""
    observer, heard = Noting(), []
    with connected(entries("good_handshake"), observer) as session:
        session.set_log_level("info")
        with pytest.raises(LocalProtocolError):
            session.set_log_level("loud")
        session.call("log", {})
    assert ("logged", "good_handshake", "warning", "hot") in observer.notes

    with connected(entries("good_handshake"), QUIET, on_log=lambda *message: heard.append(message)) as session:
        session.call("log", {})
    assert heard == [("warning", "l", "hot")]


def test_secrets_are_masked_in_an_elicitation(entries: Entries) -> None:
    """Ours: the question is shown, and the server may repeat what it was given."""
    questions: list[dict[str, Any]] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        questions.append(params)
        return {"action": "accept", "content": {"city": "Oslo"}}

    with connected(
        entries("good_handshake", TOKEN="Which city?"), QUIET, answerers=Answerers(elicit=answer)
    ) as session:
        assert session.masker().text("Which city?") == "****"
        assert "Oslo" in texts(session.call("ask", {}))[0]
    assert [question["message"] for question in questions] == ["****"]

    with connected(entries("good_handshake"), QUIET) as session:
        assert "decline" in texts(session.call("ask", {}))[0]


def test_secrets_are_masked_in_the_definition_of_a_tool(entries: Entries) -> None:
    """Ours: but not in the name, which is needed to call it."""
    with connected(entries("good_handshake", TOKEN="environment"), QUIET) as session:
        tool = session.find_tool("environment")
        assert tool is not None
        shown = session.masked_tool(tool)

    assert (shown.name, shown.definition["description"]) == ("environment", "****")


def test_an_observer_gets_the_start_the_stop_and_a_remark_about_invalid_output(entries: Entries) -> None:
    """Ours: the remark comes last, once."""
    observer = Noting()
    with connected(entries("prints_banner"), observer) as session:
        assert "lines to stdout that are not MCP" in session.noise()

    first, second, third = observer.notes
    assert first == ("starting", "prints_banner", "")
    assert second == ("stopping", "prints_banner")
    assert third[0] == "remark"
    assert "report it to its author" in third[1]


def test_stderr_is_logged_and_shown_only_with_debug(entries: Entries) -> None:
    """Ours: without the secrets; the name of the log has the front and the exit status."""
    observer, watching = Noting(), Noting(debug=True)
    entry = entries("good_handshake", first='echo "has $TOKEN" >&2', TOKEN="hunter2222")

    for one in (observer, watching):
        with connected(entry, one) as session:
            assert session.last_line() == "has ****"

    assert "stderr" not in [note[0] for note in observer.notes]
    assert ("stderr", "good_handshake", b"has ****\n") in watching.notes
    assert entries.logs() == ["some-front.0.log: has ****\n"] * 2


def test_all_requests_share_the_deadline_of_a_session(entries: Entries) -> None:
    """Ours: `--timeout` counts for all steps together."""
    deadline = Deadline(20)
    with connected(entries("good_handshake"), QUIET, deadline=deadline) as session:
        session.tools()
        deadline.cancel()
        with pytest.raises(CancelledError):
            session.call("echo", {})


def test_a_request_has_the_timeout_of_the_entry_within_the_deadline_if_it_keeps_it(entries: Entries) -> None:
    """Ours: of many servers, a slow one must not take the time that the command has for all."""
    entry = entries("hangs_in_call")._replace(timeout=0.1)
    session = Session(entry, QUIET, deadline=Deadline(PATIENCE_SECONDS), keeps_timeout=True)
    session.open(Deadline(PATIENCE_SECONDS))

    with pytest.raises(DeadlineError, match=r"0\.1 s"):
        session.call("echo", {})
    session.close()


def test_a_server_that_has_exited_is_restarted_or_reported(entries: Entries) -> None:
    """Ours: `watch` ends with the reason; other requests continue with a new process."""
    with connected(entries("good_handshake"), QUIET) as session:
        with pytest.raises(ServerExitedError):
            session.call("die", {})
        with pytest.raises(ServerExitedError) as caught:
            session.check_alive(reconnects=False)
        assert caught.value.returncode == 3
        session.check_alive()
        assert session.is_connected()


def test_the_steps_of_a_connection_can_be_taken_one_by_one(entries: Entries) -> None:
    """Ours: `test-client` reports each; how it ended, too."""
    session = Session(entries("good_handshake"), QUIET)
    session.start()
    assert session.peer is None
    session.open()
    assert session.peer is not None

    stopped = session.close()

    assert stopped is not None
    assert stopped.returncode == 0
    assert session.close() is None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda raw: raw.update(command="/nowhere/at/all"), SpawnError),
        (lambda raw: raw["env"].update(X="${UNSET_HERE}"), VariableUnsetError),
    ],
)
def test_a_server_that_cannot_be_started_leaves_nothing(
    entries: Entries, change: Callable[[dict[str, Any]], None], error: type[Exception]
) -> None:
    """Ours: the error is the only effect of a failed start."""
    raw = {**entries("good_handshake").raw, "env": {}}
    change(raw)

    with pytest.raises(error), connected(read_entry("x", raw), QUIET):
        pass


def test_an_agent_that_cannot_be_loaded_is_an_error_of_the_agent(entries: Entries, tmp_path: Path) -> None:
    """Ours: with the problem of its code, where the server has only an exit status."""
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")

    with pytest.raises(AgentError) as caught, connected(read_entry("x", {"agent": f"{tmp_path}/broken.py:A"}), QUIET):
        pass

    assert "nothing_of_this_name" in caught.value.message
    assert isinstance(caught.value.__context__, ServerExitedError)


def test_an_error_response_tells_whether_the_server_has_written_a_log(entries: Entries) -> None:
    """Ours: the person is advised to read it only if there is one."""
    for lines in ([], ["a line"]):
        with (
            pytest.raises(PeerError) as caught,
            connected(entries("list_errors", "-32603", "no", *lines), QUIET) as one,
        ):
            one.tools()
        assert caught.value.is_logged is bool(lines)


def test_requests_for_undeclared_resources_are_refused(entries: Entries) -> None:
    """Ours: without asking the server."""
    with connected(entries("good_handshake"), QUIET) as session:
        assert session.prompts() == []
        with pytest.raises(NotSupportedError):
            session.read("x://y")
        with pytest.raises(NotSupportedError):
            session.subscribe("x://y")


def test_a_server_that_was_started_before_its_session_is_used(entries: Entries) -> None:
    """Ours: it is started once; for another entry it is left alone."""
    entry, other = entries("good_handshake", first="echo up >&2"), entries("many_pages")

    with prestarted(entry, "call") as server, connected(entry, QUIET, prestarted=server) as session:
        session.check_alive()
    assert entries.logs() == ["call.0.log: up\n"]

    with prestarted(entry, "call") as server, connected(other, QUIET, prestarted=server) as session:
        assert session.peer is not None
        assert session.peer.info["name"] == "many_pages.py"
        server.child.close_stdout()  # Nothing else reads it.


def test_a_server_that_was_started_is_not_asked_for_its_variables_again(
    entries: Entries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a keyring may ask the person for its password each time."""
    monkeypatch.setenv("TOKEN", "s3cret")
    entry = entries("good_handshake", TOKEN="${TOKEN}")

    with prestarted(entry, "call") as server:
        monkeypatch.delenv("TOKEN")
        with connected(entry, QUIET, prestarted=server) as session:
            assert session.masker().text("s3cret") == "****"


def test_tools_found_in_a_search_do_not_replace_a_cached_list(entries: Entries) -> None:
    """Ours: what was listed is at least as good."""
    entry, listed = entries("good_handshake"), [{"name": "listed"}]
    cache = ServerCache(entries.home / "cache", entry)

    for before in (None, listed):
        if before is not None:
            cache.keep_seen(before)
        with connected(entry, QUIET) as session:
            assert session.find_tool("nothing") is None
        assert cache.seen()
        assert (cache.seen() == listed) is (before is not None)


def test_changed_tools_are_requested_at_the_end_if_they_were_cached(entries: Entries) -> None:
    """Ours: otherwise they were not wanted, and nothing is lost."""
    entry, cached = entries("list_changes"), [{"name": "old"}]
    cache = ServerCache(entries.home / "cache", entry)

    for before in (None, cached):
        if before is not None:
            cache.keep_seen(before)
        changes: SimpleQueue[Change] = SimpleQueue()
        with connected(entry, QUIET) as session:
            session.watch(changes.put)
            session.call("echo", {})
            assert changes.get(timeout=PATIENCE_SECONDS) == ("tools",)
            assert cache.seen() == before
        assert [tool["name"] for tool in cache.seen() or ()] == (["echo", "new1"] if before else [])


def test_only_changed_tools_are_requested_at_the_end(entries: Entries) -> None:
    """Ours: the next TAB completion needs them. They need not be watched for that."""
    for kind, requests in (("prompts", 1), ("tools", 3)):
        with connected(entries("list_changes", KIND=kind), QUIET) as session:
            session.tools()
            session.call("echo", {})
        assert entries.notes().count("tools/list") == requests


def test_a_tool_with_an_invalid_definition_is_named_with_the_reason(entries: Entries) -> None:
    """Ours: a person who sees it in the server's documents would look for a misspelling."""
    with connected(entries("good_handshake"), QUIET) as session:
        session.problems = ["tool 'bad' has no inputSchema object", "tool 'bad' is left out: it is wrong"]

        error = unknown_tool(session, "bad", ["bat"])
        assert str(error).endswith("has no tool 'bad': it is left out: it is wrong")
        assert "author" in error.hint
        assert "bat" in unknown_tool(session, "bax", ["bat"]).hint
        assert str(unknown_tool(session, "bax", [])).endswith("has no tool 'bax': it lists no tools")


def test_a_server_whose_tools_are_all_excluded_is_not_said_to_list_none(entries: Entries) -> None:
    """Ours: it lists tools, of which the entry wants none."""
    entry = entries("good_handshake")._replace(tool_filter=ToolFilter(["nothing*"]))
    with connected(entry, QUIET) as session:
        error = unknown_tool(session, "bax", [])

    assert str(error).endswith("has no tool 'bax'")
    assert error.case == ""


class Held:
    """A server that a keeper holds, as far as a session knows it."""

    revision = None

    def __init__(self, entry: ServerEntry) -> None:
        self._entry = entry
        self.checked: list[str | None] = []

    def transport(self, _entry: ServerEntry, timeout: float, debug: bool) -> Any:
        return transport_of(self._entry, timeout, debug)

    def check(self, _deadline: Deadline, uri: str | None = None) -> None:
        self.checked.append(uri)


def test_a_server_that_is_held_is_checked_where_it_is(entries: Entries) -> None:
    """Ours: its keeper would answer in its place."""
    entry = entries("offers", "2025-11-25")
    held = Held(entry)

    with connected(entry._replace(held=held), QUIET) as session:
        session.check_alive()
        session.subscribe("file:///a")

    assert held.checked == [None, "file:///a"]


def test_a_server_is_restarted_and_its_noise_counted(entries: Entries) -> None:
    """Ours: for those who look for what makes it hang, and write."""
    with connected(entries("remembers"), QUIET) as session:
        session.call("keep", {"label": "one"})
        assert texts(session.call("keep", {"label": "two"})) == ["one"]
        session.restart()
        assert texts(session.call("keep", {"label": "three"})) == [""]
        assert session.noise_count == 0
