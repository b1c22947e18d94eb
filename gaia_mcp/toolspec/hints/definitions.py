"""Schemas referenced by `$ref`: of types that are used twice, or contain themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Wire = dict[str, Any]

LEAD = "#/$defs/"
# Keywords whose content is values, not schemas.
_VALUES = frozenset({"default", "const", "enum", "examples"})


class Definitions:
    """The named schemas of one schema. `for_output`: of a tool's results, not of its arguments."""

    def __init__(self, *, for_output: bool = False) -> None:
        self.for_output = for_output
        self._names: dict[object, str] = {}
        self._schemas: dict[str, Wire] = {}

    def reference(self, key: object, name: str, write: Callable[[], Wire]) -> Wire:
        """A reference to the schema of `key`, which `write` creates on first use."""
        if key not in self._names:
            self._names[key] = unique = self._free(name)
            self._schemas[unique] = {}
            self._schemas[unique] = write()
        return {"$ref": LEAD + self._names[key]}

    def adopt(self, make: Callable[[str], Wire]) -> Wire:
        """A schema with definitions of its own. `make` receives the template of their references."""
        schema = make(LEAD + "{model}")
        suffix = 1
        while any(self._schemas.get(name, own) != own for name, own in schema.get("$defs", {}).items()):
            # Another type has the same name.
            suffix += 1
            schema = make(f"{LEAD}{{model}}{suffix}")
            named = {f"{name}{suffix}": own for name, own in schema.get("$defs", {}).items()}
            schema = {**schema, "$defs": named}
        self._schemas.update(schema.pop("$defs", {}))
        return schema

    def complete(self, schema: Wire) -> Wire:
        """`schema` with the definitions that it needs. A schema that is referenced once is inlined."""
        uses: dict[str, int] = {}
        for part in (schema, *self._schemas.values()):
            for inner in _parts(part):
                if (name := _name_of(inner)) is not None:
                    uses[name] = uses.get(name, 0) + 1
        self._unfold(schema, uses)
        for part in self._schemas.values():
            self._unfold(part, uses)
        kept = {name: part for name, part in self._schemas.items() if uses.get(name, 0) > 1}
        if (name := _name_of(schema)) is not None:
            # The root of a tool's schema is an object, not a reference.
            schema = {**kept[name], **{key: value for key, value in schema.items() if key != "$ref"}}
        return {**schema, "$defs": kept} if kept else schema

    def _unfold(self, schema: Wire, uses: dict[str, int]) -> None:
        for part in list(_parts(schema)):
            while (name := _name_of(part)) is not None and uses[name] == 1:
                beside = {key: value for key, value in part.items() if key != "$ref"}
                part.clear()
                part.update({**self._schemas[name], **beside})

    def _free(self, name: str) -> str:
        number = 1
        unique = name
        while unique in self._schemas:
            number += 1
            unique = f"{name}{number}"
        return unique


def _name_of(schema: Wire) -> str | None:
    reference = schema.get("$ref")
    return reference.removeprefix(LEAD) if isinstance(reference, str) and reference.startswith(LEAD) else None


def _parts(schema: Any) -> Iterator[Wire]:
    """A schema and all schemas in it."""
    if isinstance(schema, dict):
        yield schema
        for key, inner in list(schema.items()):
            if key == "properties" and isinstance(inner, dict):
                # Its keys are names, one of which may be "enum".
                for property_schema in list(inner.values()):
                    yield from _parts(property_schema)
            elif key not in _VALUES:
                yield from _parts(inner)
    elif isinstance(schema, list):
        for item in schema:
            yield from _parts(item)
