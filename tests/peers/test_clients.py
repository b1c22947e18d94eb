"""Clients that others wrote, with an agent that we serve."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, StdioServerParameters, types

from gaia_mcp import __version__
from tests.peers.conftest import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

MODES = pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
TIMEOUT_SECONDS = 30


class Sdk:
    """Clients of the official SDK in a thread of their own, connected once for each command and mode. What is to be
    used by several tests leaves the server as it was; with options, a client is for one use.
    """

    def __init__(self, mark: dict[str, str]) -> None:
        self._mark = mark
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._clients: dict[tuple[str, ...], Client] = {}
        self._connections: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

    def __call__(self, use: Callable[[Client], Awaitable[None]], command: list[str], mode: str, **options: Any) -> None:
        """Have a client of this server do something."""

        async def run() -> None:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                if options:
                    async with self._client(command, mode, **options) as client:
                        await use(client)
                else:
                    await use(await self._connected(command, mode))

        asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def end(self) -> None:
        """Disconnect all."""

        async def end_all() -> None:
            for is_over, _ in self._connections:
                is_over.set()
            await asyncio.gather(*(task for _, task in self._connections))

        asyncio.run_coroutine_threadsafe(end_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _client(self, command: list[str], mode: Any, **options: Any) -> Client:
        program, *arguments = command
        return Client(StdioServerParameters(command=program, args=arguments, env=self._mark), mode=mode, **options)

    async def _connected(self, command: list[str], mode: str) -> Client:
        key = (mode, *command)
        if key not in self._clients:
            is_open, is_over = asyncio.Event(), asyncio.Event()

            async def hold() -> None:
                # A client is left in the task that has entered it.
                try:
                    async with self._client(command, mode) as self._clients[key]:
                        is_open.set()
                        await is_over.wait()
                finally:
                    is_open.set()

            self._connections.append((is_over, asyncio.create_task(hold())))
            await is_open.wait()
        return self._clients[key]


@pytest.fixture(scope="module")
def sdk(lasting_mark: dict[str, str]) -> Iterator[Sdk]:
    """Clients of the official SDK."""
    made = Sdk(lasting_mark)
    yield made
    made.end()


@MODES
def test_the_sdk_connects_in_both_eras(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, compatibility: a dual-era server serves either opening."""

    async def use(client: Client) -> None:
        assert client.protocol_version == version
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("demo", __version__)
        assert client.instructions is not None
        assert "greet" in client.instructions
        tools = (await client.list_tools()).tools
        assert {"greet", "add", "picture", "sound", "attach", "countdown", "fail", "order", "note", "haiku"} == {
            tool.name for tool in tools
        }

    sdk(use, serve_demo, mode)


