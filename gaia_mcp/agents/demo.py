"""The built-in agent `demo`: an example of every feature that an agent may offer, written as a library user would.

gaia mcp tools demo
gaia mcp call demo greet name=Ada
gaia mcp serve demo
"""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from gaia_mcp import Accepted, Audio, Call, File, Image, MCPAgent, __version__, prompt, resource, tool

GREETINGS = {"plain": "Hello, {}!", "warm": "How good to see you, {}!", "formal": "Good day, {}."}
ABOUT = "This agent comes with gaia-mcp. It needs no network and keeps nothing.\n"
LANGUAGES = ("Danish", "Dutch", "English", "French", "German", "Greek", "Italian", "Polish", "Spanish", "Swedish")


class Sum(TypedDict):
    """The result of `add`."""

    sum: int | float


@dataclass
class Order:
    """The form of `order`, derived from the names, types and defaults of the fields."""

    size: Literal["small", "large"]
    cups: Annotated[int, "How many", {"minimum": 1, "maximum": 9}] = 1
    sugar: bool = False


class DemoAgent(MCPAgent):
    """Each method with @tool, @prompt or @resource is offered; its type hints and its docstring describe it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.notes: list[str] = []

    # Arguments and results of tools.

    @tool(read_only=True, open_world=False)
    def greet(
        self,
        name: Annotated[str, "Name of the person", {"minLength": 1}],
        style: Annotated[Literal["plain", "warm", "formal"], "Tone of the greeting"] = "plain",
    ) -> Any:
        """Say hello to a person."""
        # With `-> Any` the result is only text. With `-> str` it would have an output schema, like the tools below.
        return GREETINGS[style].format(name)

    @tool(read_only=True, open_world=False)
    def add(self, a: int | float, b: int | float) -> Sum:
        """Add two numbers. The result is structured."""
        return {"sum": a + b}

    @tool(read_only=True)
    def picture(self, size: Annotated[int, {"minimum": 1, "maximum": 512}] = 64) -> Image:
        """Paint a square PNG image."""
        return Image(data=_png(size))

    @tool(read_only=True)
    def sound(
        self,
        hertz: Annotated[float, {"minimum": 20, "maximum": 4000}] = 440,
        seconds: Annotated[float, {"exclusiveMinimum": 0, "maximum": 5}] = 0.2,
    ) -> Audio:
        """Make a short WAV tone."""
        return Audio(data=_wav(hertz, seconds))

    @tool(read_only=True)
    def attach(self) -> list[str | File | dict[str, Any]]:
        """Return every other kind of content: text, an embedded text, an embedded blob and a link."""
        return [
            "Two resources and a link:",
            File(data=ABOUT.encode(), format="text/plain", uri="demo://about"),
            File(data=_png(16), format="image/png", uri="demo://logo"),
            {"type": "resource_link", "uri": "demo://about", "name": "about", "mimeType": "text/plain"},
        ]

    @tool
    def fail(self, message: str = "this tool always fails") -> None:
        """Fail, as tools sometimes do."""
        raise RuntimeError(message)

    # Interaction during a call. `call` is the running call, not an argument of the tool.

    @tool
    def countdown(
        self,
        call: Call,
        steps: Annotated[int, {"minimum": 1, "maximum": 1000}] = 5,
        seconds: Annotated[float, "In all", {"minimum": 0, "maximum": 60}] = 1,
    ) -> str:
        """Take a while, report progress on the way, and stop when the call is cancelled."""
        for done in range(1, steps + 1):
            call.wait(seconds / steps)
            call.progress(done, steps, f"{steps - done} to go")
        return f"counted down from {steps}"

    @tool
    def order(self, call: Call) -> str:
        """Ask the person what coffee to bring."""
        answer = call.elicit("Which coffee?", Order)
        if not isinstance(answer, Accepted):
            return "no coffee"
        order = answer.value
        return f"{order.cups} {order.size}, {'with' if order.sugar else 'without'} sugar"

    @tool
    def note(self, call: Call, text: str) -> int:
        """Keep a note until the server ends, and tell the clients that follow the notes; how many there are."""
        self.notes.append(text)
        self.resource_updated("demo://notes")
        self.resources_changed()
        call.log("info", f"kept: {text}")
        return len(self.notes)

    @tool(task="optional")
    def haiku(self, call: Call, about: str) -> str:
        """Have the model of the client write a poem, as a task where the client accepts one."""
        return call.sample(f"Write a haiku about {about}.", max_tokens=100).text

    # Prompts. Arguments are completed from their `Literal`, or by a function.

    def languages(self, typed: str) -> list[str]:
        """The languages that begin with the typed text."""
        return [language for language in LANGUAGES if language.lower().startswith(typed.lower())]

    @prompt(complete={"language": languages})
    def introduce(self, name: str, language: str = "English") -> str:
        """Ask a model to introduce a person.

        Args:
            name: Name of the person
            language: In which language
        """
        return f"Introduce {name} in two sentences, in {language}."

    # Resources. A URI with variables is a template.

    @resource("demo://about", mime_type="text/plain")
    def about(self) -> str:
        """What this agent is"""
        return ABOUT

    @resource("demo://logo", mime_type="image/png")
    def logo(self) -> bytes:
        """A small picture"""
        return _png(16)

    @resource("demo://notes", mime_type="application/json")
    def all_notes(self) -> list[str]:
        """The notes that `note` has kept"""
        return self.notes

    def numbers(self, typed: str) -> list[str]:
        """The numbers of notes that begin with the typed text."""
        return [number for number in map(str, range(1, len(self.notes) + 1)) if number.startswith(typed)]

    @resource("demo://notes/{number}", mime_type="text/plain", complete={"number": numbers})
    def one_note(self, number: Annotated[int, {"minimum": 1}]) -> str:
        """One note"""
        return self.notes[number - 1]

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        """Resources in addition to those of the methods: one for each note."""
        notes = [{"uri": f"demo://notes/{n}", "name": f"note {n}"} for n in range(1, len(self.notes) + 1)]
        return [*super().get_mcp_resources(), *notes]

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {
            "name": "demo",
            "title": "GAIA MCP demo",
            "version": __version__,
            "instructions": "Try greet, add, picture, sound, attach, fail, countdown, order, note and haiku.",
        }


def _png(size: int) -> bytes:
    """A square of `size` pixels in which red increases to the right and green downwards."""
    step = 255 / max(1, size - 1)
    rows = b"".join(
        b"\0" + b"".join(bytes((int(x * step), int(y * step), 160)) for x in range(size)) for y in range(size)
    )
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    )


def _wav(hertz: float, seconds: float, rate: int = 8000) -> bytes:
    """A sine tone, mono, 16 bits."""
    samples = (int(20000 * math.sin(2 * math.pi * hertz * n / rate)) for n in range(int(rate * seconds)))
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return file.getvalue()
