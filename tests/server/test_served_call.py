"""What a running call asks of its client, with clients of both eras: the same tools, the same answers."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking.questions import Declined, Elicit, ElicitURL, ListRoots, Sample
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, MISSING_CAPABILITY
from gaia_mcp.protocol.questions import MissingCapabilityError, QuestionError
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server import call_questions, served_call
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.http.workers import Workers
from gaia_mcp.toolcall import CallCancelledError, current_call
from tests.server.talk import cancel, plain
from tests.tracing_support import TRACE
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job
    from gaia_mcp.server.running_call import RunningCall
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]
CAPABILITIES: Wire = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
NAME: Wire = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ADA: Wire = {"action": "accept", "content": {"name": "Ada"}}
ROOTS: Wire = {"roots": [{"uri": "file:///a", "name": "A"}]}
THOUGHT: Wire = {"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m"}

BOTH = pytest.mark.parametrize("era", ["handshake", "stateless"])


class Tools:
    """An agent whose tools are functions of the running call."""

    def __init__(self, **tools: Callable[[Call], Any]) -> None:
        self.tools = tools

    def get_mcp_tool_definitions(self) -> list[Wire]:
        """As every agent."""
        return [{"name": name, "description": "", "inputSchema": {"type": "object"}} for name in self.tools]

    def execute_mcp_tool(self, name: str, arguments: Wire) -> Any:
        """As every agent."""
        return self.tools[name](current_call())

    def get_mcp_prompts(self) -> list[Wire]:
        """As every agent."""
        return [{"name": "who"}, {"name": "known"}]

    def get_mcp_prompt(self, name: str, arguments: Wire) -> str:
        """A prompt that asks."""
        answer = current_call().elicit("Who?", NAME)
        return f"I am {answer if name == 'who' else answer.value['name']}"


class Person:
    """A client of an era, or of a revision of the handshake era. It answers questions by their message or method, and
    keeps what it was asked.
    """

    def __init__(self, era: str, agent: Tools, capabilities: Wire = CAPABILITIES, **answers: Any) -> None:
        self.era = era
        self.answers = {"Who?": ADA, "roots/list": ROOTS, "sampling/createMessage": THOUGHT, **answers}
        self.asked: list[str] = []
        self.logged: list[Any] = []
        self.requests = 0
        self.agent = agent
        self._capabilities = capabilities
        self._responses: dict[int, Wire] = {}
        self._answered = threading.Event()
        provider = AgentProvider(agent)
        # The calls whose streams were to be closed.
        self.closed: list[RunningCall] = []
        connection = ServerConnection(provider.describe())
        self.calls = Calls(connection, provider, self._take, close_stream=self.closed.append)
        if era != "stateless":
            version = "2025-11-25" if era == "handshake" else era
            params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t"}}
            self.give(plain("i", "initialize", params))
            self.give({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def give(self, message: Wire) -> list[Job]:
        """Hand in a message; the jobs that it makes."""
        return self.calls.receive(json.dumps(message).encode())

    def call(self, tool: str, **more: Any) -> Wire:
        """Call a tool to the end, and answer what is asked on the way; its response."""
        return self.ask("tools/call", {"name": tool, "arguments": {}, **more})

    def ask(self, method: str, params: Wire) -> Wire:
        """As `call`, for any method."""
        while True:
            response = self.send(method, params)
            result = response.get("result", {})
            if result.get("resultType") != "input_required":
                return response
            answers = {key: self._answer(asked) for key, asked in result["inputRequests"].items()}
            params = {**params, "inputResponses": answers, "requestState": result["requestState"]}

    def send(self, method: str, params: Wire) -> Wire:
        """One request; its response."""
        (job,) = self.start(method, params)
        self.calls.run(job)
        return self._responses[self.requests]

    def start(self, method: str, params: Wire) -> list[Job]:
        """One request; its jobs."""
        self.requests += 1
        if self.era == "stateless":
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self._capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "t"},
                "io.modelcontextprotocol/logLevel": "info",
                "progressToken": self.requests,
            }
            params = {**params, "_meta": {**params.get("_meta", {}), **meta}}
        return self.give(plain(self.requests, method, params))

    def _take(self, outgoing: Outgoing) -> None:
        message: Any = outgoing.message
        if "method" not in message:
            self._responses[message["id"]] = message
        elif "id" in message:
            answer = self._answer(message)
            if answer is not None:
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
                if isinstance(answer, Exception):
                    reply = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": str(answer)}}
                # As a client does: in a thread of its own, while the tool waits.
                threading.Thread(target=self.give, args=(reply,)).start()
        else:
            self.logged.append(message["params"].get("data", message["params"].get("progress", message["method"])))

    def _answer(self, asked: Wire) -> Any:
        what = asked.get("params", {}).get("message", asked["method"])
        self.asked.append(what)
        answer = self.answers[what]
        return answer.pop(0) if isinstance(answer, list) else answer


def text_of(response: Wire) -> str:
    """The text of a tool's result."""
    text: str = response["result"]["content"][0]["text"]
    return text