@MODES
def test_the_sdk_calls_tools(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, tools/call: text, structured output that fits its schema, every kind of block, failures."""

    async def use(client: Client) -> None:
        greeted = await client.call_tool("greet", {"name": "Ada"})
        assert (greeted.is_error, greeted.content[0].text) == (False, "Hello, Ada!")
        added = await client.call_tool("add", {"a": 1, "b": 2.5})
        assert added.structured_content == {"sum": 3.5}
        assert (await client.call_tool("picture", {"size": 8})).content[0].mime_type == "image/png"
        assert (await client.call_tool("sound", {})).content[0].mime_type == "audio/wav"
        attached = await client.call_tool("attach", {})
        assert [block.type for block in attached.content] == ["text", "resource", "resource", "resource_link"]
        failed = await client.call_tool("fail", {"message": "not today"})
        assert (failed.is_error, failed.content[0].text) == (True, "not today")

    sdk(use, serve_demo, mode)


@MODES
def test_the_sdk_gets_errors_with_their_codes(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, errors: what does not fit is a tool error, an unknown tool or prompt -32602; a resource by revision."""

    async def use(client: Client) -> None:
        problem = await client.call_tool("greet", {"nme": "Ada"})
        assert problem.is_error
        assert "'name' is missing" in problem.content[0].text
        for wrong, code in (
            (client.call_tool("nope", {}), -32602),
            (client.get_prompt("nope"), -32602),
            (client.read_resource("demo://nope"), -32602 if version == "2026-07-28" else -32002),
        ):
            with pytest.raises(MCPError) as caught:
                await wrong
            assert caught.value.error.code == code

    sdk(use, serve_demo, mode)


@MODES
def test_the_sdk_gets_progress_notifications(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, progress."""
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def use(client: Client) -> None:
        await client.call_tool("countdown", {"steps": 3, "seconds": 0.1}, progress_callback=on_progress)

    sdk(use, serve_demo, mode)

    assert heard == [(1, 3, "2 to go"), (2, 3, "1 to go"), (3, 3, "0 to go")]


@MODES
def test_the_sdk_calls_methods_with_type_hints(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, structured content: the SDK validates each against its output schema, and raises if it does not fit."""
    note = {"text": "milk", "due": "2026-01-02", "colour": "blue"}
    who = "00000000-0000-0000-0000-000000000001"
    heard: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def use(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("GAIA Hinted", "3.1")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["note"].annotations is not None
        assert tools["note"].annotations.read_only_hint is True
        assert tools["note"].input_schema["properties"]["text"]["description"] == "What to note."

        async def structured(name: str, **arguments: Any) -> Any:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result.content
            return result.structured_content

        assert await structured("note", **note) == note
        assert await structured("many", notes=[note, {"text": "bread"}], kind="due") == {"result": [note]}
        assert await structured("order", order={"number": 1, "price": 1.5, "notes": [note]}, factor=2) == {
            "number": 1, "price": "3.0", "notes": [note]
        }  # fmt: skip
        assert await structured("values", span=["2026-01-02", "P1D"], where="a/b", who=who) == {
            "span": ["2026-01-02", "P1D"], "where": "a/b", "who": who, "set": [1, 2, 3]
        }  # fmt: skip
        pictured = await client.call_tool("picture", {})
        assert [block.type for block in pictured.content] == ["image", "text"]
        later = await client.call_tool("later", {}, progress_callback=on_progress)
        assert (later.content[0].text, later.structured_content) == ("later", {"result": "later"})
        for name, arguments, words in (
            ("note", {"text": "a", "due": "soon"}, "due: 'soon' is not a date"),
            ("order", {"order": {"number": 0, "price": 1}}, "order.number"),
            ("broken", {}, "tool 'broken' returned a value that does not fit its output schema"),
            ("opaque", {}, "tool 'opaque' returned a value that is not JSON: it is of type hinted_agent.Hinted"),
        ):
            failed = await client.call_tool(name, arguments)
            assert failed.is_error
            assert words in failed.content[0].text

    served = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", f"{PROGRAMS / 'hinted_agent.py'}:Hinted"]
    sdk(use, served, mode)

    assert heard == ["waiting"]


@MODES
def test_the_sdk_gets_an_error_for_an_invalid_result_of_an_agent(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, MS-8, MS-11, MS-15, MS-16: the SDK would drop each of these messages, and raise for what it waits for."""
    not_found = -32602 if version == "2026-07-28" else -32002

    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == 10
        assert all("properties" in tool.input_schema for tool in tools.values())
        for name, words in (
            ("no_structured_content", "no structured content, which its output schema requires"),
            ("another_structure", 'x: "1" is not of type "integer"'),
            ("another_value", "'x' is missing"),
            ("unfinished", "of the type 'input_required'"),
            ("unknown_type", "of the type 'partial'"),
            ("invalid_block", "content[1], of the type image, has no mimeType"),
            ("no_boolean", "isError is not true or false"),
        ):
            failed = await client.call_tool(name, {})
            assert failed.is_error, name
            assert words in failed.content[0].text
        for name in ("nulls", "state", "only_structured"):
            assert not (await client.call_tool(name, {})).is_error, name
        (prompt,) = (await client.list_prompts()).prompts
        assert [argument.name for argument in prompt.arguments or []] == ["x"]
        (resource,) = (await client.list_resources()).resources
        assert resource.name == "x://lasting"
        wrong: tuple[tuple[Any, int, str], ...] = (
            (client.get_prompt("system", {}), -32603, "whose role is user or assistant"),
            (client.read_resource("x://empty"), not_found, "not found"),
        )
        if version == "2026-07-28":
            wrong = (*wrong, (client.read_resource("x://lasting"), -32603, "ttlMs is -5"))
        for request, code, words in wrong:
            with pytest.raises(MCPError, match=words) as caught:
                await request
            assert caught.value.error.code == code

    served = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", f"{PROGRAMS / 'nearly_right_agent.py'}:NearlyRight"]
    sdk(use, served, mode)


@MODES
def test_the_sdk_gets_prompts_and_resources(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, prompts and resources."""

    async def use(client: Client) -> None:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["introduce"]
        prompt = await client.get_prompt("introduce", {"name": "Ada"})
        assert "Ada" in prompt.messages[0].content.text
        uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert uris == ["demo://about", "demo://logo", "demo://notes"]
        assert "gaia-mcp" in (await client.read_resource("demo://about")).contents[0].text
        assert (await client.read_resource("demo://logo")).contents[0].blob
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "demo://notes/{number}"

    sdk(use, serve_demo, mode)


@MODES
def test_the_sdk_gets_every_response_of_an_agent_with_invalid_unicode(sdk: Sdk, mode: str, version: str) -> None:
    """Ours: the SDK drops a line with half of a surrogate pair, and waits for another one until its time is over."""
    mended = "a\ufffdb"
    heard: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def use(client: Client) -> None:
        assert client.server_info is not None
        assert client.server_info.version == mended
        tools = {tool.name: tool.description for tool in (await client.list_tools()).tools}
        assert tools["returns"] == mended
        returned = await client.call_tool("returns", {})
        assert (returned.is_error, returned.content[0].text) == (False, mended)
        keys = await client.call_tool("keys", {})
        assert keys.structured_content == {mended: [mended, "\N{GRINNING FACE}", r"\ud800"]}
        raised = await client.call_tool("raises", {})
        assert raised.is_error
        assert mended in raised.content[0].text
        assert (await client.call_tool("tells", {}, progress_callback=on_progress)).content[0].text == mended
        assert (await client.call_tool("echo", {"text": "\N{GRINNING FACE}"})).content[0].text == "\N{GRINNING FACE}"

    served = [sys.executable, "-m", "gaia_mcp", "mcp", "serve", f"{PROGRAMS / 'half_pairs_agent.py'}:HalfPairs"]
    sdk(use, served, mode)

    assert heard == [mended]


@MODES
def test_the_sdk_cancels_a_slow_tool(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Spec, cancellation: other calls go on meanwhile, and nothing of the old one comes back."""

    async def use(client: Client) -> None:
        slow = asyncio.create_task(client.call_tool("countdown", {"seconds": 60}))
        await client.call_tool("greet", {"name": "Ada"})
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await client.call_tool("greet", {"name": "Ada"})).content[0].text == "Hello, Ada!"

    sdk(use, serve_demo, mode)


@MODES
def test_the_sdk_calls_forty_tools_at_once(serve_demo: list[str], sdk: Sdk, mode: str, version: str) -> None:
    """Ours: each answer to its own question."""

    async def use(client: Client) -> None:
        results = await asyncio.gather(*(client.call_tool("add", {"a": number, "b": 1}) for number in range(40)))
        assert [result.structured_content for result in results] == [{"sum": number + 1} for number in range(40)]

    sdk(use, serve_demo, mode)


def test_the_sdk_pings_by_handshake(serve_demo: list[str], sdk: Sdk) -> None:
    """Spec, ping: of the handshake era."""

    async def use(client: Client) -> None:
        with pytest.warns(Warning, match="ping is removed"):
            await client.send_ping()

    sdk(use, serve_demo, "legacy")


def test_the_sdk_of_2025_is_served(serve_demo: list[str], mark: dict[str, str], old_python: Path) -> None:
    """Spec 2025-03-26: a client that knows nothing newer gets only what it can read."""
    done = subprocess.run(
        [old_python, PROGRAMS / "old_client.py", *serve_demo],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env={**mark, "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr

    seen = json.loads(done.stdout)
    assert seen["version"] == "2025-03-26"
    assert seen["server"] == "demo"
    assert "greet" in seen["tools"]
    assert seen["greet"] == [False, "Hello, Ada!"]
    assert seen["invalid"][0] is True
    # Links came with 2025-06-18: an older client gets the address as text.
    assert seen["attach"] == ["text", "resource", "resource", "text"]
    assert seen["fail"] is True
    assert "Unknown tool: nope" in seen["unknown"]
    assert "Ada" in seen["prompt"]
    assert seen["resources"] == ["demo://about", "demo://logo", "demo://notes"]
    assert "gaia-mcp" in seen["about"]


def test_our_own_client_is_served(serve_demo: list[str], connect: Callable[..., Any]) -> None:
    """Ours: the two ends of this package."""
    client = connect(*serve_demo)

    assert client.peer.era == "stateless"
    assert client.call("greet", {"name": "Ada"})["content"][0]["text"] == "Hello, Ada!"


# An agent that asks.

ASKING = [sys.executable, "-m", "gaia_mcp", "serve", f"{PROGRAMS / 'asking_agent.py'}:Asking"]


class _Answers:
    """The callbacks of a client, which answer every question."""

    def __init__(self) -> None:
        self.action = "accept"
        self.asked: list[str] = []

    async def elicit(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        schema = getattr(params, "requested_schema", None)
        content = None
        if schema is not None and self.action == "accept":
            given = {"size": "large", "name": "Bob", "count": 3, "gift": True, "toppings": ["ham"], "sure": True}
            content = {name: given[name] for name in schema["properties"]}
        return types.ElicitResult(action=self.action, content=content)

    async def roots(self, _: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///here")])

    async def sample(self, _: Any, params: Any) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text=f"at most {params.max_tokens}")
        return types.CreateMessageResult(role="assistant", content=text, model="m")

    def options(self) -> dict[str, Any]:
        """For the client."""
        return {
            "elicitation_callback": self.elicit,
            "list_roots_callback": self.roots,
            "sampling_callback": self.sample,
        }


@MODES
def test_the_sdk_answers_the_server_requests_of_a_tool(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, client features: the same tools in both eras, by requests in one and by results in the other."""
    answers = _Answers()

    async def use(client: Client) -> None:
        assert client.protocol_version == version

        async def text_of(name: str) -> str:
            result = await client.call_tool(name, {})
            assert not result.is_error, (answers.action, result)
            text: str = result.content[0].text
            return text

        assert await text_of("order") == "1 LARGE Bob 3 True ['ham'] accept"
        assert await text_of("login") == "accept"
        assert await text_of("think") == "at most 5"
        assert await text_of("look") == "file:///here Bob"
        for answers.action in ("decline", "cancel"):
            assert await text_of("order") == f"no order: {answers.action}"
            assert await text_of("login") == answers.action

    sdk(use, ASKING, mode, **answers.options())
    assert answers.asked == ["Which one?", "Sure?", "Log in", "Who?", *["Which one?", "Log in"] * 2]


@MODES
def test_the_sdk_gets_an_error_for_a_missing_capability(sdk: Sdk, mode: str, version: str) -> None:
    """MS-4: nothing is asked of a client that has not declared it; only one era has a code for that."""

    async def use(client: Client) -> None:
        if version == "2025-11-25":
            assert (await client.call_tool("think", {})).is_error
            return
        with pytest.raises(MCPError) as caught:
            await client.call_tool("think", {})
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"sampling": {}}}

    sdk(use, ASKING, mode)


# An agent that offers more than tools.

OFFERING = [sys.executable, "-m", "gaia_mcp", "serve", f"{PROGRAMS / 'offering_agent.py'}:Offering"]


@MODES
def test_the_sdk_uses_the_prompts_and_resources_of_decorators(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, prompts, resources, templates: with all their metadata."""
    not_found = -32602 if version == "2026-07-28" else -32002

    async def use(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.title, prompt.description) == ("review", "Review", "Review a book.")
        assert prompt.icons is not None
        assert prompt.icons[0].src == "https://example.com/icon.png"
        assert prompt.arguments is not None
        assert [(one.name, one.required, one.description) for one in prompt.arguments] == [
            ("style", True, "How long it is."),
            ("number", False, None),
        ]
        got = await client.get_prompt("review", {"style": "long", "number": "2"})
        assert got.messages[0].content.text == "Write a long review of Dracula."
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["books://{number}{?upper}", "files:///{+folder}/{name}.txt"]
        texts = {
            "books://2": "Dracula",
            "books://2?upper=true": "DRACULA",
            "books://all": '[\n  "Emma",\n  "Dracula"\n]',
            "page://7": "7",
        }
        for uri, text in texts.items():
            assert (await client.read_resource(uri)).contents[0].text == text
        (contents,) = (await client.read_resource("files:///a/b/c.txt")).contents
        assert base64.b64decode(contents.blob) == b"a/b c"
        listed = await client.read_resource("books://all")
        if version == "2026-07-28":
            assert (listed.ttl_ms, listed.cache_scope) == (60000, "public")
        for uri in ("books://3", "books://x", "books://2?lower=true", "nothing://here"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == not_found

    sdk(use, OFFERING, mode)


@MODES
def test_the_sdk_reads_long_lists_in_pages(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, pagination: nothing twice, nothing left out; an invalid cursor is -32602."""

    async def use(client: Client) -> None:
        uris, cursor, pages = [], None, 0
        while True:
            page = await client.list_resources(cursor=cursor)
            uris += [str(resource.uri) for resource in page.resources]
            cursor, pages = page.next_cursor, pages + 1
            if cursor is None:
                break
            if pages == 1:
                all_books = page.resources[0]
                assert (all_books.title, all_books.size) == ("All", 3)
                assert all_books.annotations is not None
                assert (all_books.annotations.audience, all_books.annotations.priority) == (["user"], 0.5)
        assert (uris, pages) == (["books://all", *(f"page://{number}" for number in range(2500))], 3)
        with pytest.raises(MCPError) as caught:
            await client.list_resources(cursor="invalid")
        assert caught.value.error.code == -32602

    sdk(use, OFFERING, mode)


@MODES
def test_the_sdk_completes_arguments(sdk: Sdk, mode: str, version: str) -> None:
    """Spec, completion: 100 values at most; what the author's function raises is no error of the client's."""
    review = types.PromptReference(type="ref/prompt", name="review")
    book = types.ResourceTemplateReference(type="ref/resource", uri="books://{number}{?upper}")

    async def use(client: Client) -> None:
        assert client.server_capabilities is not None
        assert client.server_capabilities.completions is not None
        style = (await client.complete(review, {"name": "style", "value": "s"})).completion
        assert (style.values, style.total, style.has_more) == (["short"], 1, False)
        number = (await client.complete(book, {"name": "number", "value": "1"}, {"upper": "!"})).completion
        assert (number.values[:2], len(number.values)) == (["10!", "11!"], 100)
        assert (number.total, number.has_more) == (1000, True)
        failed = (await client.complete(book, {"name": "upper", "value": "x"})).completion
        assert failed.values == []
        with pytest.raises(MCPError) as caught:
            await client.complete(review, {"name": "nope", "value": ""})
        assert caught.value.error.code == -32602

    sdk(use, OFFERING, mode)
