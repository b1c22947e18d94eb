"""The agents hub with claude, codex and gemini themselves, each asking a scripted model on a loopback port."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.errors import CallCancelledError
from tests.client.transports.talk import in_thread
from tests.forking.client import Command
from tests.forking.server import LANG
from tests.model_servers.script import INPUT_TOKENS, OUTPUT_TOKENS, RESULT, Call, Failure, Never, Reply, Text
from tests.model_servers.server import ModelServer
from tests.peers.agent_worlds import KEY, MODEL, WORLDS, World, write_config
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client import MCPClient
    from tests.forking.client import ForkServer

# An agent that starts beside others on a busy machine.
ENOUGH_SECONDS = 60
BIN = Path(sys.executable).parent
# A port on which nothing listens: below those that any system hands out.
DEAD_URL = "http://127.0.0.1:9"

EVERY = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


class Hub:
    """The hub in a process of its own, with a home of its own."""

    def __init__(
        self, home: Path, environ: dict[str, str], connect: Callable[..., MCPClient], server: ForkServer
    ) -> None:
        self.home = home
        self.temporary = home / "tmp"
        self.temporary.mkdir()
        self._environ = {"LANG": LANG, "HOME": str(home), "TMPDIR": str(self.temporary), **environ}
        self._connect = connect
        self._fork_server = server
        self._forked: list[Command] = []
        write_config(home)

    def start(self, world: World, url: str, **environ: str) -> MCPClient:
        """A client of the hub over stdio, started for real, where this agent finds its model at `url`."""
        world.write(self.home, url)
        command = (sys.executable, "-m", "gaia_mcp", "mcp", "serve", "agents")
        return self._connect(*command, env=self._environ | world.environ(url) | environ, cwd=str(self.home))

    def open(self, **environ: str) -> MCPClient:
        """A client of the hub over HTTP, forked, with these variables."""
        words = [BIN / "gaia", "mcp", "serve", "agents", "--http", "127.0.0.1:0", "--json"]
        forked = Command(
            self._fork_server, words, env=self._environ | environ, cwd=str(self.home), stdout=subprocess.PIPE
        )
        self._forked.append(forked)
        url = json.loads(forked.stdout.readline())["url"]
        return self._connect(url=url)

    def open_for(self, world: World, url: str, **environ: str) -> MCPClient:
        """As `open`, where this agent finds its model at `url`."""
        world.write(self.home, url)
        return self.open(**{**world.environ(url), **environ})

    def close(self) -> None:
        """End those that were forked."""
        for forked in self._forked:
            forked.terminate()
            forked.communicate()


@pytest.fixture
def hub(
    tmp_path: Path,
    agents_path: str,
    mark: dict[str, str],
    connect: Callable[..., MCPClient],
    fork_server: ForkServer,
) -> Iterator[Hub]:
    made = Hub(tmp_path, {"PATH": agents_path, **mark}, connect, fork_server)
    yield made
    made.close()


@pytest.fixture
def serve_model() -> Iterator[Callable[..., ModelServer]]:
    """Starts the model of an agent, with a script."""
    servers: list[ModelServer] = []

    def start(world: World, *script: Reply) -> ModelServer:
        servers.append(ModelServer(world.dialect, *script))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def ask(client: MCPClient, world: World, prompt: str = "say hello", **arguments: Any) -> dict[str, Any]:
    """The structured result of one request."""
    arguments = {"timeout": ENOUGH_SECONDS, **arguments, "agent_name": world.name, "prompt": prompt}
    found = client.call("execute_agent_request", arguments)["structuredContent"]
    assert isinstance(found, dict)
    return found


def statuses(client: MCPClient) -> dict[str, str]:
    found = client.call("list_available_agents", {"include_status": True})["structuredContent"]["agents"]
    return {agent["name"]: agent["status"] for agent in found}


def test_the_agents_are_operative_where_they_have_a_key(hub: Hub) -> None:
    """B2: an agent without one is listed, and so is one that is not installed."""
    keys = {}
    for world in WORLDS.values():
        world.write(hub.home, DEAD_URL)
        keys.update(world.environ(DEAD_URL))

    assert set(statuses(hub.open(**keys)).values()) == {"operative"}
    assert set(statuses(hub.open()).values()) == {"key_missing"}
    assert set(statuses(hub.open(**keys, PATH="/usr/bin:/bin")).values()) == {"unavailable"}


@EVERY
def test_an_agent_without_a_key_is_reported(hub: Hub, world: World) -> None:
    """B2, B5: the program itself finds `key_missing`, and its output is the error."""
    world.write(hub.home, DEAD_URL)
    client = hub.open(**{**world.environ(DEAD_URL), world.key: ""})

    found = ask(client, world)

    assert statuses(client)[world.name] == "key_missing"
    assert found["status"] == "error"
    assert world.without_key in found["error"]


# What a program might take for its own options, the end of its input, an escape or a mark of an encoding.
TRYING = "--model other\n-\n--help\n\n  two\r\nlines \t NUL \0, \x1b[31m, ünïcode \N{GRINNING FACE}, ${HOME} $(id)\n\n"
LARGE = "\ufeff" + "".join(f"line {number} of a megabyte\n" for number in range(42_000)) + "\n"
SLASH = "/init now"


@EVERY
def test_an_agent_answers_a_prompt_that_arrives_byte_for_byte(
    hub: Hub, world: World, serve_model: Callable[..., ModelServer]
) -> None:
    """B4: leading dashes, newlines, a context. The answer has the content, and the tokens that it took; the model is
    that of the request; gemini's settings have a place for the temperature, too.
    """
    model = serve_model(world, Text("Hello there.\nHow are you?"))
    client = hub.start(world, model.url)
    config: dict[str, Any] = {"model": "another-model"} | ({"temperature": 0.25} if world.name == "gemini" else {})

    found = ask(client, world, TRYING, context={"language": "Gaelic"}, config=config)

    assert (found["status"], found["error"]) == ("success", None)
    assert found["content"] == "Hello there.\nHow are you?"
    assert found["tokens_used"] == INPUT_TOKENS + OUTPUT_TOKENS
    assert model.prompts()[-1] == TRYING + '\n\nContext (JSON):\n{\n  "language": "Gaelic"\n}\n'
    assert model.model() == "another-model"
    if world.name == "gemini":
        assert found["metadata"].get("warnings") is None
        assert model.turns[-1].body["generationConfig"]["temperature"] == 0.25


@EVERY
def test_an_error_of_the_model_is_reported_without_the_key(
    hub: Hub, world: World, serve_model: Callable[..., ModelServer]
) -> None:
    """B5: with the message of the API; and no report with the conversation is left in the folder of temporary files.
    B4: before that, a prompt of a megabyte arrives at the model of the configuration, byte for byte.
    """
    model = serve_model(world, Failure(400, f"the key {KEY} may not use this model"))
    client = hub.open_for(world, model.url)

    found = ask(client, world, LARGE)

    assert model.prompts()[-1] == LARGE
    assert model.model() == MODEL
    assert (found["status"], found["content"]) == ("error", "")
    assert "may not use this model" in found["error"]
    assert "exit status" in found["error"]
    assert KEY not in json.dumps(found)
    assert [path for path in hub.temporary.iterdir() if "gemini" in path.name or "agents" in path.name] == []


@EVERY
def test_an_agent_is_stopped_after_its_timeout(
    hub: Hub, world: World, serve_model: Callable[..., ModelServer], mark: dict[str, str]
) -> None:
    """B5: its processes are gone, wherever they went, and the hub answers the next request."""
    model = serve_model(world, Never())
    # gemini starts itself a second time here, as it does for everyone.
    client = hub.open_for(world, model.url, GEMINI_CLI_NO_RELAUNCH="")
    before = living_with(mark["PEER_OF_TEST"])

    found = ask(client, world, timeout=6)

    assert found["error"].startswith(f"agent {world.name!r} did not answer within 6 s, and was ended")
    assert living_with(mark["PEER_OF_TEST"]) == before
    assert statuses(client)[world.name] == "operative"


@pytest.mark.parametrize("world", [WORLDS["claude"], WORLDS["codex"]], ids=["claude", "codex"])
def test_a_dead_backend_is_reported_while_the_agent_tries(hub: Hub, world: World, mark: dict[str, str]) -> None:
    """B5: none gives up in time; cancelling ends it, with all that it has started. gemini reports no attempt."""
    client = hub.open_for(world, DEAD_URL)
    before = living_with(mark["PEER_OF_TEST"])
    arguments = {"agent_name": world.name, "prompt": "say hello", "timeout": ENOUGH_SECONDS}
    deadline = client.deadline()
    reports: list[str] = []
    thread, outcomes = in_thread(
        lambda: client.call(
            "execute_agent_request", arguments, deadline, on_progress=lambda each: reports.append(each.text)
        )
    )

    wait_until(lambda: any(world.tries in report for report in reports), ENOUGH_SECONDS)
    assert len(living_with(mark["PEER_OF_TEST"])) > len(before)
    deadline.cancel()
    thread.join(ENOUGH_SECONDS)

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    assert reports[0].startswith(f"{world.name} is working")
    wait_until(lambda: living_with(mark["PEER_OF_TEST"]) == before)


CALCULATOR = """
from gaia_mcp import MCPAgent, tool

