"""What a client returns: the tools of a server, their form in GAIA's registry, and completions."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gaia_mcp.core.errors import RemoteProtocolError
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.schema import (
    choices_of,
    description_of,
    parts_of,
    properties_of,
    required_of,
    resolved,
    types_of,
)
from gaia_mcp.toolspec.tool_filter import only_reads

logger = logging.getLogger("gaia_mcp")
# The number of choices that are compared with each other among the members of a union.
MAX_CHOICES = 300


# The JSON types of Python's types.
_TYPES = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null",
}  # fmt: skip


@dataclass
class MCPTool:
    """A tool, as in GAIA's documents (MCPTool). `input_schema` is the JSON Schema as the server sent it, unchecked;
    `definition` is the whole definition as the server sent it.

    Annotations are untrusted hints from the server (specification, server/tools). `trusts_hints` is whether the user
    who chose the server trusts them; a program that creates a tool itself is responsible for its annotations.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any] = field(default_factory=dict)
    definition: dict[str, Any] = field(default_factory=dict, repr=False)
    trusts_hints: bool = True

    @property
    def title(self) -> str:
        """The display name: `title`, else the annotations' title, else the name (specification, server/tools)."""
        title = self.definition.get("title") or self.annotations.get("title")
        return title if isinstance(title, str) else self.name

    @property
    def output_schema(self) -> Any:
        """The schema of the structured content, None without one."""
        return self.definition.get("outputSchema")

    @property
    def only_reads(self) -> bool:
        """Whether the server declares the tool read-only, is trusted, and the tool's name does not contradict it. False
        without an annotation.
        """
        return self.trusts_hints and only_reads(self.name, self.annotations)

    def to_gaia_format(self, prefix: str, raw_server_name: str | None = None) -> dict[str, Any]:
        """The entry for GAIA's `_TOOL_REGISTRY`, without its `function`: GAIA's documents, "Tool Registration Pattern".
        Its name is made with `prefix`; `raw_server_name` is the server's own, the same if it is not given.

        A parameter's `type` is one word, or a list of several; `enum` and `items` are there where the schema has them.
        Tolerates every schema.
        """
        required = dict.fromkeys(required_of(self.input_schema))
        # Some schemas require properties that they do not describe.
        described = {**properties_of(self.input_schema)}
        described.update((name, {}) for name in required if name not in described)
        parameters = {
            name: _parameter(schema, self.input_schema, is_required=name in required)
            for name, schema in described.items()
        }
        return {
            "name": f"mcp_{prefix}_{self.name}",
            "display_name": f"{self.title} ({prefix})",
            "description": f"[MCP:{prefix}] {self.description}",
            "parameters": parameters,
            "atomic": True,
            "requires_confirmation": not self.only_reads,
            "_mcp_server": prefix if raw_server_name is None else raw_server_name,
            "_mcp_tool_name": self.name,
        }


def mcp_tool_requires_confirmation(name: str, annotations: dict[str, Any] | None) -> bool:
    """Whether the user should confirm a call of the tool `name`: unless its server declares it read-only, and its name
    does not contradict that.
    """
    return not only_reads(name, annotations or {})


def _parameter(schema: Any, root: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    parts = parts_of(schema, root)
    types = list(dict.fromkeys(kind for part in parts for kind in _types(part)))
    parameter: dict[str, Any] = {
        "type": types[0] if len(types) == 1 else types or "string",
        "required": is_required,
        "description": description_of(schema, root),
    }
    if choices := _all_choices(schema, root):
        parameter["enum"] = choices
    if (items := next((part["items"] for part in parts if isinstance(part.get("items"), dict)), None)) is not None:
        parameter["items"] = resolved(items, root)
    return parameter


def _types(part: dict[str, Any]) -> list[str]:
    return types_of(part) or [_TYPES[type(choice)] for choice in choices_of(part) if type(choice) in _TYPES]


def _all_choices(schema: Any, root: dict[str, Any]) -> list[Any]:
    """The only allowed values; empty if a part of a union does not list its values."""
    for part in parts_of(schema, root, ("allOf",)):
        if choices := choices_of(part):
            return choices
    unions = ("anyOf", "oneOf")
    members = [part for part in parts_of(schema, root, unions) if not any(union in part for union in unions)]
    found = [choices_of(member) for member in members if member.get("type") != "null"]
    if not all(found):
        return []
    merged: list[Any] = []
    for choice in itertools.islice((choice for choices in found for choice in choices), MAX_CHOICES):
        if not any(is_same(choice, other) for other in merged):
            merged.append(choice)
    return merged


def failure_of(result: dict[str, Any]) -> str:
    """The text of a result that reports a failure (`isError`)."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts) or "the tool reported an error without a text"


def read_tools(
    definitions: list[Any], is_used: Callable[[str], bool] = lambda _: True, *, trusts_hints: bool = True
) -> tuple[list[MCPTool], list[str]]:
    """The usable tools among a server's definitions, and messages about the unusable ones, except those whose name
    `is_used` rejects.
    """
    tools: list[MCPTool] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, definition in enumerate(definitions, 1):
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name:
            problems.append(f"tool {number} has no name")
            continue
        if name in seen:
            problems += [f"tool {name!r} is listed twice"] if is_used(name) else []
            continue
        seen.add(name)
        schema, annotations = definition.get("inputSchema"), definition.get("annotations")
        if not isinstance(schema, dict):
            problems += [f"tool {name!r} has no inputSchema object"] if is_used(name) else []
            schema = {}
        description = definition.get("description")
        tools.append(
            MCPTool(
                name,
                description if isinstance(description, str) else "",
                schema,
                annotations if isinstance(annotations, dict) else {},
                definition,
                trusts_hints,
            )
        )
    return tools, list(dict.fromkeys(problems))


def read_items(items: Iterable[Any], method: str, key: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The usable items of a list other than that of the tools, each of which has a `key`, and messages about the
    unusable ones.
    """
    found: list[dict[str, Any]] = []
    problems: list[str] = []
    for number, item in enumerate(items, 1):
        if isinstance(item, dict) and isinstance(item.get(key), str):
            found.append(item)
        else:
            problems.append(f"item {number} of {method} has no {key}")
    return found, problems


class Completion(NamedTuple):
    """Completions of an argument: at most 100 `values`, of `total` if the server sends that number."""

    values: list[str]
    total: int | None
    has_more: bool


def read_completion(server: str, result: dict[str, Any]) -> Completion:
    """The completions in a result of `completion/complete`. Raises `RemoteProtocolError`."""
    found = result.get("completion")
    values = found.get("values") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(values, list):
        raise RemoteProtocolError(server, "answered completion/complete without a list of values")
    total = found.get("total")
    is_count = isinstance(total, int) and not isinstance(total, bool)
    texts = [text for text in values if isinstance(text, str)]
    return Completion(texts, total if is_count else None, found.get("hasMore") is True)


# The names for which a warning was logged: one each is enough.
_logged_sanitisations: set[str] = set()


def sanitise_server_name(raw: str) -> str:
    """A server's name as used in the names of its tools, as in GAIA from 0.18 on: in lower case, with "_" for "-" and
    spaces, and without the word "mcp". "server" if nothing is left.
    """
    spelled = raw.strip().lower().replace("-", "_").replace(" ", "_")
    words = spelled.split("_")
    if "mcp" not in words:
        return spelled or "server"
    found = "_".join(word for word in words if word != "mcp").strip("_") or "server"
    if raw not in _logged_sanitisations:
        _logged_sanitisations.add(raw)
        logger.warning("the tools of MCP server %r are named with the normalised prefix %r", raw, found)
    return found
