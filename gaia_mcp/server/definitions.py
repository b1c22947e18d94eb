"""Makes the definitions of an agent, or of a server behind a gateway, valid in MCP, and splits long lists of them into
pages.

One table says what each optional member must be, wherever its name occurs: strict clients drop a whole list for one
member of a wrong type.

GAIA's agents leave out members that MCP requires, and clients drop a whole list for one member of the wrong type. Pure:
nothing here calls the agent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.server.provider import RequestError

if TYPE_CHECKING:
    from gaia_mcp.asking import Call

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence

from gaia_mcp.protocol.jsonrpc import is_number
from gaia_mcp.text.uri_templates import uri_problem
from gaia_mcp.toolspec.repair import repaired_schema
from gaia_mcp.toolspec.schema import resolved

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_ROLES = ("user", "assistant")
_TASK_SUPPORT = ("forbidden", "optional", "required")
_ANY: tuple[Callable[[Any], bool], str] = (lambda _: True, "")
# Large, because some clients read only the first page.
PAGE_ITEMS = 1000
Wire = dict[str, Any]
# Called with a description of each problem.
Note = Callable[[str], None]
# The member that identifies an item, by the kind of its list.
IDENTIFIERS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _are_roles(value: Any) -> bool:
    return isinstance(value, list) and all(role in _ROLES for role in value)


# By member name: the check of its value, and the description of valid values.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("title", "description", "mimeType", "lastModified", "theme", "websiteUrl"), (_is(str), "a text")),
    **dict.fromkeys(("outputSchema", "annotations", "execution", "_meta"), (_is(dict), "an object")),
    **dict.fromkeys(("icons", "arguments", "sizes"), (_is(list), "a list")),
    **dict.fromkeys(
        ("required", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"), (_is(bool), "true or false")
    ),
    "audience": (_are_roles, "a list of 'user' and 'assistant'"),
    "priority": (lambda value: is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "size": (lambda value: is_number(value) and float(value).is_integer(), "a whole number"),
    "taskSupport": (lambda value: value in _TASK_SUPPORT, "'forbidden', 'optional' or 'required'"),
}


def member_problem(name: Any, value: Any) -> str | None:
    """The problem with the value of the member `name`, such as `is not a text`; None if it is valid."""
    is_allowed, described = _RULES.get(name, _ANY)
    if not is_allowed(value):
        return f"is not {described}"
    is_text = isinstance(value, str) and isinstance(name, str)
    if not is_text and (problem := json_problem({name: value})) is not None:
        return f"is not JSON: {problem}"
    return None


def json_problem(value: Any) -> str | None:
    """Why `value` cannot be written as JSON, None if it can."""
    try:
        _ENCODE(value)
    except (TypeError, ValueError, RecursionError) as problem:
        return str(problem)
    return None


def page_of(member: str, items: Sequence[Wire], key: str, params: Wire) -> Wire:
    """The result of a list request: the page of `items` at the request's cursor, as `member`. `key` is the member that
    identifies an item.

    Raises `RequestError` for a cursor that is invalid for the current list.
    """
    begin = 0
    if (cursor := params.get("cursor")) is not None:
        begin = _begin_of(cursor)
        if not 0 < begin < len(items) or _cursor(begin, items[begin - 1][key]) != cursor:
            raise RequestError("invalid cursor: read the list from its beginning")
    end = begin + PAGE_ITEMS
    page: Wire = {member: list(items[begin:end])}
    if end < len(items):
        page["nextCursor"] = _cursor(end, items[end - 1][key])
    return page


def _cursor(end: int, last: str) -> str:
    return urlsafe_b64encode(f"{end} {last}".encode("utf-8", "surrogatepass")).decode("ascii")


def _begin_of(cursor: Any) -> int:
    try:
        return int(urlsafe_b64decode(cursor).partition(b" ")[0])
    except (TypeError, ValueError, binascii.Error):
        return 0


def described_agent(kind: type, info: Wire, note: Note = lambda _: None) -> Wire:
    """The server info of an agent of this class, with `name` and `version`, else as in `tool_definition`.

    What the agent states is never replaced. Without a statement it is that of the class, or as in GAIA's documents for
    GAIA's own agents. A version of the class takes the place of the default one in the documents.
    """
    gaia = {"name": f"GAIA {kind.__name__}", "version": "2.0.0"}
    default = {"name": kind.__name__, "version": _version_of(kind)}
    if any(base.__module__.partition(".")[0] == "gaia" for base in kind.__mro__):
        default = gaia
    elif default["version"] and gaia.items() <= info.items():
        info = {**info, "version": default["version"]}
    given = {key: value for key, value in info.items() if value}
    described = {**default, **given, **{key: str(given[key]) for key in default if key in given}}
    return well_typed(f"server {described['name']!r}", described, note)


def _version_of(kind: type) -> str:
    """The version of the class or its module, else an empty string."""
    stated = (getattr(kind, "version", None), getattr(sys.modules.get(kind.__module__), "__version__", None))
    return next((version for version in stated if isinstance(version, str)), "")


def tool_definition(definition: Wire, note: Note = lambda _: None) -> Wire:
    """The tool with a description and an input schema of type "object". The schema always has `properties`, because
    some clients require it. Schemas of invalid form are repaired, and optional members of a wrong type left out; both
    are reported to `note`.
    """
    owner = f"tool {definition.get('name')!r}"
    schema = definition.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    complete = {
        **well_typed(owner, definition, note),
        "inputSchema": _strict_schema(owner, "inputSchema", schema, note),
    }
    complete["inputSchema"].setdefault("properties", _referred_properties(schema))
    if "outputSchema" in complete:
        complete["outputSchema"] = _strict_schema(owner, "outputSchema", complete["outputSchema"], note)
    complete.setdefault("description", "")
    return complete


def _referred_properties(schema: Wire) -> Wire:
    """The properties of the schema that a reference at the root leads to: from some readers, empty ones beside it would
    hide them.
    """
    own = resolved(schema, schema).get("properties")
    return own if isinstance(own, dict) else {}


def _strict_schema(owner: str, member: str, schema: Wire, note: Note) -> Wire:
    """A copy of the schema, repaired, and with an object for each property: of a tool's schemas, the revisions up to
    2025-11-25 do not allow the schemas true and false there.
    """
    found = {**repaired_schema(schema, member, lambda problem: note(f"{owner}: {problem}"))}
    if isinstance(own := found.get("properties"), dict) and any(isinstance(inner, bool) for inner in own.values()):
        written: Wire = {"True": {}, "False": {"not": {}}}
        found["properties"] = {
            name: written[str(inner)] if isinstance(inner, bool) else inner for name, inner in own.items()
        }
    return found


def check_task(name: str, definition: Wire, call: Call) -> None:
    """Raises `RequestError` if the tool must run as a task and the client could have asked for one but did not."""
    if task_support(definition) == "required" and call.lacks_task:
        raise RequestError(f"tool {name!r} must run as a task, which this call does not ask for", METHOD_NOT_FOUND)


def task_support(definition: Wire) -> str | None:
    """The tool's `taskSupport`, if its calls may or must run as tasks: "optional" or "required", else None."""
    execution = definition.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, dict) else None
    return support if support in ("optional", "required") else None