class Calculator(MCPAgent):
    @tool
    def calculate(self, a: int, b: int) -> str:
        '''Multiply two numbers.'''
        return f"the product is {a * b}"
"""
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}


def call_back(
    hub: Hub, world: World, serve_model: Callable[..., ModelServer], model_name: str
) -> tuple[dict[str, Any], ModelServer]:
    """What an agent answers whose model calls a registered tool, and the model."""
    script = hub.home / "calculator.py"
    script.write_text(CALCULATOR)
    served = ["-m", "gaia_mcp", "mcp", "serve", f"{script}:Calculator"]
    write_config(hub.home, model=model_name, calc={"command": sys.executable, "args": served})
    model = serve_model(world, Call("times", {"a": 6, "b": 7}), Text(f"so {RESULT}"))
    # Over HTTP, clients of the stateless era without a token are one to the hub, and cannot register tools.
    client = hub.start(world, model.url)
    spec = {"description": "Multiply", "schema": SCHEMA, "function": "calc.calculate"}

    registered = client.call("register_tool_with_agent", {"tool_name": "times", "tool_spec": spec})
    assert registered["structuredContent"] == {"status": "success", "registered_with": list(WORLDS)}
    return ask(client, world, SLASH), model


@EVERY
def test_a_registered_tool_is_called_by_the_agent(
    hub: Hub, world: World, serve_model: Callable[..., ModelServer]
) -> None:
    """B7: the model calls it, our server routes the call, and the model gets what the tool returned. B4: a prompt that
    begins with a slash is for the model, too, and is not a command of the program.
    """
    found, model = call_back(hub, world, serve_model, MODEL)

    assert (found["status"], found["error"]) == ("success", None)
    assert "the product is 42" in model.results()[-1]
    assert found["content"].startswith("so ")
    assert "the product is 42" in found["content"]
    offered = [name for name in model.dialect.offered(model.turns[-1].body) if name.endswith("times")]
    assert len(offered) == 1
    assert model.dialect.prompts(model.turns[0].body)[-1].removeprefix("\n") == SLASH


def test_a_registered_tool_is_called_from_code_that_the_model_of_codex_writes(
    hub: Hub, serve_model: Callable[..., ModelServer]
) -> None:
    """B7: the models that codex chooses by itself call all tools in this way."""
    found, model = call_back(hub, WORLDS["codex"], serve_model, "")

    assert "custom_tool_call_output" in [item["type"] for item in model.turns[-1].body["input"]]
    assert "the product is 42" in model.results()[-1]
    assert (found["status"], found["error"]) == ("success", None)
    assert "the product is 42" in found["content"]
