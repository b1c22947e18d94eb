"""Requests to endpoints: a server on a loopback port that speaks the format of OpenAI's chat completions."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.contrib.hub.executing import MAX_OUTPUT_BYTES
from tests.contrib.hub.conftest import Agents, call, execute
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.contrib.hub import AgentsHub

pytestmark = pytest.mark.story

ANSWER = {
    "model": "m-1",
    "choices": [{"message": {"role": "assistant", "content": "hi"}}],
    "usage": {"total_tokens": 5},
}


class Model:
    """A model server. `respond` writes the response to each request; `bodies`, `headers` and `paths` were received."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.respond: Callable[[BaseHTTPRequestHandler], None] = lambda handler: send(handler, ANSWER)
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                model.paths.append(self.path)
                model.headers.append(dict(self.headers))
                model.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                model.respond(self)

            def do_GET(self) -> None:
                model.paths.append(self.path)
                model.respond(self)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass  # Clients that break off are what is tested.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"


def send(handler: BaseHTTPRequestHandler, value: Any, status: int = 200, **headers: str) -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    handler.send_response(status)
    for name, text in headers.items():
        handler.send_header(name, text)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


@pytest.fixture
def model() -> Iterator[Model]:
    found = Model()
    thread = threading.Thread(target=found.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.server.shutdown()
    found.server.server_close()
    thread.join()


@pytest.fixture
def local(agents: Agents, model: Model, monkeypatch: pytest.MonkeyPatch) -> Agents:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("LOCAL_KEY", "sk-private-1")
    agents.configure({"local": {"endpoint": model.url, "model": "m", "api_key": "${LOCAL_KEY}", "per_minute": 1000}})
    return agents


def test_an_endpoint_answers(local: Agents, model: Model) -> None:
    """B4: with the prompt, the context, the model, the settings and the key."""
    found = local.execute(
        "--hi\n", "local", context={"a": 1}, config={"model": "big", "temperature": 0.5, "colour": "red"}
    )

    assert found.pop("execution_time") > 0
    warnings = ["config member 'colour' is unknown to agent 'local', and is ignored"]
    metadata = {"agent": "local", "kind": "endpoint", "warnings": warnings, "model": "m-1"}
    assert found == {"status": "success", "content": "hi", "error": None, "tokens_used": 5, "metadata": metadata}
    content = '--hi\n\n\nContext (JSON):\n{\n  "a": 1\n}\n'
    assert model.bodies == [{"model": "big", "messages": [{"role": "user", "content": content}], "temperature": 0.5}]
    assert model.headers[0]["Authorization"] == "Bearer sk-private-1"
    assert model.paths == ["/v1/chat/completions"]


def test_an_error_of_the_endpoint_is_returned_without_the_key(local: Agents, model: Model) -> None:
    """B5: in its own words, without the key; and it is asked once."""
    cases: list[tuple[Any, int, str]] = [
        ({"error": {"message": "no credit for sk-private-1"}}, 429, "HTTP 429: no credit for ****"),
        (b"<html>sk-private-1</html>", 502, "HTTP 502: <html>****</html>"),
        (b'{"choices": [', 200, "not a JSON object"),
        (b"", 200, "not a JSON object"),
        ({"choices": []}, 200, "a completion that has no choices"),
        ({"choices": [{"message": "sk-private-1"}]}, 200, "a completion that has a choice without a message"),
        ({"error": "sk-private-1 is bad"}, 200, "**** is bad"),
    ]

    wrong = []
    for value, status, problem in cases:
        model.bodies.clear()
        model.respond = partial(send, value=value, status=status)
        found = local.execute("hi", "local")
        is_error = (found["status"], found["content"], len(model.bodies)) == ("error", "", 1)
        if not is_error or problem not in found["error"]:
            wrong.append((value, status, found))

    assert not wrong


def test_a_redirect_is_not_followed(local: Agents, model: Model) -> None:
    """Ours: a redirection is an error."""
    model.respond = lambda handler: send(handler, b"", 307, Location=f"{model.url}/elsewhere")

    assert "HTTP 307" in local.execute("hi", "local")["error"]
    assert model.paths == ["/v1/chat/completions"]


def test_an_unreachable_endpoint_is_an_error(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5: with the name of the agent, which is what the caller knows."""
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        agents.configure({"local": {"endpoint": f"http://127.0.0.1:{taken.getsockname()[1]}/v1"}})
        found = agents.execute("hi", "local")

    assert found["error"].startswith("agent 'local' cannot be reached: ")


def test_an_endpoint_without_its_key_is_an_error(local: Agents, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """B6: nothing is sent."""
    monkeypatch.delenv("LOCAL_KEY")

    assert "agent 'local': api_key refers to ${LOCAL_KEY}" in local.execute("hi", "local")["error"]
    assert model.paths == []


@pytest.mark.parametrize("drips", [False, True])
def test_an_endpoint_that_does_not_answer_in_time_is_an_error(local: Agents, model: Model, drips: bool) -> None:
    """B5: also one that sends a byte now and then."""
    ended = threading.Event()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        if drips:
            handler.send_response(200)
            handler.end_headers()
        while not ended.wait(0.05):
            if drips:
                handler.wfile.write(b" ")

    model.respond = respond
    found = local.execute("hi", "local", timeout=1)
    ended.set()

    assert "did not answer" in found["error"]


def test_an_endpoint_with_too_much_output_is_disconnected(local: Agents, model: Model) -> None:
    """Ours: no more is kept than an answer can have."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 100_000)

    model.respond = respond

    assert f"more than {MAX_OUTPUT_BYTES >> 20} MiB" in local.execute("hi", "local", timeout=60)["error"]


def test_a_cancelled_request_closes_the_connection(local: Agents, model: Model) -> None:
    """Ours: the endpoint learns at once that it need not go on, and nothing is left here."""
    begun, gone = threading.Event(), threading.Event()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        begun.set()
        if handler.connection.recv(1) == b"":
            gone.set()

    model.respond = respond
    running, ends = Call(), []
    hub = local.hub()

    def run() -> None:
        try:
            call(hub, "execute_agent_request", running, agent_name="local", prompt="hi", timeout=600)
        except CallCancelledError:
            ends.append("cancelled")

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait(ENOUGH_SECONDS)
    running.cancel()
    thread.join()

    assert ends == ["cancelled"]
    assert gone.wait(ENOUGH_SECONDS)
    wait_until(lambda: not [one for one in threading.enumerate() if one.name == "attended"])


def calls(*calls: tuple[str, Any]) -> dict[str, Any]:
    """A completion that calls tools."""
    wire = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for number, (name, arguments) in enumerate(calls)
    ]
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": wire}}], "usage": usage}


@pytest.fixture
def hub(local: Agents, model: Model) -> AgentsHub:
    """A hub with a tool of a configured server, which is registered with the endpoint."""
    demo = {"command": sys.executable, "args": ["-m", "gaia_mcp", "serve", "demo"], "inherit": True}
    local.configure({"local": {"endpoint": model.url, "model": "m"}}, {"demo": demo})
    found = local.hub()
    number = {"type": "number"}
    schema = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    for name, spec in (
        ("sum", {"description": "Add", "schema": schema, "function": "demo.add"}),
        ("wait", {"schema": {}, "function": "demo.countdown"}),
    ):
        arguments = {"tool_name": name, "tool_spec": spec, "agent_name": "local"}
        assert found.execute_mcp_tool("register_tool_with_agent", arguments)["status"] == "success"
    return found


def test_a_model_calls_registered_tools(hub: AgentsHub, model: Model, local: Agents) -> None:
    """B7, A11: it sees exactly these under their names, and gets their results; tokens are those of all requests."""
    answers = [calls(("sum", {"a": 1, "b": 2}), ("sum", {"a": "x"}), ("other", {})), ANSWER]
    model.respond = lambda handler: send(handler, answers[len(model.bodies) - 1])

    found = execute(hub, "hi", "local", timeout=60)

    assert (found["status"], found["content"], found["tokens_used"]) == ("success", "hi", 8)
    first, second = model.bodies
    functions = [tool["function"] for tool in first["tools"]]
    assert [(one["name"], one["description"]) for one in functions] == [("sum", "Add"), ("wait", "")]
    assert functions[0]["parameters"]["required"] == ["a", "b"]
    added, invalid, unknown = [message["content"] for message in second["messages"] if message["role"] == "tool"]
    assert '"sum": 3' in added
    assert invalid.startswith("Error: ")
    assert unknown == "Error: Unknown tool: other"
    assert local.left() == []


def test_a_model_that_only_calls_tools_is_an_error(hub: AgentsHub, model: Model) -> None:
    """A11: after ten rounds."""
    model.respond = lambda handler: send(handler, calls(("sum", {"a": 1, "b": 2})))

    found = execute(hub, "hi", "local", timeout=60)

    assert found["error"] == "agent 'local' called tools 10 times, and gave no answer"
    assert len(model.bodies) == 11


@pytest.mark.parametrize("how", ["cancelled", "late"])
def test_a_running_tool_is_ended_with_the_request(hub: AgentsHub, model: Model, local: Agents, how: str) -> None:
    """Ours: its server too."""
    model.respond = lambda handler: send(handler, calls(("wait", {"seconds": 60, "steps": 600})))
    running, ends = Call(), []

    def run() -> None:
        arguments = {"agent_name": "local", "prompt": "hi", "timeout": 3 if how == "late" else 600}
        try:
            ends.append(call(hub, "execute_agent_request", running, **arguments)["structuredContent"]["error"])
        except CallCancelledError:
            ends.append("cancelled")

    thread = threading.Thread(target=run)
    thread.start()
    if how == "cancelled":
        wait_until(local.left)
        running.cancel()
    thread.join()
    assert model.bodies

    assert len(ends) == 1
    assert how == "late" or ends == ["cancelled"]
    assert how == "cancelled" or "within 3 s" in ends[0]
    assert local.left() == []
    wait_until(lambda: not [one for one in threading.enumerate() if one.name == "attended"])


def test_the_status_of_an_endpoint_comes_from_its_list_of_models(local: Agents, model: Model) -> None:
    """B2: the list costs nothing, and needs the same key as a completion."""
    cases = [(200, "operative"), (404, "operative"), (401, "key_missing"), (403, "key_missing"), (500, "unreachable")]

    wrong = []
    for status, expected in cases:
        model.paths.clear()
        model.respond = partial(send, value={"data": []}, status=status)
        agents = local.hub().execute_mcp_tool("list_available_agents", {"include_status": True})["agents"]
        found = {agent["name"]: agent["status"] for agent in agents}["local"]
        if (found, model.paths) != (expected, ["/v1/models"]):
            wrong.append((status, found, model.paths))

    assert not wrong


def test_an_endpoint_with_an_unset_key_has_the_status_key_missing(
    local: Agents, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2: nothing is sent to find that out."""
    monkeypatch.delenv("LOCAL_KEY")

    found = local.hub().execute_mcp_tool("list_available_agents", {"include_status": True})

    assert found["agents"][-1]["status"] == "key_missing"