@dataclass
class Name:
    """A form."""

    name: str


@BOTH
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (ADA, "Accepted(value=Name(name='Ada'))"),
        ({"action": "decline"}, "Declined()"),
        ({"action": "cancel"}, "Cancelled()"),
    ],
)
def test_a_person_is_asked_with_the_same_code_in_both_eras(era: str, answer: Wire, outcome: str) -> None:
    """Spec, elicitation: the three outcomes, as what the tool wrote down."""
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", Name))), **{"Who?": answer})

    assert text_of(person.call("ask")) == outcome
    assert person.asked == ["Who?"]


@pytest.mark.parametrize(
    ("era", "more", "lacks"),
    [("handshake", {}, "True"), ("handshake", {"task": {}}, "False"), ("stateless", {}, "False")],
)
def test_a_call_knows_whether_its_client_could_have_asked_for_a_task(era: str, more: Wire, lacks: str) -> None:
    """Spec 2025-11-25, LS-8: in the stateless era the server alone decides."""
    person = Person(era, Tools(tell=lambda call: str(call.lacks_task)))

    assert text_of(person.call("tell", **more)) == lacks


@pytest.mark.parametrize(("era", "asks_by_result"), [("handshake", False), ("stateless", True)])
def test_a_call_knows_how_it_asks_and_what_its_client_wants_logged(era: str, asks_by_result: bool) -> None:
    """Ours: what runs tools in another program passes both on."""
    person = Person(era, Tools(tell=lambda call: f"{call.asks_by_result} {call.log_level}"))

    assert text_of(person.call("tell")) == f"{asks_by_result} info"


@BOTH
def test_everything_that_a_client_has_can_be_asked_for(era: str) -> None:
    """Spec, client features: URLs, sampling, roots."""

    def work(call: Call) -> str:
        opened = call.elicit_url("Log in", "https://example.com")
        return f"{opened.action} {call.sample('Think.', temperature=0).text} {call.roots()[0].name}"

    person = Person(era, Tools(work=work), **{"Log in": {"action": "accept"}})

    assert text_of(person.call("work")) == "accept hm A"
    assert person.asked == ["Log in", "sampling/createMessage", "roots/list"]


@BOTH
def test_several_questions_are_asked_at_once(era: str) -> None:
    """Ours: one round for all of them."""
    both = Tools(ask=lambda call: str(call.ask_all(Elicit("Who?", NAME), ListRoots(name="where"))))
    person = Person(era, both)

    assert text_of(person.call("ask")) == "[Accepted(value={'name': 'Ada'}), [Root(uri='file:///a', name='A')]]"
    assert person.requests == (1 if era == "handshake" else 2)


