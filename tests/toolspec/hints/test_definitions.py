"""The schemas that others refer to."""

from __future__ import annotations

from gaia_mcp.toolspec.hints.definitions import Definitions


def test_a_definition_used_once_is_inlined() -> None:
    """Ours: also a chain of such; members beside the reference win."""
    definitions = Definitions()

    def write_outer() -> dict[str, object]:
        inner = definitions.reference("b", "B", lambda: {"type": "string", "description": "b"})
        return {"type": "array", "items": inner}

    schema = {"properties": {"a": {**definitions.reference("a", "A", write_outer), "description": "mine"}}}

    assert definitions.complete(schema) == {
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "description": "b"}, "description": "mine"}
        }
    }  # fmt: skip


def test_references_in_values_are_values() -> None:
    """Ours: a default may look like a reference, and a property may be called `enum`."""
    definitions = Definitions()
    reference = definitions.reference("a", "A", lambda: {"type": "string"})

    schema = definitions.complete(
        {"properties": {"enum": reference, "x": {"default": {"$ref": "#/$defs/A"}}, "y": {"$ref": "other.json"}}}
    )

    assert schema["properties"] == {
        "enum": {"type": "string"}, "x": {"default": {"$ref": "#/$defs/A"}}, "y": {"$ref": "other.json"}
    }  # fmt: skip
    assert "$defs" not in schema


def test_equal_adopted_definitions_are_merged() -> None:
    """Ours: pydantic defines a nested model anew for each of its outer models."""
    definitions = Definitions()

    def make(template: str) -> dict[str, object]:
        reference = {"$ref": template.format(model="Inner")}
        return {"items": reference, "$defs": {"Inner": {"type": "string"}}}

    schema = definitions.complete({"prefixItems": [definitions.adopt(make), definitions.adopt(make)]})

    assert schema["$defs"] == {"Inner": {"type": "string"}}
    assert schema["prefixItems"] == [{"items": {"$ref": "#/$defs/Inner"}}] * 2
