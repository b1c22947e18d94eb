"""An agent's definitions of its tools, prompts and resources, completed to what MCP requires of them.

GAIA's agents leave out members that MCP requires. Pure: nothing here calls the agent.
"""

from __future__ import annotations

import sys
from typing import Any

Wire = dict[str, Any]


def described_agent(kind: type, info: Wire) -> Wire:
    """What an agent of this class says about itself, with a name and a version.

    By default they are those of its class. What `get_mcp_server_info` returns in GAIA unless it is overridden ("GAIA"
    and the class, 2.0.0) is the name of GAIA's own agents alone.
    """
    gaia = {"name": f"GAIA {kind.__name__}", "version": "2.0.0"}
    default = {"name": kind.__name__, "version": _version_of(kind)}
    if any(base.__module__.partition(".")[0] == "gaia" for base in kind.__mro__):
        default = gaia
    elif gaia.items() <= info.items():
        info = {**info, **default}
    given = {key: value for key, value in info.items() if value}
    return {**default, **given, **{key: str(given[key]) for key in default if key in given}}


def _version_of(kind: type) -> str:
    """The version that a class or its module states, else one that is empty."""
    stated = (getattr(kind, "version", None), getattr(sys.modules.get(kind.__module__), "__version__", None))
    return next((version for version in stated if isinstance(version, str)), "")


def tool_definition(definition: Wire) -> Wire:
    """The tool with a description and an input schema for an object; members that are None are left out."""
    schema = definition.get("inputSchema")
    schema = dict(schema) if isinstance(schema, dict) else {}
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    description = definition.get("description")
    return {
        **{key: value for key, value in definition.items() if value is not None},
        "description": description if isinstance(description, str) else "",
        "inputSchema": schema,
    }


def prompt_definitions(defined: Any) -> list[Wire]:
    """The prompts that have a name, each with a list of those arguments that have one."""
    prompts = [dict(prompt) for prompt in defined or [] if _has_text(prompt, "name")]
    for prompt in prompts:
        arguments = prompt.get("arguments")
        arguments = arguments if isinstance(arguments, list) else []
        prompt["arguments"] = [argument for argument in arguments if _has_text(argument, "name")]
    return prompts


def resource_definitions(defined: Any) -> list[Wire]:
    """The resources that have a URI, as the agent defines them: possibly with their contents."""
    return [resource for resource in defined or [] if _has_text(resource, "uri")]


def listed_resource(resource: Wire) -> Wire:
    """The resource as `resources/list` shows it: with a name, without its contents."""
    shown = {key: value for key, value in resource.items() if key not in ("text", "blob")}
    return {"name": resource["uri"], **shown}


def _has_text(item: Any, key: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(key), str) and bool(item[key])
