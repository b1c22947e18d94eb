"""A tool in words, for a person or a model: the type of a value, the members of an object, the signature of a tool, an
example value for the field of a form, and a ranking of tools for the words of a search, in which `*` and `?` make a
glob for the tool's name.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gaia_mcp.text import cut
from gaia_mcp.toolspec.schema import (
    MAX_PARTS,
    MAX_STEPS,
    NO_DEFAULT,
    argument_names,
    choices_of,
    default_of,
    needed_members,
    needed_of,
    parts_of,
    properties_of,
    required_of,
    resolved,
    titled_choices_of,
    types_of,
)

# Formats that are shown instead of `string`.
FORMATS = ("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid")
# The maximum length of the limits of one value, which a server may write with any number of digits.
LIMITS_CHARS = 60
# The keywords that limit a value, and the unit of what they count, by type. Any other word is the format of a string.
_LIMITS = {
    "integer": ("minimum", "maximum", ""),
    "number": ("minimum", "maximum", ""),
    "array": ("minItems", "maxItems", " of them"),
    "object": ("", "", ""),
    "boolean": ("", "", ""),
    "null": ("", "", ""),
}
_OF_TEXTS = ("minLength", "maxLength", " characters")
# The integers that JavaScript has: Zod writes these limits where there are none.
_OF_INTEGERS = {"minimum": -(2**53) + 1, "maximum": 2**53 - 1}
# The maximum length of a parameter in a signature that has to be shortened.
PARAMETER_CHARS = 40
# The placeholder for a text that only the user knows.
ANY_TEXT = "VALUE"
# The depth of nested lists; a list may contain itself.
MAX_NESTED = 8
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com",
}
# A tool's name says most about it, its description much, and its parameters a little.
_WEIGHTS = (8, 3, 1)
# One letter in four may be mistyped; below, `weather` would be taken for `create`.
_ALIKE = 0.75


def type_in_words(schema: Any, root: Any, *, limits: bool = False, members: bool = False) -> str:
    """A schema's type in a few words: `string`, `date`, `integer | null`, `"a" | "b"`, `array of string`; with
    `limits`, `integer (1 to 10)`; with `members`, `array of {name: string}` for an array of objects.

    `any` for a recursive type. Nested types are in brackets: `(array of string) | null`. Long or deep types are
    truncated.
    """
    return _in_words(schema, root, iter(range(MAX_STEPS)), _Detail(limits, members))


class _Detail(NamedTuple):
    """What is shown of a type: the limits of its values, and the members of objects."""

    limits: bool = False
    members: bool = False


# The number of alternatives or choices, and the depth of lists, that are shown: more would not be read.
SHOWN_PARTS, SHOWN_DEPTH = 8, 3


def _in_words(schema: Any, root: Any, steps: Iterator[int], detail: _Detail, depth: int = 0) -> str:
    schema = resolved(schema, root, steps)
    if choices := choices_of(schema):
        return _joined([json.dumps(choice, ensure_ascii=False) for choice in choices[:MAX_PARTS]], len(choices))
    kinds = types_of(schema)
    if schema.get("format") in FORMATS:
        kinds = [schema["format"] if kind == "string" else kind for kind in kinds]
    if kinds:
        return _joined([_kind_in_words(kind, schema, root, steps, detail, depth) for kind in kinds])
    for union in ("anyOf", "oneOf"):
        if isinstance(parts := schema.get(union), list) and parts:
            # A nested union is merged into this one.
            return _joined([_in_words(part, root, steps, detail, depth) for part in parts[:MAX_PARTS]], len(parts))
    return _kind_in_words("object", schema, root, steps, detail, depth) if "properties" in schema else "any"


def _kind_in_words(
    kind: str, schema: dict[str, Any], root: Any, steps: Iterator[int], detail: _Detail, depth: int
) -> str:
    words = kind
    if kind == "array":
        words = _list_in_words(schema, root, steps, detail, depth)
    elif kind == "object" and detail.members:
        words = _braced(schema, root, SHOWN_PARTS) or kind
    limits = limits_in_words(schema, kind) if detail.limits else ""
    return f"{words} ({limits})" if limits else words


def limits_in_words(part: dict[str, Any], kind: str) -> str:
    """The limits that one part of a schema has for values of this kind: `1 to 10`, `at most 20 characters`."""
    least, most, unit = _LIMITS.get(kind, _OF_TEXTS)
    keys = (least, most, "exclusiveMinimum", "exclusiveMaximum")
    part = {key: part[key] for key in keys if key in part and part[key] != _OF_INTEGERS.get(key)}
    texts = []
    if least in part and most in part:
        texts.append(f"{part[least]} to {part[most]}{unit}")
    elif unit and part.get(least) == 1:
        texts.append("not empty")
    elif least in part:
        texts.append(f"at least {part[least]}{unit}")
    elif most in part:
        texts.append(f"at most {part[most]}{unit}")
    if least == "minimum":
        exclusive = (("above", "exclusiveMinimum"), ("below", "exclusiveMaximum"))
        # In draft 4 these are true or false.
        texts += [f"{word} {part[key]}" for word, key in exclusive if type(part.get(key)) in (int, float)]
    return cut(", ".join(texts), LIMITS_CHARS)


def _list_in_words(schema: dict[str, Any], root: Any, steps: Iterator[int], detail: _Detail, depth: int) -> str:
    # The limits of the items would look like those of the list.
    detail = detail._replace(limits=False)
    inner = "any" if depth + 1 >= SHOWN_DEPTH else _in_words(schema.get("items"), root, steps, detail, depth + 1)
    if inner == "any":
        return "array"
    return f"array of ({inner})" if " | " in inner or inner.startswith("array of ") else f"array of {inner}"


def _joined(parts: list[str], count: int = 0) -> str:
    """The distinct types of a union with `count` members; a list type is in brackets."""
    different = list(dict.fromkeys(parts))
    if len(different) == 1 and count <= len(parts):
        return different[0]
    shown = [f"({part})" if part.startswith("array of ") else part for part in different[:SHOWN_PARTS]]
    more = len(different) - len(shown) + max(0, count - len(parts))
    return " | ".join([*shown, f"… {more} more"] if more else shown)


def members_in_words(schema: Any, root: Any) -> str:
    """The members of an object, or of the objects in a list: `{name: string, [n: integer]}`; empty if none is known."""
    parts = parts_of(schema, root)
    inner = [part for outer in parts if "items" in outer for part in parts_of(outer["items"], root)]
    for before, found in (("", parts), ("array of ", inner)):
        for part in found:
            if braced := _braced(part, root):
                return before + braced
    return ""


def _braced(part: dict[str, Any], root: Any, count: int | None = None) -> str:
    """The members that one part of a schema has, needed ones first, up to `count` of them; empty without one."""
    members = part.get("properties")
    if not isinstance(members, dict) or not members:
        return ""
    needed = [key for key in needed_members(part, root) if key in members]
    keys = list(dict.fromkeys([*needed, *members]))
    texts = [f"{key}: {type_in_words(members[key], root)}" for key in keys[:count]]
    texts = [text if key in needed else f"[{text}]" for key, text in zip(keys, texts, strict=False)]
    return f"{{{', '.join([*texts, '…'] if len(texts) < len(keys) else texts)}}}"


def signature(name: str, schema: Any, room: int | None = None) -> str:
    """`name(path: string, [limit: integer = 10])`: the parameters that a call needs first, the others in brackets.

    If that has more than `room` characters, limits and the members of objects are omitted, then long types, and `…`
    replaces the last parameters.
    """
    whole = f"{name}({', '.join(_parameters(schema, _Detail(limits=True, members=True)))})"
    if room is None or len(whole) <= room:
        return whole
    parts = _parameters(schema, _Detail())
    whole = f"{name}({', '.join(parts)})"
    if len(whole) <= room:
        return whole
    needed, known = dict.fromkeys(needed_of(schema)), properties_of(schema)
    kept: list[str] = []
    keys = [*needed, *(f"[{key}" for key in known if key not in needed)]
    for key, part in zip(keys, parts, strict=True):
        short = part if len(part) <= PARAMETER_CHARS else key + ("]" if key.startswith("[") else "")
        if len(f"{name}({', '.join([*kept, short])}, …)") > room:
            return f"{name}({', '.join([*kept, '…'])})"
        kept.append(short)
    return f"{name}({', '.join(kept)})"


def _parameters(schema: Any, detail: _Detail) -> list[str]:
    """The parameters of a signature, needed ones first."""
    needed, required = dict.fromkeys(needed_of(schema)), required_of(schema)
    known = properties_of(schema)
    parts = [f"{key}: {type_in_words(known.get(key), schema, **detail._asdict())}" for key in needed]
    for key, described in known.items():
        if key not in needed:
            default = default_of(described, schema, NO_DEFAULT)
            # Generators write null as the default of optional parameters; a required parameter's null is sent.
            is_shown = default is not NO_DEFAULT and (default is not None or key in required)
            shown = f" = {json.dumps(default, ensure_ascii=False)}" if is_shown else ""
            parts.append(f"[{key}: {type_in_words(described, schema, **detail._asdict())}{shown}]")
    return parts


def example_of(field: Any, root: Any) -> str:
    """A value that `field`, part of the schema `root`, allows; `VALUE` if none is known."""
    part = resolved(field, root)
    for _ in range(MAX_NESTED):
        if "array" in types_of(part):
            part = resolved(part.get("items"), root)
    choices = [choice for each in parts_of(part, root) for choice in choices_of(each)]
    choices += [value for value, _ in titled_choices_of(part)]
    default = default_of(part, root)
    for value in (*choices, default):
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (bool, int, float)):
            return str(value).lower()
    kinds = types_of(part)
    if "boolean" in kinds:
        return "true"
    if "integer" in kinds or "number" in kinds:
        return str(part.get("minimum", part.get("maximum", 1)))
    return _FORMATS.get(str(part.get("format")), ANY_TEXT)


# "person" is not the subject of "impersonation": a word that stands alone counts more than a part of another.
_WHOLE_WORD, _PART_OF_WORD = 3, 2


class SearchWord(NamedTuple):
    """A word in lower case, and the pattern that matches it as a whole word.

    The pattern of a glob matches the whole name.
    """

    text: str
    alone: re.Pattern[str]
    is_glob: bool


def search_words(words: Sequence[str]) -> list[SearchWord]:
    """The words of a search; one that contains spaces is several."""
    return [_search_word(text) for word in words for text in word.casefold().split()]


def _search_word(text: str) -> SearchWord:
    if "*" in text or "?" in text:
        return SearchWord(text, re.compile(fnmatch.translate(text)), is_glob=True)
    return SearchWord(text, re.compile(rf"(?<![^\W_]){re.escape(text)}(?![^\W_])"), is_glob=False)


def score(tool: Mapping[str, Any], words: Sequence[SearchWord], about: str = "") -> int:
    """How well `tool`, as a server defines it, matches `words`; 0 if it lacks one of them. `about`, such as the name of
    the server, counts as little as a parameter.
    """
    texts = (
        f"{tool['name']} {tool.get('title', '')}".casefold(),
        str(tool.get("description", "")).casefold(),
        " ".join([*argument_names(tool.get("inputSchema")), about]).casefold(),
    )
    total = 0
    for word in words:
        if word.is_glob:
            if not word.alone.fullmatch(tool["name"].casefold()):
                return 0
            total += _WEIGHTS[0] * _WHOLE_WORD
            continue
        text, weight = next((each for each in zip(texts, _WEIGHTS, strict=True) if word.text in each[0]), ("", 0))
        if not weight:
            return 0
        total += weight * (_WHOLE_WORD if word.alone.search(text) else _PART_OF_WORD)
    return total


def closest_words(tools: Sequence[Mapping[str, Any]], words: Sequence[SearchWord]) -> list[str]:
    """The words that the closest of `tools` matches, when none matches all: those of `words`, of which a mistyped one
    is replaced by the part of a tool's name that is most like it. Empty if there are none.
    """
    from difflib import get_close_matches

    parts = dict.fromkeys(part for tool in tools for part in re.split(r"[\W_]+", tool["name"].casefold()) if part)
    likely = []
    for word in words:
        if any(score(tool, [word]) for tool in tools):
            likely.append(word)
        elif not word.is_glob:
            near = get_close_matches(word.text, parts, n=1, cutoff=_ALIKE)
            likely += [_search_word(part) for part in near]
    matched = [[word.text for word in likely if score(tool, [word])] for tool in tools]
    return max(matched, key=len, default=[])
