"""Our client, as the official conformance suite calls it: a program that does what its scenario wants.

    conformance client --command "python tests/conformance/client.py" --scenario auth/metadata-default

The scenario and the revision are in the environment, the URL of the suite's server is the last argument. The test
process plays most scenarios itself: the suite then starts `asker.py`, which asks the `PlayingServer` there.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from gaia_mcp import Host, MCPClient
from gaia_mcp.client.transports.http.transport import HttpTransport
from tests.conformance.authorizing import authorizer_of

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_SECONDS = 20
NAME = "suite"
# Its server announces the stateless revision, and has only the handshake: the client finds that out.
UNFIXED = {"json-schema-ref-no-deref"}
CONFIRMED = {"confirmed": True}
TEXT = {"type": "text", "text": "Paris"}
# Printed when a scenario has been played to its end.
DONE = "done"


def elicited(params: dict[str, Any]) -> dict[str, Any]:
    """What the person answers: the form as it is filled in already, and yes to what has to be confirmed."""
    properties = params.get("requestedSchema", {}).get("properties", {})
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    confirmed = {name: value for name, value in CONFIRMED.items() if name in properties}
    return {"action": "accept", "content": {**defaults, **confirmed}}


def sampled(_params: dict[str, Any]) -> dict[str, Any]:
    """The message of the model."""
    return {"role": "assistant", "content": TEXT, "model": "m", "stopReason": "endTurn"}


def list_tools(client: MCPClient, _context: dict[str, Any]) -> None:
    """List the tools."""
    client.fetch_tools()


def add_numbers(client: MCPClient, _context: dict[str, Any]) -> None:
    """Call a tool with arguments."""
    client.fetch_tools()
    client.call("add_numbers", {"a": 5, "b": 3})


def call_every_tool(client: MCPClient, _context: dict[str, Any]) -> None:
    """Call each tool that is left in the list."""
    for tool in client.fetch_tools():
        client.call(tool.name, arguments_for(tool.input_schema))


def touch_everything(client: MCPClient, context: dict[str, Any]) -> None:
    """Call every tool, read every resource, get every prompt."""
    call_every_tool(client, context)
    for resource in client.list_resources():
        client.read_resource(resource["uri"])
    for prompt in client.list_prompts():
        client.get_prompt(prompt["name"])


def call_as_told(client: MCPClient, context: dict[str, Any]) -> None:
    """Make the calls that the suite names."""
    client.fetch_tools()
    for call in context["toolCalls"]:
        client.call(call["name"], call["arguments"])


def echo_schema(client: MCPClient, _context: dict[str, Any]) -> None:
    """Send a tool's schema back as it was received."""
    schemas = {tool.name: tool.input_schema for tool in client.fetch_tools()}
    client.call("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


def call_first_tool(client: MCPClient, _context: dict[str, Any]) -> None:
    """Call the first tool in the list."""
    tool, *_ = client.fetch_tools()
    client.call(tool.name, {})


def list_skills(client: MCPClient, _context: dict[str, Any]) -> None:
    """List the skills, and read none."""
    assert client.list_skills()


def load_skill(client: MCPClient, _context: dict[str, Any]) -> None:
    """Read all files of the first skill, as long as they are what was listed."""
    skill, *_ = client.list_skills()
    client.read_skill(skill)
    for resource in skill["resources"]:
        client.read_skill(skill, resource["uri"])


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """A value for each argument that is required."""
    values = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    return {name: values[schema["properties"][name]["type"]] for name in schema.get("required", ())}


# What to do in a scenario, unless it is to call the first tool.
STEPS: dict[str, Callable[[MCPClient, dict[str, Any]], None]] = {
    "initialize": list_tools,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": call_every_tool,
    "sse-retry": call_every_tool,
    "request-metadata": list_tools,
    "http-standard-headers": touch_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_every_tool,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2322-client-request-state": call_every_tool,
    "sep-2640-client-no-prefetch": list_skills,
    **dict.fromkeys(
        ("sep-2640-client-verify-digest", "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"),
        load_skill,
    ),
}


def main(scenario: str, revision: str, context: str, url: str) -> None:
    """Do what the scenario wants, with its context in JSON. Raises what our client raises."""
    do = STEPS.get(scenario, call_first_tool)
    known = json.loads(context or "{}")
    if scenario.startswith("auth/"):
        with authorizer_of(NAME, scenario, url, known) as authorizer:
            transport = HttpTransport(url, timeout=TIMEOUT_SECONDS, name=NAME, authorizer=authorizer)
            with MCPClient(NAME, transport, revision=revision) as client:
                do(client, known)
        return
    entry = {"url": url} if scenario in UNFIXED else {"url": url, "protocolVersion": revision}
    host = Host(elicit=elicited, sample=sampled)
    with MCPClient.from_config(NAME, entry, TIMEOUT_SECONDS, host=host) as client:
        do(client, known)


class PlayingServer(socketserver.ThreadingTCPServer):
    """Plays a scenario for each connection of `asker.py`: the start of a process for each would take longer."""

    daemon_threads = True
    # The suite plays all scenarios at once. A connection beyond the default of 5 that wait may be reset.
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Playing)


class _Playing(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        """Reply that the scenario is done, or with the traceback that the program would print."""
        try:
            main(*self.rfile.read().decode().split("\n"))
        except Exception:  # whatever ends the program
            self.wfile.write(traceback.format_exc().encode())
        else:
            self.wfile.write(DONE.encode())


if __name__ == "__main__":
    main(
        os.environ["MCP_CONFORMANCE_SCENARIO"],
        os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"],
        os.environ.get("MCP_CONFORMANCE_CONTEXT", ""),
        sys.argv[-1],
    )
    print(DONE)