@BOTH
def test_only_what_has_no_valid_answer_is_asked_for_again(era: str) -> None:
    """Ours: a person answers each question once."""
    both = Tools(ask=lambda call: str(call.ask_all(Elicit("Who?", NAME), ListRoots())))
    person = Person(era, both, **{"Who?": [{"action": "accept", "content": {}}, ADA]})

    assert "Ada" in text_of(person.call("ask"))
    assert person.asked == ["Who?", "roots/list", "Who?"]


def test_a_call_of_2025_11_25_may_lack_a_task() -> None:
    """LS-8: only a client of that revision could have asked for one."""
    person = Person("handshake", Tools(ask=lambda call: str(call.lacks_task)))

    assert text_of(person.call("ask")) == "True"
    assert text_of(Person("stateless", person.agent).call("ask")) == "False"


@BOTH
def test_async_code_awaits_the_answer(era: str) -> None:
    """Ours: the loop goes on with other calls meanwhile."""

    async def ask() -> str:
        call = current_call()
        first, second = await asyncio.gather(
            _awaited(call.elicit("Who?", NAME, name="a")), _awaited(call.roots(name="b"))
        )
        return f"{first} {second}"

    async def _awaited(value: Any) -> Any:
        return await value

    person = Person(era, Tools(ask=lambda _: ask()))

    assert text_of(person.call("ask")) == "Accepted(value={'name': 'Ada'}) [Root(uri='file:///a', name='A')]"


@BOTH
def test_what_must_not_happen_twice_happens_once(era: str) -> None:
    """Ours: `once`, log messages and progress, although a stateless client has the tool run three times."""
    orders: list[int] = []

    def work(call: Call) -> str:
        call.log("info", "begin")
        call.progress(1, 3)
        number = call.once("order", lambda: orders.append(1) or len(orders))
        call.elicit("Who?", NAME)
        call.log("info", "half")
        call.progress(2, 3)
        call.roots()
        call.log("info", "end")
        call.progress(3, 3)
        return f"{number} {call.once('order', lambda: 99)}"

    person = Person(era, Tools(work=work))

    assert text_of(person.call("work")) == "1 1"
    assert orders == [1]
    heard = [one for one in person.logged if isinstance(one, str)]
    assert heard == ["begin", "half", "end"]
    if era == "stateless":
        assert person.logged == ["begin", 1, "half", 2, "end", 3]


@BOTH
def test_what_a_once_raises_is_not_kept(era: str) -> None:
    """Ours: it is tried again when the tool tries again; what is not JSON could not travel."""
    tries: list[int] = []

    def fail() -> int:
        tries.append(1)
        raise OSError(f"try {len(tries)}")

    def work(call: Call) -> str:
        with pytest.raises(OSError, match="try 1"):
            call.once("a", fail)
        with pytest.raises(OSError, match="try 2"):
            call.once("a", fail)
        call.once("b", lambda: {1, 2})
        return "done"

    assert Person(era, Tools(work=work)).call("work")["result"]["isError"] is False
    made = Tools(work=lambda call: str(call.once("a", object)))
    assert "once 'a': the value is not JSON" in text_of(Person(era, made).call("work"))


@BOTH
def test_an_answer_that_does_not_fit_is_asked_for_again(era: str) -> None:
    """MS-10: validated, and asked again rather than failed."""
    wrong: list[Any] = [12345, {"action": "accept", "content": {"name": 7}}, ADA]
    if era == "handshake":
        wrong[0] = {"action": "yes"}
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": wrong})

    assert text_of(person.call("ask")) == "Accepted(value={'name': 'Ada'})"
    assert person.asked == ["Who?"] * 3


