"""Remote servers and agents as handlers: real servers in children, and real agents."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, MCPClient, current_call, tool
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.asking import Call, CallCancelledError, enter_call
from gaia_mcp.contrib.handlers.adapters import (
    AgentHandler,
    ClientHandler,
    FullDefinition,
    capped,
    tool_result,
    wire_result,
)
from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPToolResult
from gaia_mcp.contrib.handlers.handler_manager import ManagerProvider, MCPManager
from gaia_mcp.core.errors import NotConnectedError
from tests.contrib.handlers.handlers_under_test import Console, at_once, names, registry_of
from tests.processes import living_with
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.server.provider import Change

SERVERS = Path(__file__).parents[2] / "servers"
DEMO = {"command": str(Path(sys.executable).parent / "gaia"), "args": ["mcp", "serve", "demo"]}
Serve = "Callable[..., ClientHandler]"


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """What the environment of every server of a test holds: afterwards none may be left."""
    yield str(tmp_path)
    wait_until(lambda: not living_with(str(tmp_path)))


@pytest.fixture
def serve(mark: str) -> Iterator[Callable[..., ClientHandler]]:
    """Makes a handler of a server: a script in tests/servers, or else the demo."""
    with ExitStack() as clients:

        def make(script: str = "", **config: Any) -> ClientHandler:
            entry = {"command": sys.executable, "args": [str(SERVERS / f"{script}.py")]} if script else DEMO
            client = MCPClient.from_config("server", {**entry, "env": {"MARK": mark}})
            clients.callback(client.disconnect)
            return ClientHandler(client, MCPHandlerConfig(config.pop("name", "server"), **config))

        yield make


@pytest.fixture
def in_call() -> Iterator[Call]:
    """A call that the code of a test runs for. It keeps the progress that is reported, as its `reports`."""
    reports: list[Any] = []
    call = Call(lambda *report: reports.append(report))
    call.reports = reports  # type: ignore[attr-defined]
    enter_call(call)
    yield call
    enter_call(None)


class Worker(MCPAgent):
    """An agent with tools of every kind."""

    def __init__(self) -> None:
        super().__init__(silent_mode=True)
        self.waiting = threading.Event()

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "worker", "version": "1", "instructions": "Work hard."}

    @tool
    def double(self, number: int) -> int:
        """Twice the number."""
        return 2 * number

    @tool
    def count(self, steps: int) -> str:
        """Count, with progress."""
        for step in range(steps):
            current_call().progress(step + 1, steps, "counting")
        return "counted"

    @tool
    def linger(self) -> str:
        """Wait until the call is cancelled."""
        self.waiting.set()
        current_call().wait(60)
        return "not cancelled"

    @tool
    async def later(self) -> str:
        """Return something later."""
        return "later"

    @tool
    def fail(self) -> str:
        """Fail."""
        raise ValueError("it failed")


@pytest.mark.story
def test_a_remote_server_is_a_handler(serve: Callable[..., ClientHandler]) -> None:
    """DESIGN, 1.4: its whole definitions, and its results with all that they hold."""
    handler = serve()
    assert isinstance(handler, MCPHandler)
    assert not handler.health_check()

    handler.connect()
    handler.connect()

    assert handler.health_check()
    tools = {tool.name: tool for tool in handler.list_tools()}
    add = tools["add"]
    assert isinstance(add, FullDefinition)
    assert add.handler_name == "server"
    assert "outputSchema" in add.definition
    assert handler.call_tool("add", {"a": 2, "b": 3}).metadata == {"structuredContent": {"sum": 5}}
    attached = handler.call_tool("attach", {})
    assert {block["type"] for block in attached.metadata["content"]} == {"text", "resource", "resource_link"}
    picture = handler.call_tool("picture", {"size": 1})
    assert picture.content == "[image image/png]"
    assert [block["type"] for block in picture.metadata["content"]] == ["image"]
    failed = handler.call_tool("greet", {"name": 5})
    assert failed.is_error
    assert "Expected tool schema:" in failed.error_message

    handler.disconnect()
    handler.disconnect()
    assert not handler.health_check()
    with pytest.raises(NotConnectedError):
        handler.call_tool("add", {"a": 2, "b": 3})


@pytest.mark.story
def test_a_server_without_tools_is_a_handler_without_tools(serve: Callable[..., ClientHandler]) -> None:
    """Ours: it may have prompts alone."""
    handler = serve("declares_no_tools")

    handler.connect()

    assert handler.list_tools() == []


@pytest.mark.story
def test_progress_and_cancellation_reach_a_remote_server(serve: Callable[..., ClientHandler], in_call: Call) -> None:
    """DESIGN, 1.4: through the manager, in the same thread; a cancelled call counts neither way."""
    with MCPManager(registry_of(serve())) as manager:
        assert not manager.call_tool("countdown", {"steps": 3, "seconds": 0.01}).is_error
        # A client that is kept waiting may find several reports at once, of which it passes on the last.
        assert in_call.reports[-1][:2] == (3, 3)  # type: ignore[attr-defined]

        threading.Timer(0.2, in_call.cancel).start()
        with pytest.raises(CallCancelledError):
            manager.call_tool("countdown", {"steps": 3, "seconds": 60})
        assert manager._error_counts == {"server": 0}
        enter_call(None)
        assert manager.call_tool("add", {"a": 1, "b": 1}).metadata == {"structuredContent": {"sum": 2}}


@pytest.mark.story
def test_a_call_of_a_server_that_hangs_ends_with_the_timeout(serve: Callable[..., ClientHandler]) -> None:
    """A8: and no thread is left behind, since a client keeps to its deadline."""
    earlier = set(threading.enumerate())
    handler = serve("hangs_in_call")
    with MCPManager(registry_of(handler)) as manager:
        manager.get_tools_for_scope()
        # Only for the call: on a busy machine connecting may take longer.
        handler.config.timeout = 0.3
        result = manager.call_tool("echo", {})

        assert result.is_error
        assert "0.3 s" in result.error_message
        begun = set(threading.enumerate()) - earlier
        assert [thread.name for thread in begun if thread.name.startswith("MCP handler")] == []


@pytest.mark.story
def test_a_remote_server_is_tried_again_after_a_cool_down(serve: Callable[..., ClientHandler]) -> None:
    """A7: half-open, for remote servers alone; until then its tools are hidden and calls reach no server."""
    now = [1000.0]
    console = Console()
    with MCPManager(registry_of(serve()), console, clock=lambda: now[0]) as manager:
        for _ in range(3):
            assert "validation failed" in manager.call_tool("greet", {"name": 5}).error_message
        assert manager.call_tool("greet", {"name": "Ada"}).error_message == "Handler 'server' is unavailable"
        assert manager.get_tools_for_scope() == []

        now[0] += 30
        assert "greet" in names(manager.get_tools_for_scope())
        assert "validation failed" in manager.call_tool("greet", {"name": 5}).error_message
        assert manager.call_tool("greet", {"name": "Ada"}).error_message == "Handler 'server' is unavailable"

        now[0] += 30
        assert manager.call_tool("greet", {"name": "Ada"}).content == "Hello, Ada!"
        assert manager._error_counts == {"server": 0}
        assert manager._failed_handlers == set()
    assert console.warnings == [
        "MCP handler 'server' is disabled after 3 consecutive errors; it is tried again after 30 s"
    ]


@pytest.mark.story
def test_a_server_that_cannot_be_started_is_a_warning(serve: Callable[..., ClientHandler]) -> None:
    """A5, A8: with the reason, and the other handlers go on."""
    console = Console()
    with MCPManager(registry_of(serve("exits_at_once"), serve(name="demo")), console) as manager:
        assert {tool.handler_name for tool in manager.get_tools_for_scope()} == {"demo"}
    assert len(console.warnings) == 1
    assert console.warnings[0].startswith("MCP handler 'server' failed to connect: server 'server' ")


@pytest.mark.story
def test_shutdown_cancels_a_connection_attempt(serve: Callable[..., ClientHandler]) -> None:
    """A5: at once, and it leaves no process behind."""
    handler = serve("hangs_at_start", timeout=600)
    console = Console()
    with MCPManager(registry_of(handler), console) as manager:
        listing = threading.Thread(target=manager.get_tools_for_scope)
        listing.start()
        wait_until(lambda: handler.client.is_connected() or living_with(handler.client.transport.env["MARK"]))  # type: ignore[attr-defined]

        manager.shutdown_all()

        listing.join(PATIENCE_SECONDS)
        assert not listing.is_alive()
    assert console.warnings == []


@pytest.mark.story
def test_new_tools_of_a_server_are_found(serve: Callable[..., ClientHandler]) -> None:
    """Ours: a tool that the server has announced can be called at once, and listeners are called."""
    heard: list[Change] = []
    with MCPManager(registry_of(serve("list_changes"))) as manager:
        assert names(manager.get_tools_for_scope()) == ["echo"]
        manager.on_change(heard.append)

        manager.call_tool("echo", {})
        wait_until(lambda: any("tools" in change.lists for change in heard))

        assert not manager.call_tool("new1", {}).is_error
        assert names(manager.get_tools_for_scope())[:2] == ["echo", "new1"]


@pytest.mark.story
def test_a_client_that_an_agent_listens_to_keeps_its_listener(serve: Callable[..., ClientHandler]) -> None:
    """Ours: the listener of an agent registers the tools of its servers anew."""
    handler = serve()
    heard: list[str] = []
    handler.client.on_list_changed = listener = heard.append

    handler.connect()

    assert handler.client.on_list_changed is listener


def test_new_tools_of_an_agent_are_found() -> None:
    """Ours: as those of a server; the manager's own clients hear of them."""

    class Growing(MCPAgent):
        names: tuple[str, ...] = ("one",)

        def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
            return [{"name": name, "description": "", "inputSchema": {"type": "object"}} for name in self.names]

        def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
            return tool_name

    agent = Growing()
    heard: list[Change] = []
    with MCPManager(registry_of(AgentHandler(agent, MCPHandlerConfig("growing")))) as manager:
        provider = ManagerProvider(manager)
        provider.on_change(heard.append)
        assert provider.answer("tools/list", {}, Call())["tools"][0]["name"] == "one"

        agent.names = ("one", "two")
        agent.tools_changed()

        wait_until(lambda: any("tools" in change.lists for change in heard))
        assert names(manager.get_tools_for_scope()) == ["one", "two"]
        assert manager.call_tool("two", {}).content == "two"


