"""What clients of others do with the agent `Everything`, step by step, and what each of them has to observe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.conformance.forms import ADDRESS, CHOICES

Wire = dict[str, Any]

VERSIONS = {"stateless": "2026-07-28", "handshake": "2025-11-25"}
# The TypeScript SDK shows the code of the handshake era as that of the other one.
NOT_FOUND = {"stateless": {-32602}, "handshake": {-32002, -32602}}


@dataclass(frozen=True)
class Step:
    """A step, as `clients/player.py` describes it, and what has to be observed of it, as
    `test_clients.differences` reads it."""

    name: str
    do: str
    given: Wire
    expected: Wire
    answers: tuple[Wire, ...] = ()
    hears: int = 0

    def answered(self, *answers: Wire) -> Step:
        """With these answers to what is asked meanwhile."""
        return replace(self, answers=answers)

    def as_script(self) -> Wire:
        """For the player."""
        shown = {"name": self.name, "do": self.do, "with": self.given}
        return {**shown, "answers": list(self.answers), "hears": self.hears}


def steps_of(era: str) -> list[Step]:
    """The steps of a client that can be asked everything."""
    own = _rounds() if era == "stateless" else [Step("a ping", "ping", {}, {"result": {}})]
    return [*_returned(era), *_sent(), *_asked(), *_at_once(), *_offered(era), *_changed(), *own]


def steps_without_capabilities(era: str) -> list[Step]:
    """The steps of a client that can be asked nothing."""
    if era == "stateless":
        lacking = failed(-32021, {"requiredCapabilities": {"sampling": {}}})
    else:
        lacking = {"result": {"isError": True, "content": [{"type": "text", "text": ...}]}}
    return [
        call("what it lacks", "test_missing_capability", lacking),
        call("what it can be asked", "test_input_required_result_capabilities", texts("0 answers")),
        call("a tool that asks nothing", "test_simple_text", texts(...)),
    ]


def call(name: str, tool: str, expected: Wire, hears: int = 0, **given: Any) -> Step:
    """A call of a tool."""
    return Step(name, "call", {"tool": tool, **given}, expected, hears=hears)


def texts(*lines: Any, asked: Any = ...) -> Wire:
    """A result of texts, after these questions."""
    return {"result": {"content": [{"type": "text", "text": line} for line in lines]}, "asked": asked}


def question(message: str, **more: Any) -> Wire:
    """A form or page."""
    return {"method": "elicitation/create", "params": {"message": message, **more}}


def failed(code: int | set[int], data: Any = ...) -> Wire:
    """An error."""
    return {"error": {"code": code, "data": data} if data is not ... else {"code": code}}


def accepted(**content: Any) -> Wire:
    """A form that was filled in."""
    return {"action": "accept", "content": content}


DECLINED: Wire = {"action": "decline"}
CANCELLED: Wire = {"action": "cancel"}
ADA = accepted(name="Ada")
SAMPLING: Wire = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": ...}}], "maxTokens": ...},
}
ROOTS: Wire = {"method": "roots/list"}
PNG = {"type": "image", "data": ..., "mimeType": "image/png"}


def _returned(era: str) -> list[Step]:
    """How the server describes itself, and what tools return."""
    capabilities: Wire = {"tools": {}, "prompts": {}, "resources": {}, "completions": {}, "logging": {}}
    info = {"name": "GAIA Everything", "version": "1.0.0"}
    server = {"version": VERSIONS[era], "serverInfo": info, "capabilities": capabilities}
    region = {"type": "string", "x-mcp-header": "Region"}
    header = {"name": "test_custom_header", "inputSchema": {"properties": {"region": region}}}
    schema = {"name": "json_schema_2020_12_tool", "inputSchema": ADDRESS}
    wav = {"type": "audio", "data": ..., "mimeType": "audio/wav"}
    about = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource."}
    embedded = {"type": "resource", "resource": about}
    mixed = {"type": "resource", "resource": {"uri": "test://mixed-content-resource", "text": '{"test":"data"}'}}
    given = {"name": "Ada", "email": "a@b"}
    return [
        Step("the server", "server", {}, {"result": server}),
        Step("the tools", "list", {"kind": "tools"}, {"result": {"tools": (schema, header)}}),
        call("a text", "test_simple_text", texts("This is a simple text response for testing.")),
        call("an image", "test_image_content", {"result": {"content": [PNG]}}),
        call("a sound", "test_audio_content", {"result": {"content": [wav]}}),
        call("a resource", "test_embedded_resource", {"result": {"content": [embedded]}}),
        call("all of them", "test_multiple_content_types", {"result": {"content": [{"type": "text"}, PNG, mixed]}}),
        call("a failure", "test_error_handling", {"result": {"isError": True, "content": [{"text": ...}]}}),
        call("an unknown tool", "test_unknown", failed(-32602)),
        call("arguments", schema["name"], {"result": {"structuredContent": given}}, arguments=given),
        call(
            "what may be a task", "slow_compute", texts("computed x in 0.0 s"), arguments={"seconds": 0, "label": "x"}
        ),
        call("what must be a task", "failing_job", {"error": ...}),
        call("an error of the protocol", "protocol_error_job", failed(-32603)),
        call("invalid arguments", schema["name"], {"result": {"isError": True}}, arguments={**given, "more": 1}),
    ]


def _sent() -> list[Step]:
    """What tools send while they run, and cancellation."""
    steps = [{"progress": done, "total": 100, "message": f"Completed {done} of 100"} for done in (0, 50, 100)]
    progress = [{"method": "notifications/progress", "params": step} for step in steps]

    def logged(*levels: str) -> Wire:
        heard = [{"method": "notifications/message", "params": {"level": level, "data": ...}} for level in levels]
        return {**texts("Done."), "heard": heard}

    levels = ("debug", "info", "warning", "error")
    return [
        call("progress", "test_tool_with_progress", {**texts("Done."), "heard": progress}, 3),
        call("a connection that ends before the result", "test_reconnection", texts("Done.")),
        call("log messages", "test_tool_with_logging", logged("info", "info", "info"), 3, log_level="info"),
        call("all log messages", "test_logging_tool", logged(*levels), 4, log_level="debug"),
        call("severe log messages", "test_logging_tool", logged(*levels[2:]), 2, log_level="warning"),
        call("no log messages", "test_logging_tool", logged(), log_level="emergency"),
        Step("a cancelled call", "cancel", {"tool": "test_slow"}, {"result": {}}),
        call("its end", "test_slow_has_ended", {"result": {"structuredContent": {"result": True}}}),
    ]


def _asked() -> list[Step]:
    """What tools ask, in every outcome."""
    return [*_forms(), *_pages(), *_other_questions()]


def _forms() -> list[Step]:
    who = question("Who are you?", requestedSchema={"required": ["username", "email"]})
    contact = accepted(username="Ada", email="a@b.c")
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    review = question("Please review and update the form", requestedSchema={"properties": fields})
    changed = accepted(name="Ada", age=36, score=0.5, status="pending", verified=False)
    select = question("Please select options", requestedSchema=CHOICES)
    chosen = accepted(titledSingle="value2", legacyEnum="opt1", titledMulti=["value1", "value3"], untitledMulti=[])

    def form(name: str, response: str, *answers: Wire) -> Step:
        expected = texts(f"User response: {response}", asked=[who] * len(answers))
        return call(name, "test_elicitation", expected, arguments={"message": "Who are you?"}).answered(*answers)

    def completed(name: str, tool: str, outcome: str, asked: Wire, *answers: Wire) -> Step:
        expected = texts(f"Elicitation completed: {outcome}", asked=[asked] * len(answers))
        return call(name, f"test_elicitation_{tool}", expected).answered(*answers)

    def profile(name: str, members: str, answer: Wire) -> Step:
        return completed(name, "sep1034_defaults", f"Accepted(value=Profile({members}))", review, answer)

    return [
        form("an accepted form", "Ada <a@b.c>", contact),
        form("a declined form", "decline", DECLINED),
        form("a cancelled form", "cancel", CANCELLED),
        form("a form that lacks a field at first", "Ada <a@b.c>", accepted(username="Ada"), contact),
        profile("defaults", "name='John Doe', age=30, score=95.5, status='active', verified=True", accepted()),
        profile("no defaults", "name='Ada', age=36, score=0.5, status='pending', verified=False", changed),
        completed("choices", "sep1330_enums", f"Accepted(value={chosen['content']!r})", select, chosen),
        completed(
            "a choice that is not offered", "sep1330_enums", "Declined()", select, accepted(legacyEnum="x"), DECLINED
        ),
    ]


def _pages() -> list[Step]:
    page = question("Please log in", mode="url", url="https://example.com/login?state=1")
    return [
        call(f"a page: {action}", "test_url_elicitation", texts(action, asked=[page])).answered({"action": action})
        for action in ("accept", "decline", "cancel")
    ]


def _other_questions() -> list[Step]:
    def asking(name: str, tool: str, text: str, asked: Any, *answers: Wire) -> Step:
        return call(name, f"test_input_required_result_{tool}", texts(text, asked=asked)).answered(*answers)

    who, confirm = question("What is your name?"), question("Please confirm")
    steps = [question("Step 1: What is your name?"), question("Step 2: What is your favorite color, Ada?")]
    declined = texts("the person declined to answer", asked=[who])
    declined["result"]["isError"] = True
    model = texts("LLM response: Paris", asked=[SAMPLING])
    return [
        call("the model", "test_sampling", model, arguments={"prompt": "Where?"}),
        call("a capability that it has", "test_missing_capability", texts("Paris", asked=[SAMPLING])),
        call("progress, then a question", "test_streaming_elicitation", texts("accept", asked=[who])).answered(ADA),
        asking("a question of the model", "sampling", "Paris", [SAMPLING]),
        asking("the folders", "list_roots", '[\n  "file:///work"\n]', [ROOTS]),
        asking("a name", "elicitation", "Hello, Ada!", [who], ADA),
        call("a name that is declined", "test_input_required_result_elicitation", declined).answered(DECLINED),
        asking("a state", "request_state", "state-ok: accept", [confirm], accepted(ok=True)),
        asking("several at once", "multiple_inputs", "accept, Paris, 1 roots", (who, SAMPLING, ROOTS), ADA),
        asking("one after the other", "multi_round", "Ada likes red", steps, ADA, accepted(color="red")),
        asking("what it can be asked", "capabilities", "3 answers", (who, SAMPLING, ROOTS), ADA),
    ]


def _at_once() -> list[Step]:
    """Calls that wait for their answers at the same time: each gets one of its own."""
    given = {"tool": "test_elicitation", "arguments": {"message": "Who are you?"}, "times": 5}
    names = [f"user{number}" for number in range(5)]
    results = tuple({"content": [{"type": "text", "text": f"User response: {name} <a@b.c>"}]} for name in names)
    expected = {"result": {"results": results}, "asked": [question("Who are you?")] * 5}
    answers = (accepted(username=name, email="a@b.c") for name in names)
    return [Step("questions at once", "together", given, expected).answered(*answers)]


def _offered(era: str) -> list[Step]:
    """Prompts, resources, templates and completion."""

    def shown(*contents: Any) -> Wire:
        return {"result": {"messages": [{"role": "user", "content": content} for content in contents]}}

    def text(text: Any) -> Wire:
        return {"type": "text", "text": text}

    def read(uri: str, **more: Any) -> Step:
        return Step(uri, "read", {"uri": uri}, {"result": {"contents": [{"uri": uri, **more}]}})

    def prompt(name: str, expected: Wire, **arguments: str) -> Step:
        return Step(f"{name} {arguments}", "prompt", {"name": name, "arguments": arguments}, expected)

    def completed(ref: Wire, name: str, typed: str, *values: str) -> Step:
        given = {"ref": ref, "argument": {"name": name, "value": typed}}
        found = {"values": [*values], "total": len(values), "hasMore": False}
        return Step(f"completing {name}={typed}", "complete", given, {"result": {"completion": found}})

    def listed(kind: str, key: str, *items: Wire) -> Step:
        return Step(f"the {kind}", "list", {"kind": kind}, {"result": {key: items}})

    with_arguments = "test_prompt_with_arguments"
    arguments = [{"name": "arg1", "required": True}, {"name": "arg2", "required": True}]
    resource = {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": ...}}
    asking = shown(text("Use this context: tests"))
    asking["asked"] = [question("What context should the prompt use?")]
    template = {"uriTemplate": "test://template/{id}/data", "name": ..., "description": ...}
    uris = [{"uri": f"test://{name}"} for name in ("static-text", "static-binary", "asks")]
    of_prompt = {"type": "ref/prompt", "name": with_arguments}
    return [
        listed("prompts", "prompts", {"name": with_arguments, "arguments": arguments}),
        prompt("test_simple_prompt", shown(text(...))),
        prompt(with_arguments, shown(text("Prompt with arguments: arg1='a', arg2='b'")), arg1="a", arg2="b"),
        prompt(with_arguments, failed(-32602), arg1="a"),
        prompt("test_unknown", failed(-32602)),
        prompt("test_prompt_with_embedded_resource", shown(resource, text(...)), resourceUri="test://a"),
        prompt("test_prompt_with_image", shown(PNG, text(...))),
        prompt("test_input_required_result_prompt", asking).answered(accepted(context="tests")),
        listed("resources", "resources", *uris),
        listed("templates", "resourceTemplates", template),
        read("test://static-text", mimeType="text/plain", text=...),
        read("test://static-binary", mimeType="image/png", blob=...),
        read("test://template/123/data", mimeType="application/json", text=...),
        read("test://asks", text="Hello, Ada!").answered(ADA),
        replace(read("test://nowhere"), expected=failed(NOT_FOUND[era], {"uri": "test://nowhere"})),
        completed(of_prompt, "arg1", "he", "hello"),
        completed(of_prompt, "arg2", "x"),
        completed({"type": "ref/resource", "uri": template["uriTemplate"]}, "id", "4", "456"),
    ]


def _changed() -> list[Step]:
    """Lists and a resource that change, and what is heard of that."""
    uri = "test://watched-resource"
    new_tool, new_prompt = {"name": "test_later"}, {"name": "test_later_prompt"}

    def trigger(name: str, what: str, method: str, **params: Any) -> Step:
        heard = [{"method": f"notifications/{method}", "params": params}]
        return call(name, f"test_trigger_{what}", {**texts("Changed."), "heard": heard}, 1)

    def unheard(name: str) -> Step:
        return call(name, "test_trigger_update", {**texts("Changed."), "heard": []})

    return [
        call("a tool that is not there yet", "test_later", failed(-32602)),
        unheard("an update that is not watched"),
        Step("watching", "watch", {"uri": uri}, {"result": {}}),
        trigger("an update", "update", "resources/updated", uri=uri),
        Step("the watched resource", "read", {"uri": uri}, {"result": {"contents": [{"text": "2"}]}}),
        trigger("another update", "update", "resources/updated", uri=uri),
        trigger("a change of the tools", "tool_change", "tools/list_changed"),
        Step("the changed tools", "list", {"kind": "tools"}, {"result": {"tools": (new_tool,)}}),
        call("the new tool", "test_later", texts("Now.")),
        trigger("a change of the prompts", "prompt_change", "prompts/list_changed"),
        Step("the changed prompts", "list", {"kind": "prompts"}, {"result": {"prompts": (new_prompt,)}}),
        Step("watching no longer", "unwatch", {"uri": uri}, {}),
        unheard("an update that is not watched any more"),
    ]


def _rounds() -> list[Step]:
    """The rounds of a call, sent one by one: what comes back with them is the client's to choose."""

    def sent(name: str, tool: str, expected: Wire, state: str = "", responses: Wire | None = None) -> Step:
        given = {"tool": f"test_input_required_result_{tool}", "responses": responses, "state": state}
        return Step(name, "round", given, expected)

    def required(**requests: Any) -> Wire:
        return {"result": {"resultType": "input_required", "inputRequests": requests, "requestState": ...}}

    again = required(user_name=question("What is your name?"))
    confirm = required(confirm=question("Please confirm"))
    both = {"greeting": SAMPLING, "client_roots": ROOTS}
    three = required(user_name=question("What is your name?"), **both)
    hello = texts("Hello, Ada!")
    yes = {"confirm": accepted(ok=True)}
    message = {"role": "assistant", "content": {"type": "text", "text": "Hi"}, "model": "m"}
    others = {"greeting": message, "client_roots": {"roots": [{"uri": "file:///a"}]}}
    return [
        sent("a first round", "elicitation", again),
        sent("its answer", "elicitation", hello, "last", {"user_name": ADA}),
        sent("another first round", "elicitation", again),
        sent("no answer", "elicitation", again, "last", {}),
        sent("the answer to another question", "elicitation", again, "last", {"x": ADA}),
        sent("an answer that does not fit", "elicitation", again, "last", {"user_name": accepted(name=7)}),
        sent("extra answers", "elicitation", hello, "last", {"user_name": ADA, "x": ADA}),
        sent("answers before the question", "elicitation", hello, "", {"user_name": ADA, "x": ADA}),
        sent("a round to be altered", "tampered_state", confirm),
        sent("an altered state", "tampered_state", failed(-32602), "altered", yes),
        sent("a round of one tool", "tampered_state", confirm),
        sent("its state with another tool", "request_state", failed(-32602), "last", yes),
        sent("three questions", "multiple_inputs", three),
        sent("one of three answers", "multiple_inputs", required(**both), "last", {"user_name": ADA}),
        sent("the other answers", "multiple_inputs", texts("accept, Hi, 1 roots"), "last", others),
    ]