@BOTH
def test_a_question_that_never_settles_is_ended(era: str) -> None:
    """Ours: before the client gives up, with the question and the reason."""
    wrong = {"action": "accept", "content": {}}
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": wrong})

    response = person.call("ask")

    assert response["result"]["isError"] is True
    assert text_of(response) == "question '1' (Who?) is not settled after 9 rounds: 'name' is missing"


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"])
def test_a_tool_learns_what_its_client_can_be_asked(version: str) -> None:
    """MS-4: by what the client has declared, and by what its revision has."""
    known: list[bool] = []
    questions = (Elicit("Who?", NAME), ElicitURL("Log in", "https://example.com"), Sample("x"), ListRoots())
    agent = Tools(tell=lambda call: known.extend(map(call.can_ask, questions)))
    person = Person("stateless" if version == "2026-07-28" else version, agent, {"elicitation": {}, "roots": {}})

    person.call("tell")

    assert known == [version != "2025-03-26", False, False, True]


def test_a_client_may_answer_what_it_expects_to_be_asked() -> None:
    """MS-10: without a state, an answer belongs to the question of its name; it is checked, and others are ignored."""

    def ask(call: Call) -> str:
        return f"{call.elicit('Who?', NAME, name='who')} {call.elicit('Who else?', NAME)}"

    person = Person("stateless", Tools(ask=ask), **{"Who else?": {"action": "cancel"}})

    assert text_of(person.call("ask", inputResponses={"who": ADA, "x": 7})) == (
        "Accepted(value={'name': 'Ada'}) Cancelled()"
    )
    assert person.asked == ["Who else?"]
    person.asked.clear()
    assert "Ada" in text_of(person.call("ask", inputResponses={"who": 12345}))
    assert person.asked == ["Who?", "Who else?"]
    refused = person.call("ask", inputResponses=None)
    assert refused["error"] == {"code": INVALID_PARAMS, "message": "inputResponses must be an object"}