def test_an_agent_is_a_handler() -> None:
    """DESIGN, 1.4: with its whole definitions, its checks of arguments, and its `async def` tools."""
    handler = AgentHandler(Worker(), MCPHandlerConfig("worker"))
    with pytest.raises(RuntimeError, match="'worker' is not connected"):
        handler.list_tools()

    handler.connect()

    assert handler.instructions == "Work hard."
    assert names(handler.list_tools()) == ["double", "count", "linger", "later", "fail"]
    assert handler.call_tool("double", {"number": 4}) == MCPToolResult(
        "8", metadata={"structuredContent": {"result": 8}}
    )
    assert handler.call_tool("later", {}).content == "later"
    assert handler.call_tool("fail", {}) == MCPToolResult("", True, "it failed")
    assert "validation failed" in handler.call_tool("double", {"number": "x"}).error_message
    handler.disconnect()
    handler.disconnect()
    assert not handler.health_check()


def test_a_manager_routes_to_an_agent(in_call: Call) -> None:
    """DESIGN, 1.4: progress and cancellation reach its tools, which run in a thread of their own."""
    agent = Worker()
    with MCPManager(registry_of(AgentHandler(agent, MCPHandlerConfig("worker")))) as manager:
        assert manager.call_tool("count", {"steps": 2}).content == "counted"
        assert in_call.reports == [(1, 2, "counting"), (2, 2, "counting")]  # type: ignore[attr-defined]

        threading.Thread(target=lambda: (agent.waiting.wait(PATIENCE_SECONDS), in_call.cancel())).start()
        with pytest.raises(CallCancelledError):
            manager.call_tool("linger", {})
        assert manager._error_counts == {"worker": 0}


