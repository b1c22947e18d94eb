"""The code of an agent, as the parts of its provider use it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.server.agent_code import AgentCode, EventLoop, Features
from gaia_mcp.server.outcomes import note_failure
from tests.server.agents_under_test import Plain
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


class Prompt(NamedTuple):
    """A marked prompt."""

    definition: dict[str, Any]


class Marked:
    """The marked methods of an agent, with one prompt."""

    def __init__(self) -> None:
        self.prompts = {"p": Prompt({"name": "p"})}
        self.resources: dict[str, Any] = {}
        self.templates: dict[str, Any] = {}


def code_of(agent: Any) -> tuple[AgentCode, list[str]]:
    """The agent's code, and what it reports."""
    reported: list[str] = []
    return AgentCode(agent, reported.append, note_failure), reported


def test_a_problem_is_reported_once() -> None:
    """Ours: lists are read again and again."""
    code, reported = code_of(Plain())

    code.note("a")
    code.note("a")

    assert code.problems == reported == ["a"]


def test_a_missing_or_invalid_optional_method_is_ignored() -> None:
    """Ours, duck typing."""
    agent = Plain()
    agent.own = 1  # type: ignore[attr-defined]
    code, _ = code_of(agent)

    assert code.optional("none") is None
    assert code.optional("own") is None
    assert code.optional("get_mcp_tool_definitions") == []
    assert code.features() == Features()


def test_a_marked_method_overrides_a_definition_of_its_name() -> None:
    """Ours: the duplicate is reported, unless both are equal."""
    agent = Plain()
    agent.get_mcp_features = Marked  # type: ignore[attr-defined]
    code, reported = code_of(agent)
    prompts = code.features().prompts

    assert code.without_marked("prompt", [{"name": "p"}, {"name": "q"}], "name", prompts) == [{"name": "q"}]
    assert reported == []
    code.without_marked("prompt", [{"name": "p", "title": "P"}], "name", prompts)
    assert reported == ["prompt 'p' is defined twice; the marked method is used"]


def test_lists_have_the_ttl_and_cache_scope_of_the_agent() -> None:
    """Spec, MS-11: `ttlMs` and `cacheScope`, for all lists or for each."""
    lists = ("tools", "prompts", "resources", "templates")

    class Cached:
        list_ttl_ms: Any = 5000
        list_cache_scope: Any = ""

    for name in lists:
        agent = Cached()
        agent.list_cache_scope = {name: "public"}
        found = {each: code_of(agent)[0].list_caching(each) for each in lists}
        assert found == {each: {"ttlMs": 5000} for each in lists} | {name: {"ttlMs": 5000, "cacheScope": "public"}}
        assert code_of(object())[0].list_caching(name) == {}
        agent.list_ttl_ms, agent.list_cache_scope = {name: 0}, ""
        assert code_of(agent)[0].list_caching(name) == {"ttlMs": 0}


def test_an_invalid_ttl_or_cache_scope_is_reported_and_left_out() -> None:
    """Ours: as invalid members of definitions are; the list is answered all the same."""

    class Wrong:
        list_ttl_ms = "5 s"
        list_cache_scope: ClassVar = {"tools": "all", "prompts": "private"}

    code, reported = code_of(Wrong())

    assert code.list_caching("tools") == {}
    assert code.list_caching("prompts") == {"cacheScope": "private"}
    assert reported[:2] == [
        "list_ttl_ms of the list of tools is '5 s', not a whole number of milliseconds from 0 on, and is left out",
        "list_cache_scope of the list of tools is 'all', not 'public' or 'private', and is left out",
    ]


def test_a_ttl_for_an_unknown_list_is_reported() -> None:
    """Ours: its author has misspelled it."""

    class Wrong:
        list_ttl_ms: ClassVar = {"tool": 5, "prompts": 7}

    code, reported = code_of(Wrong())

    assert code.list_caching("prompts") == {"ttlMs": 7}
    assert code.list_caching("tools") == {}
    assert reported == ["list_ttl_ms has 'tool', which is not one of prompts, resources, templates, tools"]


def test_a_coroutine_is_awaited() -> None:
    """Ours: whatever method it came from."""

    async def later() -> str:
        return "later"

    code, _ = code_of(Plain())
    call = Call()

    assert [code.awaited("now", call), code.awaited(later(), call)] == ["now", "later"]
    code.loop.close()


WHO = contextvars.ContextVar("who", default="")


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    loop = EventLoop(close_seconds=PATIENCE_SECONDS)
    yield loop
    loop.close()
    wait_until(lambda: loops() == [])


def loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "event loop"]


