"""The forms and the schema of the agent `Everything`, which lies beside this file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

# Of a tool's arguments, with keywords that type hints do not make.
ADDRESS = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

# Choices with titles, which a dataclass does not have.
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option one", "Option two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


@dataclass
class Contact:
    """How to reach a person."""

    username: Annotated[str, "Name of the user"]
    email: Annotated[str, "Address for mail", {"format": "email"}]


@dataclass
class Profile:
    """A form that is filled in already."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@dataclass
class Name:
    """A form with a name."""

    name: str


@dataclass
class Colour:
    """A form with a colour."""

    color: str


@dataclass
class Confirmation:
    """A form with a box to tick."""

    ok: bool


@dataclass
class Context:
    """A form with a text for a prompt."""

    context: str


@dataclass
class Deletion:
    """A form that asks whether something may go."""

    confirm: bool