def test_a_call_of_an_agent_ends_with_the_timeout() -> None:
    """A8: and the tool finds its call cancelled."""
    handler = AgentHandler(Worker(), MCPHandlerConfig("worker"))
    with MCPManager(registry_of(handler)) as manager:
        manager.get_tools_for_scope()
        handler.config.timeout = 0.1
        assert "timed out" in manager.call_tool("linger", {}).error_message
        wait_until(lambda: not [one for one in threading.enumerate() if one.name == "MCP handler worker" and busy(one)])


def busy(thread: threading.Thread) -> bool:
    """Whether a thread runs an agent's tool."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code.co_name == "linger":
            return True
        frame = frame.f_back
    return False


def test_progress_extends_the_timeout_of_a_call() -> None:
    """Ours: a tool that reports progress does not hang."""

    class Watched(Clock):
        """Counts how often it is read."""

        reads = 0

        def __call__(self) -> float:
            self.reads += 1
            return super().__call__()

    clock = Watched()

    class Slow(Worker):
        @tool
        def crawl(self) -> str:
            """Take longer than the timeout, step by step."""
            for step in range(5):
                clock.now += 0.3
                current_call().progress(step + 1)
            # The caller looks whether the time is over, and then how long it may wait again.
            reads = clock.reads
            wait_until(lambda: clock.reads >= reads + 2)
            return "arrived"

    handler = AgentHandler(Slow(), MCPHandlerConfig("slow", timeout=0.4))
    with MCPManager(registry_of(handler), clock=clock) as manager:
        assert manager.call_tool("crawl", {}).content == "arrived"


def test_the_demo_is_used_by_many_threads_as_a_handler() -> None:
    """Ours: an agent is called from several threads at once, as where it is served."""
    with MCPManager(registry_of(AgentHandler(DemoAgent(), MCPHandlerConfig("demo")))) as manager:
        sums = at_once(16, lambda n: manager.call_tool("add", {"a": n, "b": n}).metadata["structuredContent"]["sum"])
    assert sums == [2 * number for number in range(16)]


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

TEXT = {"type": "text", "text": "a"}

RESULTS: list[dict[str, Any]] = [
    {"content": [TEXT], "isError": False},
    {"content": [TEXT], "isError": True},
    {"content": [TEXT, IMAGE], "isError": False, "structuredContent": {"a": [1]}, "_meta": {"key": 1}},
    {"content": [TEXT, TEXT], "isError": True, "structuredContent": None},
    {"content": [{**TEXT, "annotations": {"audience": ["user"]}}], "isError": False},
    {"content": [IMAGE], "isError": True},
]


def test_a_result_passes_through_a_handler_unchanged() -> None:
    """DESIGN, 1.4: structured content, images, and what else a server or an agent returns."""
    assert [wire_result(tool_result(wire)) for wire in RESULTS] == RESULTS


TEXTS: list[tuple[Any, str]] = [
    ([TEXT, {"type": "text", "text": "b"}], "a\nb"),
    ([IMAGE], "[image image/png]"),
    ([{"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}], "inside"),
    ([{"type": "resource", "resource": {"uri": "x:y", "blob": "aGk=", "mimeType": "a/b"}}], "[resource x:y a/b]"),
    ([{"type": "resource_link", "name": "file", "uri": "x:y"}], "[resource_link file]"),
    ([5, {}, {"type": 5}], "[]\n[]"),
    ("text", ""),
    (None, ""),
]


def test_content_blocks_become_text() -> None:
    """A11: a model that reads text gets all texts, and the names of what else there is."""
    assert [(content, tool_result({"content": content}).content) for content, _ in TEXTS] == TEXTS


def test_structured_content_alone_is_shown_as_json() -> None:
    """Ours: some servers leave out the text that the specification recommends."""
    assert tool_result({"content": [], "structuredContent": {"é": 1}}).content == '{"é": 1}'


def test_a_failure_is_in_the_error_message() -> None:
    """The handlers' contract; one without a text is described."""
    assert tool_result({"content": [TEXT], "isError": True}) == MCPToolResult("", True, "a")
    assert tool_result({"isError": True}).error_message == "the tool reported an error without a text"


