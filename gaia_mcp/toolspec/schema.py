"""Reading a JSON Schema: the properties, types, choices and default of a value. `describe` prints it as text.

Reads every schema as far as possible, even an invalid one. `validation` checks values against it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

# The maximum length of a chain of references; a schema may refer to itself.
MAX_REFERENCES = 32
# The maximum number of a union's parts, which may contain the union, and of steps including references: many properties
# may refer to the same union.
MAX_PARTS, MAX_STEPS = 100, 200
# The keywords whose schemas apply to the same value.
UNIONS = ("anyOf", "oneOf", "allOf")
# Those of which one branch applies to an object, and those that add to it under a condition.
_ALTERNATIVES = ("anyOf", "oneOf")
_CONDITIONAL = ("then", "else")
# All whose schemas may have properties of an object.
BRANCHES = (*UNIONS, *_CONDITIONAL)
# The types without members. A tuple, because a type may be a list.
_PLAIN = ("string", "integer", "number", "boolean", "null")
# Marks a missing default, because null is a valid one.
NO_DEFAULT = object()


def properties_of(schema: Any) -> dict[str, Any]:
    """The properties of an object schema, in its order, with those of its `allOf` and local references, then those of
    the branches of its other unions and of its conditions. A property of several branches has the types of all of them.
    """
    found: dict[str, Any] = {}
    whole = parts_of(schema, schema, ("allOf",))
    for part in whole:
        found.update(_members(part))
    if not any(keyword in part for part in whole for keyword in (*_ALTERNATIVES, *_CONDITIONAL)):
        return found
    branches: dict[str, list[Any]] = {}
    for part in parts_of(schema, schema, BRANCHES):
        for name, inner in _members(part).items():
            # A type that is stated for all branches is not stated better by one of them.
            if inner not in branches.setdefault(name, []) and (name not in found or _is_untyped(found[name])):
                branches[name].append(inner)
    for name, inner in branches.items():
        if name in found and inner:
            found[name] = {**found[name], "anyOf": [each for each in inner if each is not found[name]]}
        elif inner:
            found[name] = inner[0] if len(inner) == 1 else {"anyOf": inner}
    return found


def properties_for(schema: Any, typed: Mapping[str, str]) -> dict[str, Any]:
    """As `properties_of`. A property that several branches of a union describe is that of the first branch that the
    typed values fit: it requires nothing else, and has their text where it names a value.
    """
    found = properties_of(schema)
    whole = parts_of(schema, schema, ("allOf",))
    stated = {name for part in whole for name in _members(part)}
    for part in whole:
        for branches in _branches(part, schema):
            fitting = (branch for branch in branches if _fits(branch, schema, typed))
            for inner in parts_of(next(fitting, None), schema, ("allOf",)):
                found.update({name: member for name, member in _members(inner).items() if name not in stated})
    return found


def _fits(branch: Any, root: Any, typed: Mapping[str, str]) -> bool:
    parts = parts_of(branch, root, ("allOf",))
    named = [(name, choices_of(resolved(inner, root))) for part in parts for name, inner in _members(part).items()]
    return all(name in typed for name in _required(branch, root, has_branches=False)) and all(
        typed[name] in [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]
        for name, choices in named
        if choices and name in typed
    )


def _members(part: dict[str, Any]) -> dict[str, Any]:
    own = part.get("properties")
    return own if isinstance(own, dict) else {}


def _is_untyped(schema: Any) -> bool:
    return isinstance(schema, dict) and not any(
        keyword in schema for keyword in ("type", "enum", "const", "$ref", *UNIONS)
    )


def required_of(schema: Any) -> list[str]:
    """The names of the required properties, with those of its `allOf` and local references, and those that all branches
    of another union require.
    """
    return list(_required(schema, schema, has_branches=True))


def _required(schema: Any, root: Any, *, has_branches: bool) -> dict[str, None]:
    found: dict[str, None] = {}
    for part in parts_of(schema, root, ("allOf",)):
        if isinstance(required := part.get("required"), list):
            found.update((name, None) for name in required if isinstance(name, str))
        for branches in _branches(part, root) if has_branches else ():
            names = [_required(branch, root, has_branches=False) for branch in branches]
            found.update((name, None) for name in names[0] if all(name in other for other in names))
    return found


def _branches(part: dict[str, Any], root: Any) -> Iterator[list[Any]]:
    """The branches of which one applies to an object: of each union of a part, and of its condition."""
    for keyword in _ALTERNATIVES:
        listed = part.get(keyword)
        branches = listed[:MAX_PARTS] if isinstance(listed, list) else []
        kinds = [types_of(resolved(branch, root)) for branch in branches]
        if objects := [branch for branch, of in zip(branches, kinds, strict=True) if not of or "object" in of]:
            yield objects
    if all(isinstance(part.get(keyword), dict) for keyword in _CONDITIONAL):
        yield [part[keyword] for keyword in _CONDITIONAL]


def argument_names(schema: Any) -> list[str]:
    """The names of the properties, and of the members of those that are objects or lists of objects."""
    known = properties_of(schema)
    found = dict.fromkeys(known)
    for inner in known.values():
        if isinstance(inner, dict) and inner.get("type") not in _PLAIN:
            for part in parts_of(inner, schema):
                found.update(dict.fromkeys(_members(part)))
                for item in parts_of(part["items"], schema) if "items" in part else ():
                    found.update(dict.fromkeys(_members(item)))
    return list(found)


def needed_of(schema: Any) -> list[str]:
    """The names of the properties that a value must have: those required without a default."""
    return _without_default(required_of(schema), properties_of(schema), schema)


def needed_members(part: dict[str, Any], root: Any) -> list[str]:
    """As `needed_of`, for one part of the schema `root`."""
    known, required = part.get("properties"), part.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return _without_default(names, known if isinstance(known, dict) else {}, root)


def _without_default(names: list[str], known: dict[str, Any], root: Any) -> list[str]:
    return [name for name in names if default_of(known.get(name), root, NO_DEFAULT) is NO_DEFAULT]


def types_of(part: dict[str, Any]) -> list[str]:
    """The JSON types in one part of a schema."""
    types = part.get("type")
    return [kind for kind in (types if isinstance(types, list) else [types]) if isinstance(kind, str)]


def choices_of(part: dict[str, Any]) -> list[Any]:
    """The values that one part of a schema allows by `const` or `enum`; empty without these keywords."""
    choices = [part["const"]] if "const" in part else part.get("enum")
    return choices if isinstance(choices, list) else []


def titled_choices_of(part: dict[str, Any]) -> list[tuple[Any, Any]]:
    """The titles of one part's choices: from `oneOf`, from the `anyOf` of its items, or from `enumNames`, as in older
    revisions of MCP.
    """
    items = part.get("items")
    titled = part.get("oneOf") or (items.get("anyOf") if isinstance(items, dict) else None)
    if isinstance(titled, list):
        return [(choice.get("const"), choice.get("title", "")) for choice in titled if isinstance(choice, dict)]
    names, values = part.get("enumNames"), part.get("enum")
    return list(zip(values, names, strict=False)) if isinstance(names, list) and isinstance(values, list) else []


def default_of(schema: Any, root: Any, missing: Any = None) -> Any:
    """The default, `missing` without one: of `schema`, else of the first part of it that has one."""
    return next((part["default"] for part in parts_of(schema, root) if "default" in part), missing)


def description_of(schema: Any, root: Any) -> str:
    """The description, empty without one: of `schema`, else of the first part of it that has one."""
    found = (part.get("description") for part in parts_of(schema, root))
    return next((text for text in found if isinstance(text, str)), "")


def parts_of(schema: Any, root: Any, unions: tuple[str, ...] = UNIONS) -> list[dict[str, Any]]:
    """`schema` and its subschemas in the keywords `unions`, in order of appearance, with references resolved. A keyword
    has a list of schemas, or one.
    """
    found: list[dict[str, Any]] = []
    waiting = [schema]
    steps = iter(range(MAX_STEPS))
    while waiting and len(found) < MAX_PARTS:
        part = resolved(waiting.pop(0), root, steps)
        found.append(part)
        inner = [inner for union in unions for inner in _as_list(part.get(union))]
        waiting[:0] = inner[:MAX_PARTS]
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, dict) else []


def resolved(schema: Any, root: Any, steps: Iterator[int] | None = None) -> dict[str, Any]:
    """`schema` with its local `$ref` resolved; an empty schema for a value that is not an object. `steps` limits the
    number of schemas that are visited, over several calls.
    """
    steps = iter(range(MAX_STEPS)) if steps is None else steps
    for _ in range(MAX_REFERENCES):
        if not isinstance(schema, dict) or next(steps, None) is None:
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        target = pointed(root, reference)
        if not isinstance(target, dict):
            return {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {}


def pointed(root: Any, reference: str) -> Any:
    """The target of a local reference such as `#/$defs/Point`, None if it does not exist."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    if "%" in reference:
        from urllib.parse import unquote

        reference = unquote(reference)
    target = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and key in target:
            target = target[key]
        elif isinstance(target, list) and key.isascii() and key.isdecimal() and int(key) < len(target):
            target = target[int(key)]
        else:
            return None
    return target