@BOTH
def test_a_client_without_the_capability_is_not_asked(era: str) -> None:
    """MS-4; a tool may do without."""

    def work(call: Call) -> str:
        try:
            call.roots()
        except MissingCapabilityError:
            return "no roots"
        return "roots"

    person = Person(era, Tools(work=work, ask=lambda call: call.sample("x")), {"elicitation": {}})

    assert text_of(person.call("work")) == "no roots"
    response = person.call("ask")
    if era == "stateless":
        assert response["error"]["code"] == MISSING_CAPABILITY
        assert response["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    else:
        assert response["result"]["isError"] is True


@BOTH
def test_a_prompt_that_needs_an_answer_tells_that_there_is_none(era: str) -> None:
    """Ours: the client reads what its person has done; nothing is wrong with the server."""
    person = Person(era, Tools(), **{"Who?": {"action": "decline"}})

    response = person.ask("prompts/get", {"name": "known"})

    assert response["error"] == {"code": INVALID_REQUEST, "message": "the person declined to answer"}


@BOTH
def test_a_prompt_asks_as_a_tool_does(era: str) -> None:
    """MS-7: prompts/get may require input."""
    response = Person(era, Tools()).ask("prompts/get", {"name": "who"})

    assert "Ada" in response["result"]["messages"][0]["content"]["text"]


@BOTH
def test_two_questions_of_one_name_are_an_error_of_the_author(era: str) -> None:
    """MS-8: keys are unique."""
    twice = Tools(ask=lambda call: call.ask_all(ListRoots(name="a"), ListRoots(name="a")))

    assert "has the same name 'a'" in text_of(Person(era, twice).call("ask"))


@BOTH
def test_a_name_stands_for_one_question_of_a_run(era: str) -> None:
    """Ours: a tool that asks in a loop would get the same answer for ever, and another question would never settle."""

    def work(call: Call) -> None:
        while True:
            call.elicit("Who?", NAME, name="who")

    person = Person(era, Tools(work=work))

    assert "has the same name 'who'" in text_of(person.call("work"))
    assert person.asked == ["Who?"]


@BOTH
def test_a_tool_that_asks_without_end_is_told_that_it_asks_too_much(era: str) -> None:
    """Ours: the client has answered all that it was asked."""

    def work(call: Call) -> None:
        while True:
            call.elicit("Who?", NAME)

    person = Person(era, Tools(work=work))

    assert (
        text_of(person.call("work")) == "question '10' (Who?) is one too many: a call has 9 rounds of questions at most"
    )
    assert len(person.asked) == 9


@BOTH
def test_a_question_in_an_impossible_form_is_an_error_of_the_author(era: str) -> None:
    """Spec, elicitation: forms are flat."""
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    person = Person(era, Tools(ask=lambda call: call.elicit("Who?", nested)))

    assert "field 'a' of the form" in text_of(person.call("ask"))
    assert person.asked == []


@BOTH
def test_a_tool_that_catches_everything_asks_all_the_same(era: str) -> None:
    """Ours: what ends a run is not an error, and what a tool makes of it is not sent."""

    def work(call: Call) -> str:
        try:
            return str(call.elicit("Who?", NAME))
        except BaseException:
            return "caught"

    assert text_of(Person(era, Tools(work=work)).call("work")) == "Accepted(value={'name': 'Ada'})"


@BOTH
def test_a_thread_of_the_tool_asks_through_its_call(era: str) -> None:
    """Ours: a thread has no current call of its own; one that was handed the call asks for it."""
    found: list[Any] = []

    def work(call: Call) -> str:
        def ask() -> None:
            with pytest.raises(QuestionError, match="outside of a call"):
                current_call().roots()
            try:
                found.append(call.roots())
            except served_call.InputRequired:
                found.append("later")

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return str(found[-1])

    assert text_of(Person(era, Tools(work=work)).call("work")) == "[Root(uri='file:///a', name='A')]"


@BOTH
def test_a_question_that_a_thread_of_the_tool_has_asked_is_no_failure_of_the_tool(
    era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours: what the tool lacks in the run that ends with the question, it has in the next."""

    def work(call: Call) -> str:
        found: list[str] = []

        def ask() -> None:
            with suppress(served_call.InputRequired):
                found.append(str(call.elicit("Who?", NAME)))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return found[0]

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))
    assert capsys.readouterr().err == ""


@BOTH
def test_a_thread_that_outlives_its_call_asks_nothing(era: str) -> None:
    """Ours: the client may have given the id of the request to another one by then."""
    returned = threading.Event()
    ends: list[str] = []
    threads: list[threading.Thread] = []

    def work(call: Call) -> str:
        def ask() -> None:
            returned.wait(PATIENCE_SECONDS)
            call.progress(1)
            call.log("info", "late")
            call.close_stream()
            for _ in range(2):
                with pytest.raises(QuestionError) as caught:
                    call.roots()
                ends.append(str(caught.value))

        threads.append(threading.Thread(target=ask))
        threads[0].start()
        return "done"

    person = Person(era, Tools(work=work, ask=lambda call: str(call.elicit("Who?", NAME))), **{"Who?": None})
    assert text_of(person.call("work")) == "done"
    # The same id again.
    person.requests -= 1
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})
    returned.set()
    threads[0].join(PATIENCE_SECONDS)

    assert ends == ["the call has ended; its client can no longer be asked"] * 2
    assert (person.asked, person.logged, person.closed) == ([], [], [])
    job.call.cancel()


@BOTH
def test_a_call_closes_its_stream_where_there_is_one(era: str) -> None:
    """Ours: what has streams is told of it; elsewhere the tool goes on as it did."""

    def work(call: Call) -> str:
        call.close_stream()
        return "done"

    person = Person(era, Tools(work=work))
    assert text_of(person.call("work")) == "done"
    assert [call.request.id for call in person.closed] == [person.requests]

    provider = AgentProvider(person.agent)
    person.calls = Calls(ServerConnection(provider.describe()), provider, person._take)
    person.era = "stateless"
    assert text_of(person.call("work")) == "done"


def test_a_question_is_withdrawn_when_its_call_ends_without_the_answer() -> None:
    """Ours: nothing waits for a person to answer what no longer matters."""
    ends: list[str] = []
    threads: list[threading.Thread] = []

    def work(call: Call) -> str:
        def ask() -> None:
            with pytest.raises(QuestionError) as caught:
                call.elicit("Who?", NAME)
            ends.append(str(caught.value))

        threads.append(threading.Thread(target=ask))
        threads[0].start()
        wait_until(lambda: person.asked == ["Who?"])
        return "done"

    person = Person("handshake", Tools(work=work), **{"Who?": None})

    assert text_of(person.call("work")) == "done"
    threads[0].join(PATIENCE_SECONDS)
    assert ends == ["the call has ended; its client can no longer be asked"]
    assert person.logged == ["notifications/cancelled"]


@BOTH
def test_what_happens_once_may_ask_in_a_thread(era: str) -> None:
    """Ours: a thread that is waited for is not kept from asking."""

    def work(call: Call) -> str:
        with ThreadPoolExecutor(1) as pool:
            return call.once("who", lambda: str(pool.submit(call.elicit, "Who?", NAME).result(PATIENCE_SECONDS)))

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))


@BOTH
def test_a_tool_may_hold_a_lock_while_it_asks(era: str) -> None:
    """Ours: in the stateless era it is released on the way out, for the run ends."""
    lock = threading.Lock()

    def work(call: Call) -> str:
        with lock:
            return str(call.elicit("Who?", NAME))

    assert "Ada" in text_of(Person(era, Tools(work=work)).call("work"))
    assert not lock.locked()


@BOTH
def test_a_call_knows_its_client(era: str) -> None:
    """Ours: name, capabilities and `_meta`; over a pipe no caller is told from another."""

    def work(call: Call) -> str:
        return (
            f"{call.client.name} {sorted(call.client.capabilities)} {call.meta.get('progressToken')} {call.principal}"
        )

    response = Person(era, Tools(work=work)).call("work")

    token = "1" if era == "stateless" else "None"
    assert text_of(response) == f"t ['elicitation', 'roots', 'sampling'] {token} None"


# The handshake era: a question is a request, and the thread waits.


def test_a_refused_question_is_an_error_of_the_tool() -> None:
    """Spec 2025-11-25, sampling: -1 where the person refuses."""
    person = Person("handshake", Tools(ask=lambda call: call.roots()), **{"roots/list": ValueError("not today")})

    assert text_of(person.call("ask")) == "the client refused question '1': not today"


def test_an_invalid_response_is_an_error_of_the_tool() -> None:
    """B-2: the tool does not wait for what has come."""
    person = Person("handshake", Tools(ask=lambda call: call.roots()), **{"roots/list": "x"})

    assert text_of(person.call("ask")).startswith("the client refused question '1': ")


def waiting_call(person: Person, cancelled: list[str]) -> threading.Thread:
    """A call that waits for an answer, in a thread of its own."""
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})
    thread = threading.Thread(target=person.calls.run, args=(job,))
    thread.start()
    while not person.asked:
        thread.join(0.01)
    return thread


def cancelling(cancelled: list[str]) -> Tools:
    """A tool that notes how its question ended."""

    def ask(call: Call) -> None:
        try:
            call.elicit("Who?", NAME)
        except CallCancelledError:
            cancelled.append("cancelled")
            raise

    return Tools(ask=ask)


def test_a_cancelled_call_waits_for_no_answer_and_withdraws_its_question() -> None:
    """MS-18, and spec 2025-11-25, cancellation: each side may cancel its own requests."""
    cancelled: list[str] = []
    person = Person("handshake", cancelling(cancelled), **{"Who?": None})
    thread = waiting_call(person, cancelled)

    person.give(cancel(1))
    thread.join(PATIENCE_SECONDS)

    assert cancelled == ["cancelled"]
    assert person.logged == ["notifications/cancelled"]
    assert len(person.calls) == 0
    # An answer that comes too late is nobody's.
    assert person.give({"jsonrpc": "2.0", "id": 1, "result": ADA}) == []


def test_a_client_that_goes_leaves_no_thread_waiting() -> None:
    """Ours: closing the connection ends every question."""
    cancelled: list[str] = []
    person = Person("handshake", cancelling(cancelled), **{"Who?": None})
    thread = waiting_call(person, cancelled)

    person.calls.close()
    thread.join(PATIENCE_SECONDS)

    assert not thread.is_alive()
    assert cancelled == ["cancelled"]


def test_a_question_without_an_answer_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """B-8: every request has a timeout."""
    monkeypatch.setattr(call_questions, "ANSWER_SECONDS", 0.01)
    person = Person("handshake", Tools(ask=lambda call: call.roots()), **{"roots/list": None})

    assert "was not answered within" in text_of(person.call("ask"))
    assert person.logged == ["notifications/cancelled"]


# The stateless era: what comes back is the client's to choose.


def refusal_of(person: Person, **more: Any) -> Wire:
    """The error of a call that brings this."""
    error: Wire = person.send("tools/call", {"name": "ask", "arguments": {}, **more})["error"]
    assert error["code"] == INVALID_PARAMS
    return error


def test_a_state_is_taken_from_its_own_request_only(capsys: pytest.CaptureFixture[str]) -> None:
    """MS-9: one answer for every failure; the reason is in the log."""
    tools = Tools(ask=lambda call: str(call.elicit("Who?", NAME)), other=lambda call: str(call.elicit("Who?", NAME)))
    person = Person("stateless", tools)
    state = person.send("tools/call", {"name": "ask", "arguments": {}})["result"]["requestState"]
    changed = state[:30] + ("A" if state[30] != "A" else "B") + state[31:]

    errors = [
        refusal_of(person, requestState=changed),
        refusal_of(person, requestState=state[:-8]),
        refusal_of(person, requestState="x"),
        refusal_of(person, requestState=state, name="other"),
        refusal_of(person, requestState=state, arguments={"x": 1}),
        refusal_of(person, requestState=state, name="x" * 10_000),
        refusal_of(Person("stateless", tools), requestState=state),
    ]

    assert {error["message"] for error in errors} == {"invalid requestState"}
    logged = capsys.readouterr().err.splitlines()
    assert len(logged) == len(errors)
    assert max(map(len, logged)) < 400
    assert "belongs to another request" in logged[-2]
    assert "another key" in logged[-1]


def test_what_is_not_in_the_form_of_a_retry_is_told() -> None:
    """Spec 2026-07-28, input required."""
    person = Person("stateless", Tools(ask=lambda call: str(call.elicit("Who?", NAME))))

    assert refusal_of(person, requestState=7)["message"] == "requestState must be a string"


def test_a_state_means_nothing_to_an_older_revision() -> None:
    """Ours: it is a parameter as any other there."""
    person = Person("handshake", Tools(ask=lambda _: "done"))

    assert text_of(person.call("ask", requestState="x")) == "done"


def test_a_missing_answer_is_asked_for_again_and_others_are_ignored() -> None:
    """MS-10."""
    person = Person("stateless", Tools(ask=lambda call: str(call.elicit("Who?", NAME, name="who"))))
    first = person.send("tools/call", {"name": "ask", "arguments": {}})["result"]

    again = {"requestState": first["requestState"], "inputResponses": {"other": ADA}}
    second = person.send("tools/call", {"name": "ask", "arguments": {}, **again})["result"]

    assert list(second["inputRequests"]) == ["who"]
    assert second["resultType"] == "input_required"


def test_a_question_that_comes_out_differently_is_asked_again() -> None:
    """Ours: an answer belongs to the question that was shown."""
    asked = iter(["Who?", "Whom?", "Whom?"])

    def ask(call: Call) -> str:
        return str(call.elicit(next(asked), NAME))

    person = Person("stateless", Tools(ask=ask), **{"Whom?": {"action": "decline"}})

    assert text_of(person.call("ask")) == str(Declined())
    assert person.asked == ["Who?", "Whom?"]


def test_a_call_that_asks_nothing_has_no_record() -> None:
    """Ours: it costs nothing."""
    person = Person("stateless", Tools(ask=lambda _: "done"))
    (job,) = person.start("tools/call", {"name": "ask", "arguments": {}})

    person.calls.run(job)

    assert job.call._questions is None
    assert job.call.meta["progressToken"] == 1


def test_a_request_without_meta_has_none() -> None:
    """Ours: whatever a client writes there."""
    person = Person("handshake", Tools(ask=lambda call: str(dict(call.meta))))

    assert text_of(person.call("ask", _meta=7)) == "{}"


def test_a_run_that_has_to_ask_first_becomes_no_task() -> None:
    """Extension: questions before a task are settled by the request itself, also where the tool has caught its end."""
    ends: list[str] = []

    def ask(call: Call) -> str:
        try:
            call.elicit("Who?", NAME)
        except BaseException as end:
            ends.append(type(end).__name__)
        return str(call.continue_as_task())

    capabilities = {**CAPABILITIES, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    person = Person("stateless", Tools(ask=ask), capabilities)

    assert person.call("ask")["result"]["resultType"] == "task"
    assert (ends, person.requests) == (["InputRequired"], 2)


def test_a_call_becomes_a_task_once() -> None:
    """Ours: whoever asks next learns that it is one."""
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    work = Tools(work=lambda call: str([call.continue_as_task() for _ in range(3)]))
    person = Person("stateless", work, capabilities)

    task = person.call("work")["result"]["taskId"]

    assert "[True, True, True]" in str(person.ask("tasks/get", {"taskId": task}))
    assert text_of(Person("stateless", work).call("work")) == "[False, False, False]"


@BOTH
def test_a_cancelled_call_becomes_no_task(era: str) -> None:
    """Ours."""
    ends: list[str] = []

    def work(call: Call) -> None:
        call.cancel()
        try:
            call.continue_as_task()
        except CallCancelledError:
            ends.append(era)

    Person(era, Tools(work=work)).start("tools/call", {"name": "work", "arguments": {}})[0].call.cancel()
    person = Person(era, Tools(work=work))
    (job,) = person.start("tools/call", {"name": "work", "arguments": {}})
    person.calls.run(job)

    assert ends == [era]


def test_a_call_that_finds_no_place_to_wait_does_not_ask() -> None:
    """Ours: too many wait already. A stateless client is asked by the result, and nothing waits."""
    texts = {}
    for era in ("handshake", "stateless"):
        person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", NAME))))
        person.calls.waiting = Workers(0, 0, 0).asking
        texts[era] = str(person.call("ask")["result"]["content"])
        assert person.asked == ["Who?"] * (era == "stateless")

    assert "too many calls wait for their clients already" in texts["handshake"]
    assert "Ada" in texts["stateless"]


@BOTH
def test_a_question_carries_the_trace_of_its_call(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: where it is a request; else the client knows the trace of its own request."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    person = Person(era, Tools(ask=lambda call: str(call.elicit("Who?", Name)) and str(call.roots())))
    sent: list[Any] = []
    take = person._take

    def keep(outgoing: Outgoing) -> None:
        sent.append(outgoing.message)
        take(outgoing)

    person.calls._send = keep
    assert "error" not in person.call("ask", _meta=dict(TRACE))

    asked = [each["params"]["_meta"] for each in sent if "method" in each and "id" in each]
    assert asked == ([TRACE, TRACE] if era == "handshake" else [])
    sent.clear()
    person.call("ask")
    assert not any("traceparent" in str(each) for each in sent)