def prompt_definitions(defined: Any, note: Note = lambda _: None) -> list[Wire]:
    """The prompts that have a name, with their arguments that have a name, else as in `tool_definition`."""
    prompts = []
    for prompt in defined or []:
        if _has_text(prompt, "name"):
            owner = f"prompt {prompt['name']!r}"
            complete = well_typed(owner, prompt, note)
            named = [argument for argument in complete.get("arguments", []) if _has_text(argument, "name")]
            complete["arguments"] = [well_typed(owner, argument, note) for argument in named]
            prompts.append(complete)
    return prompts


def resource_definitions(defined: Any, note: Note = lambda _: None) -> list[Wire]:
    """The resources that have a URI, as the agent defines them, possibly with their contents. Relative and invalid URIs
    are reported to `note`.
    """
    found = []
    for resource in defined or []:
        if _has_text(resource, "uri"):
            if (problem := uri_problem(resource["uri"])) is None:
                found.append(resource)
            else:
                note(f"resource {resource['uri']!r} is left out: its URI {problem}")
    return found


def listed_resource(resource: Wire, note: Note = lambda _: None) -> Wire:
    """The resource for `resources/list`: with a name, without its contents, else as in `tool_definition`."""
    shown = {key: value for key, value in resource.items() if key not in ("text", "blob")}
    if not _has_text(resource, "name"):
        shown["name"] = resource["uri"]
    return well_typed(f"resource {resource['uri']!r}", shown, note)


def template_definitions(defined: Any) -> list[Wire]:
    """The resource templates that have a URI template."""
    return [template for template in defined or [] if _has_text(template, "uriTemplate")]


def listed_template(template: Wire, note: Note = lambda _: None) -> Wire:
    """The template for `resources/templates/list`: with a name, else as in `tool_definition`."""
    uri = template["uriTemplate"]
    named = template if _has_text(template, "name") else {**template, "name": uri}
    return well_typed(f"template {uri!r}", named, note)


def listed_item(kind: str, item: Wire, note: Note = lambda _: None) -> Wire | None:
    """An item of another server's list of this kind in the form that strict clients accept: `item` itself if it has it,
    None if it cannot be listed. What was repaired or left out is reported to `note`.
    """
    if not _has_text(item, key := IDENTIFIERS[kind]):
        note(f"one of its {kind} has an empty {key}, and is left out")
        return None
    # A valid item to which members would only be added is unchanged.
    as_given = item
    if kind == "tools":
        found = [tool_definition(item, note)]
        if isinstance(schema := item.get("inputSchema"), dict):
            as_given = {
                "description": "",
                **item,
                "inputSchema": {"properties": _referred_properties(schema), **schema},
            }
    elif kind == "prompts":
        found = prompt_definitions([item], note)
        as_given = {"arguments": [], **item}
    elif kind == "resources":
        found = [listed_resource(resource, note) for resource in resource_definitions([item], note)]
    else:
        found = [listed_template(item, note)]
    return item if found == [as_given] else next(iter(found), None)


def well_typed(owner: str, members: Wire, note: Note) -> Wire:
    """The members of a definition or of a part of one, without those that are None or have a wrong type."""
    found: Wire = {}
    for key, value in members.items():
        if value is None:
            continue
        if (problem := member_problem(key, value)) is None:
            found[key] = value
        else:
            note(f"{owner}: {key} {problem}, and is left out")
    for part in ("annotations", "execution"):
        if part in found:
            found[part] = well_typed(owner, found[part], note)
    if "icons" in found:
        found["icons"] = [well_typed(owner, icon, note) for icon in found["icons"] if _has_text(icon, "src")]
    return found


def _has_text(item: Any, key: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(key), str) and bool(item[key])