def test_metadata_of_the_connection_is_left_out() -> None:
    """Ours: the name of the server is not part of the result."""
    about = {"io.modelcontextprotocol/serverInfo": {"name": "x"}}

    assert tool_result({"content": [TEXT], "_meta": about}).metadata == {}
    assert tool_result({"content": [TEXT], "_meta": {**about, "own": 1}}).metadata == {"_meta": {"own": 1}}
    assert tool_result({"content": [TEXT], "_meta": "odd"}).metadata == {}


CONTENTS: list[tuple[MCPToolResult, list[Any]]] = [
    (MCPToolResult(""), []),
    (MCPToolResult("a"), [TEXT]),
    (MCPToolResult("ignored", metadata={"content": [IMAGE]}), [IMAGE]),
    (MCPToolResult("a", metadata={"content": "text/html"}), [TEXT]),
    (MCPToolResult("a", metadata={"content": [{"no": "type"}]}), [TEXT]),
    (MCPToolResult("a", error_message="not shown"), [TEXT]),
    (MCPToolResult("", True, "a"), [TEXT]),
    (MCPToolResult("half", True, "failed"), [{"type": "text", "text": "half\nfailed"}]),
]


def test_the_result_of_a_handler_becomes_content_blocks() -> None:
    """Ours: its text, or the content blocks in its metadata."""
    assert [(result, wire_result(result)) for result, _ in CONTENTS] == [
        (result, {"content": content, "isError": result.is_error}) for result, content in CONTENTS
    ]


def test_the_limit_applies_to_all_texts_together() -> None:
    """A9: of a result from any source; images and structured content stay whole."""
    blocks = [IMAGE, {"type": "text", "text": "aé"}, {"type": "text", "text": "bcd"}, {"type": "text", "text": "e"}]
    metadata = {"content": blocks, "structuredContent": {"long": "x" * 100}}

    result = capped(MCPToolResult("aé\nbcd\ne", False, "", metadata), 4)

    assert result.content == "aé\n...(truncated)"
    assert result.metadata["content"] == [
        IMAGE,
        {"type": "text", "text": "aé"},
        {"type": "text", "text": "b...(truncated)"},
    ]
    assert result.metadata["structuredContent"] == {"long": "x" * 100}
    assert blocks[2] == {"type": "text", "text": "bcd"}


def test_a_short_result_is_returned_unchanged() -> None:
    """A9: the very object."""
    result = MCPToolResult("a" * 8, metadata={"content": [IMAGE], "key": 1})

    assert capped(result, 8) is result