class Sleeper:
    """A coroutine that begins and does not end by itself."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()

    async def sleep(self) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def test_coroutines_run_in_one_loop_with_the_context_of_their_caller(loop: EventLoop) -> None:
    """Ours: an agent may keep connections of its own loop; `current_call()` is a context variable."""

    async def where() -> tuple[int, str]:
        await asyncio.sleep(0)
        return id(asyncio.get_running_loop()), WHO.get()

    WHO.set("me")
    first, second = loop.run(where(), Call()), loop.run(where(), Call())

    assert first == second
    assert first[1] == "me"
    assert len(loops()) == 1


def test_an_unused_event_loop_has_no_thread() -> None:
    """Ours: most agents are synchronous."""
    loop = EventLoop()
    loop.close()
    loop.retire()

    assert loops() == []


def test_an_exception_of_a_coroutine_is_raised_in_the_caller(loop: EventLoop) -> None:
    """Ours: a tool that is a coroutine fails like any other tool."""

    async def fail() -> None:
        raise KeyError("path")

    with pytest.raises(KeyError, match="path"):
        loop.run(fail(), Call())


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_a_coroutine_that_exits_does_not_end_the_loop(loop: EventLoop, error: BaseException) -> None:
    """Ours: asyncio would let it end the thread."""

    async def leave() -> None:
        raise error

    with pytest.raises(type(error)):
        loop.run(leave(), Call())
    assert loop.run(asyncio.sleep(0, "alive"), Call()) == "alive"


def test_a_cancelled_call_cancels_its_task(loop: EventLoop) -> None:
    """Ours: the cancellation reaches the task at its next await."""
    call, sleeper = Call(), Sleeper()
    with ThreadPoolExecutor() as threads:
        running = threads.submit(loop.run, sleeper.sleep(), call)
        assert sleeper.began.wait(PATIENCE_SECONDS)
        call.cancel()
        with pytest.raises(CallCancelledError):
            running.result(PATIENCE_SECONDS)
    assert sleeper.ended.wait(PATIENCE_SECONDS)


def test_a_call_that_is_cancelled_already_does_not_wait(loop: EventLoop) -> None:
    """Ours: the notification may arrive before the thread that runs the call."""
    call = Call()
    call.cancel()

    with pytest.raises(CallCancelledError):
        loop.run(Sleeper().sleep(), call)


def test_a_task_that_cancels_itself_has_failed(loop: EventLoop) -> None:
    """Ours: the call was not cancelled, and its client waits for a response."""

    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(CancelledError):
        loop.run(give_up(), Call())


def test_a_cancelled_caller_does_not_wait_for_a_blocked_loop(loop: EventLoop) -> None:
    """Ours: what blocks the loop does not keep the threads of the server."""
    began, unblock, call = threading.Event(), threading.Event(), Call()

    async def block() -> None:
        began.set()
        unblock.wait()

    with ThreadPoolExecutor() as threads:
        running = threads.submit(loop.run, block(), call)
        assert began.wait(PATIENCE_SECONDS)
        call.cancel()
        with pytest.raises(CallCancelledError):
            running.result(PATIENCE_SECONDS)
        unblock.set()


def test_closing_cancels_running_coroutines_and_ends_the_thread(loop: EventLoop) -> None:
    """Ours: a task may clean up; async generators are closed."""
    sleeper = Sleeper()
    closed: list[str] = []

    async def numbers() -> Any:
        try:
            yield 1
        finally:
            closed.append("generator")

    async def begin() -> Any:
        generator = numbers()
        await anext(generator)
        return generator

    generator = loop.run(begin(), Call())
    with ThreadPoolExecutor() as threads:
        running = threads.submit(loop.run, sleeper.sleep(), Call())
        assert sleeper.began.wait(PATIENCE_SECONDS)
        loop.close()
        assert sleeper.ended.is_set()
        assert isinstance(running.exception(PATIENCE_SECONDS), CancelledError)
    assert closed == ["generator"]
    assert loops() == []
    del generator


def test_closing_does_not_wait_for_a_blocked_loop() -> None:
    """Ours: the process is not kept by it."""
    loop = EventLoop(close_seconds=0.01)
    began, unblock = threading.Event(), threading.Event()

    async def block() -> None:
        began.set()
        unblock.wait()

    with ThreadPoolExecutor() as threads:
        running = threads.submit(loop.run, block(), Call())
        assert began.wait(PATIENCE_SECONDS)
        loop.close()
        assert len(loops()) == 1
        unblock.set()
        running.result(PATIENCE_SECONDS)
    wait_until(lambda: loops() == [])


def test_a_retired_loop_ends_with_its_last_call() -> None:
    """Ours: a replaced agent's calls end with the agent that they began with."""
    loop = EventLoop(close_seconds=PATIENCE_SECONDS)
    release = threading.Event()

    async def wait() -> str:
        while not release.is_set():
            await asyncio.sleep(0.001)
        return "done"

    with ThreadPoolExecutor() as threads:
        running = threads.submit(loop.run, wait(), Call())
        wait_until(loops)
        loop.retire()
        assert len(loops()) == 1
        release.set()
        assert running.result(PATIENCE_SECONDS) == "done"
    assert loops() == []
