"""An agent with every fixture that the official conformance suite looks for, by the names that it looks for.

    gaia mcp serve tests/conformance/everything.py:Everything

Each method is what a user of the library would write.
"""

from __future__ import annotations

import base64
from threading import Event
from typing import Annotated, Any, Literal

from forms import ADDRESS, CHOICES, Colour, Confirmation, Contact, Context, Deletion, Name, Profile

from gaia_mcp import (
    Accepted,
    Audio,
    Call,
    Elicit,
    File,
    Image,
    ListRoots,
    MCPAgent,
    RequestError,
    Sample,
    prompt,
    resource,
    tool,
)

# One red pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
# A moment of silence.
WAV = base64.b64decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==")


class Everything(MCPAgent):
    """One of everything that a server may offer."""

    version = "1.0.0"
    skills_folder = "skills"

    def __init__(self) -> None:
        super().__init__()
        self.ended = Event()
        self.has_changed = False
        self.readings = 0

    # What a tool returns.

    @tool
    def test_simple_text(self) -> str:
        """Return a text."""
        return "This is a simple text response for testing."

    @tool
    def test_image_content(self) -> Image:
        """Return an image."""
        return Image(data=PNG)

    @tool
    def test_audio_content(self) -> Audio:
        """Return a sound."""
        return Audio(data=WAV)

    @tool
    def test_embedded_resource(self) -> File:
        """Return a resource."""
        return File(data=b"This is an embedded resource.", format="text/plain", uri="test://embedded-resource")

    @tool
    def test_multiple_content_types(self) -> list[str | Image]:
        """Return a text, an image and a resource."""
        resource = File(data=b'{"test":"data"}', format="application/json", uri="test://mixed-content-resource")
        return ["Several types of content:", Image(data=PNG), resource]

    @tool
    def test_error_handling(self) -> None:
        """Fail."""
        raise RuntimeError("This tool intentionally returns an error for testing")

    # What a tool is given.

    @tool(input_schema=ADDRESS)
    def json_schema_2020_12_tool(self, **arguments: Any) -> dict[str, Any]:
        """Return the arguments, which a schema of the author's describes."""
        return arguments

    @tool
    def test_custom_header(self, region: Annotated[str, {"x-mcp-header": "Region"}]) -> str:
        """Return the region, which a proxy may read from a header."""
        return region

    # What a tool sends while it runs.

    @tool
    def test_tool_with_progress(self, call: Call) -> str:
        """Report progress."""
        for done in (0, 50, 100):
            call.progress(done, 100, f"Completed {done} of 100")
            call.wait(0.05)
        return "Done."

    @tool
    def test_tool_with_logging(self, call: Call) -> str:
        """Send log messages."""
        for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            call.log("info", text)
            call.wait(0.05)
        return "Done."

    @tool
    def test_logging_tool(self, call: Call) -> str:
        """Send a log message of each of several levels."""
        for level in ("debug", "info", "warning", "error"):
            call.log(level, {"about": f"a message of the level {level}"})
        return "Done."

    @tool
    def test_slow(self, call: Call) -> None:
        """Take a minute, unless the client cancels the call."""
        call.progress(1)
        try:
            call.wait(60)
        finally:
            self.ended.set()

    @tool
    def test_slow_has_ended(self) -> bool:
        """Return whether the slow tool ends within five seconds."""
        return self.ended.wait(5)

    @tool
    def test_reconnection(self, call: Call) -> str:
        """Let the client come back for the result."""
        call.close_stream()
        call.wait(0.5)
        return "Done."

    # What changes while the agent is served.

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        """One tool is there after a change only."""
        tools = super().get_mcp_tool_definitions()
        return tools if self.has_changed else [tool for tool in tools if tool["name"] != "test_later"]

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        """As with the tools; marked prompts are always there."""
        return [{"name": "test_later_prompt", "description": "A prompt that comes later"}] if self.has_changed else []

    def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        """The text of that prompt."""
        return "Now."

    @tool
    def test_later(self) -> str:
        """Return a text, once the tools have changed."""
        return "Now."

    @tool
    def test_trigger_tool_change(self) -> str:
        """Change the tools."""
        self.has_changed = True
        self.tools_changed()
        return "Changed."

    @tool
    def test_trigger_prompt_change(self) -> str:
        """Change the prompts."""
        self.has_changed = True
        self.prompts_changed()
        return "Changed."

    @tool
    def test_trigger_update(self) -> str:
        """Change the contents of a resource."""
        self.readings += 1
        self.resource_updated("test://watched-resource")
        return "Changed."

    # What a tool asks its client.

    @tool
    def test_sampling(self, call: Call, prompt: str) -> str:
        """Have the model answer a prompt."""
        return f"LLM response: {call.sample(prompt, max_tokens=100).text}"

    @tool
    def test_elicitation(self, call: Call, message: str) -> str:
        """Ask for a name and an address."""
        answer = call.elicit(message, Contact)
        if isinstance(answer, Accepted):
            return f"User response: {answer.value.username} <{answer.value.email}>"
        return f"User response: {answer.action}"

    @tool
    def test_elicitation_sep1034_defaults(self, call: Call) -> str:
        """Ask for a profile, with a default for everything."""
        answer = call.elicit("Please review and update the form", Profile)
        return f"Elicitation completed: {answer}"

    @tool
    def test_elicitation_sep1330_enums(self, call: Call) -> str:
        """Ask for choices of every form."""
        answer = call.elicit("Please select options", CHOICES)
        return f"Elicitation completed: {answer}"

    @tool
    def test_url_elicitation(self, call: Call) -> str:
        """Ask to open a page."""
        return call.elicit_url("Please log in", "https://example.com/login?state=1").action

    @tool
    def test_streaming_elicitation(self, call: Call) -> str:
        """Report progress, then ask."""
        call.progress(1, 2)
        return call.elicit("What is your name?", Name).action

    @tool
    def test_missing_capability(self, call: Call) -> str:
        """Ask the model, which some clients do not have."""
        return call.sample("Hello", max_tokens=10).text

    @tool
    def test_input_required_result_elicitation(self, call: Call) -> str:
        """Ask for a name."""
        return f"Hello, {call.elicit('What is your name?', Name, name='user_name').value.name}!"

    @tool
    def test_input_required_result_sampling(self, call: Call) -> str:
        """Ask the model."""
        return call.sample("What is the capital of France?", max_tokens=100).text

    @tool
    def test_input_required_result_list_roots(self, call: Call) -> list[str]:
        """Ask for the folders that the client works in."""
        return [root.uri for root in call.roots()]

    @tool
    def test_input_required_result_request_state(self, call: Call) -> str:
        """Ask for a confirmation of what was computed before, which travels with the client."""
        state = call.once("state", lambda: "state-ok")
        answer = call.elicit("Please confirm", Confirmation, name="confirm")
        return f"{state}: {answer.action}"

    @tool
    def test_input_required_result_multiple_inputs(self, call: Call) -> str:
        """Ask the person, the model and the client at once."""
        who, greeting, roots = call.ask_all(
            Elicit("What is your name?", Name, name="user_name"),
            Sample("Generate a greeting", max_tokens=50, name="greeting"),
            ListRoots(name="client_roots"),
        )
        return f"{who.action}, {greeting.text}, {len(roots)} roots"

    @tool
    def test_input_required_result_multi_round(self, call: Call) -> str:
        """Ask for a name, then for a colour."""
        name = call.elicit("Step 1: What is your name?", Name, name="step1").value.name
        answer = call.elicit(f"Step 2: What is your favorite color, {name}?", Colour, name="step2")
        return f"{name} likes {answer.value.color}"

    @tool
    def test_input_required_result_tampered_state(self, call: Call) -> str:
        """Ask for a confirmation; the client cannot change what it carries meanwhile."""
        return call.elicit("Please confirm", Confirmation, name="confirm").action

    @tool
    def test_input_required_result_capabilities(self, call: Call) -> str:
        """Ask what this client can be asked."""
        questions = (Elicit("What is your name?", Name), Sample("Say hello", max_tokens=10), ListRoots())
        answers = call.ask_all(*[question for question in questions if call.can_ask(question)])
        return f"{len(answers)} answers"

    # What goes on as a task.

    @tool
    def greet(self, name: str) -> str:
        """Greet at once."""
        return f"Hello, {name}!"

    @tool(task="optional")
    def slow_compute(self, call: Call, seconds: float = 1, label: str = "") -> str:
        """Take some time."""
        call.progress(0, 1, f"computing {label}")
        call.wait(seconds)
        return f"computed {label} in {seconds} s"

    @tool(task="required")
    def failing_job(self, call: Call) -> str:
        """Fail after a second."""
        call.wait(1)
        raise RuntimeError("the job has failed")

    @tool(task="optional")
    def protocol_error_job(self) -> None:
        """End with an error of the protocol, of which a model does not learn."""
        raise RequestError("this job is out of order", code=-32603)

    @tool(task="optional")
    def confirm_delete(self, call: Call, filename: str) -> str:
        """Ask before a file is deleted."""
        is_sure = call.elicit(f"Delete {filename}?", Deletion).value.confirm
        return f"{filename} is deleted" if is_sure else "nothing is deleted"

    @tool(task="optional")
    def multi_input(self, call: Call) -> str:
        """Ask two things at once."""
        who, sure = call.ask_all(Elicit("What is your name?", Name), Elicit("Are you sure?", Deletion))
        return f"{who.action}, {sure.action}"

    @tool
    def test_tool_with_task(self, call: Call) -> str:
        """Ask for a name first, and then take some time."""
        name = call.elicit("What is your name?", Name, name="user_name").value.name
        call.continue_as_task(required=True)
        call.wait(0.5)
        return f"Hello, {name}!"

    # Prompts.

    @prompt
    def test_simple_prompt(self) -> str:
        """A text."""
        return "This is a simple prompt for testing."

    def greetings(self, typed: str) -> list[str]:
        """What completes the first argument."""
        return [word for word in ("hallo", "hello", "hi") if word.startswith(typed)]

    @prompt(complete={"arg1": greetings})
    def test_prompt_with_arguments(self, arg1: str, arg2: str) -> str:
        """A text with arguments.

        Args:
            arg1: The first one.
            arg2: The second one.
        """
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @prompt
    def test_prompt_with_embedded_resource(self, resourceUri: str) -> list[str | Image]:  # noqa: N803
        """A resource and a text.

        Args:
            resourceUri: The URI of the resource.
        """
        resource = File(data=b"Embedded resource content for testing.", format="text/plain", uri=resourceUri)
        return [resource, "Please process the embedded resource above."]

    @prompt
    def test_prompt_with_image(self) -> list[str | Image]:
        """An image and a text."""
        return [Image(data=PNG), "Please analyze the image above."]

    @prompt
    def test_input_required_result_prompt(self, call: Call) -> str:
        """A text that the person is asked for."""
        answer = call.elicit("What context should the prompt use?", Context, name="user_context")
        return f"Use this context: {answer.value.context}"

    # Resources.

    @resource("test://static-text", mime_type="text/plain")
    def static_text(self) -> str:
        """A text."""
        return "This is the content of the static text resource."

    @resource("test://static-binary", mime_type="image/png")
    def static_binary(self) -> bytes:
        """An image."""
        return PNG

    @resource("test://template/{id}/data")
    def template_data(self, id: Literal["123", "456"]) -> dict[str, Any]:  # noqa: A002
        """One of several records."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}

    @resource("test://watched-resource", mime_type="application/json")
    def watched(self) -> int:
        """A number that changes."""
        return self.readings

    @resource("test://asks", mime_type="text/plain")
    def asks(self, call: Call) -> str:
        """A text that the person is asked for."""
        return f"Hello, {call.elicit('What is your name?', Name, name='user_name').value.name}!"
