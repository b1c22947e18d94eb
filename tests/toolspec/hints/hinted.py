"""Types that hints name, and reading one hint alone."""

from __future__ import annotations

import datetime  # noqa: TC003 (the hints are read)
import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, Required, TypedDict, TypeVar

from pydantic import BaseModel, Field

from gaia_mcp.toolspec.hints import Reader
from gaia_mcp.toolspec.hints.kinds import Definitions

T = TypeVar("T")


class Colour(enum.Enum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    TEXT = "a"
    NUMBER = 1


@dataclass
class Point:
    """A place.

    Attributes:
        x: To the right.
    """

    x: int
    y: Annotated[int, "Downwards."] = 0
    tags: list[str] = field(default_factory=list, metadata={"description": "Words."})


@dataclass
class Circle:
    kind: Literal["circle"]
    radius: float


@dataclass
class Square:
    kind: Literal["square"]
    side: float
    angle: float = 0


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


@dataclass
class Positive:
    number: int

    def __post_init__(self) -> None:
        if self.number <= 0:
            raise ValueError(f"{self.number} is not positive")


@dataclass
class Page(Generic[T]):
    items: list[T]
    next: int | None = None


class Movie(TypedDict):
    """A film."""

    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    name: Required[str]
    born: datetime.date


class Pair(NamedTuple):
    left: int
    right: Colour = Colour.RED


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="With the number.")
    zip: str | None = None


class Person(BaseModel):
    name: str = Field(min_length=1)
    addresses: list[Address] = []
    friends: list[Person] = []


def schema_of(hint: Any, *, for_output: bool = False) -> dict[str, Any]:
    """The schema of one hint."""
    definitions = Definitions(for_output=for_output)
    return definitions.complete(Reader().read(hint).schema(definitions))


def converted(hint: Any, value: Any) -> Any:
    """A JSON value as the hint has it."""
    return Reader().read(hint).convert(value, "value")
