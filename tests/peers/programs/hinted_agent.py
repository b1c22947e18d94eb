"""An agent whose tools are its methods, with results of many kinds."""

import asyncio
import enum
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, NamedTuple
from uuid import UUID

from pydantic import BaseModel, Field

from gaia_mcp import Image, MCPAgent, current_call, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Note:
    text: str
    due: date | None = None
    colour: Colour = Colour.RED


class Span(NamedTuple):
    begin: date
    length: timedelta


class Order(BaseModel):
    number: int = Field(ge=1)
    price: Decimal
    notes: list[Note] = []


class Hinted(MCPAgent):
    """Tools of every kind."""

    version = "3.1"

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.began = asyncio.Event()

    @tool(read_only=True)
    def note(self, text: str, due: date | None = None, colour: Colour = Colour.RED) -> Note:
        """Make a note.

        Args:
            text: What to note.
        """
        return Note(text, due, colour)

    @tool
    def many(self, notes: list[Note], kind: Literal["all", "due"] = "all") -> list[Note]:
        """Give notes back."""
        return [note for note in notes if kind == "all" or note.due]

    @tool
    def order(self, order: Order, factor: Annotated[int, Field(ge=1, le=9)] = 1) -> Order:
        """Take an order."""
        return order.model_copy(update={"price": order.price * factor})

    @tool
    def values(self, span: Span, where: Path, who: UUID) -> dict[str, object]:
        """What was given, and its types."""
        return {"span": span, "where": where, "who": who, "set": {3, 1, 2}}

    @tool
    def picture(self) -> list[Image | str]:
        """Paint."""
        return [Image(data=b"\x89PNG\r\n\x1a\n"), "a picture"]

    @tool
    async def later(self, seconds: float = 0) -> str:
        """Take a while."""
        current_call().progress(1, 1, "waiting")
        await asyncio.sleep(seconds)
        return "later"

    @tool
    def broken(self) -> int:
        """Return something else."""
        return "no number"  # type: ignore[return-value]

    @tool
    def opaque(self) -> object:
        """Return what JSON cannot carry."""
        return self
