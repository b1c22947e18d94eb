"""The arguments of a call as a person types them in a shell, or as a model sends them in texts: `key=value`,
`key:=JSON`, `key=@FILE`, and options such as `--key value`.

A text is converted to the type of its parameter, and stays a string if the schema has none: text that looks like a
number becomes a number only for a numeric parameter. Dashes, underscores and capitals in an option are equivalent, if
no other key matches.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gaia_mcp.text.strict_json import DepthError, JSONTextError, RepeatedKeyError, is_same, kind_of, parse_json
from gaia_mcp.toolspec.schema import BRANCHES, choices_of, parts_of, properties_for, properties_of, resolved, types_of

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
# The order of preference if a schema allows several types: text first, and a number before a boolean for "1".
_PREFERENCE = ("string", "integer", "number", "boolean", "null", "array", "object")

# The maximum depth of nested lists into which a single value is wrapped; a recursive schema has no limit.
MAX_NESTED_LISTS = 8
# The digits of other scripts, `1_000` and `nan`, which Python reads as well, are text. Compiled when it is used: at a
# TAB few values are numbers.
_NUMBER = r"(?P<whole>[+-]?[0-9]+)|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
DASHES = "--"
# Words that may follow the option of a boolean as its value.
_TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})
# The maximum number of values that are looked at. Larger arguments come from programs, which send what they mean.
MAX_VALUES = 10_000


def typed_arguments(
    assignments: "Sequence[Assignment]",
    schema: Any,
    read_file: Callable[[str], str],
    base: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The arguments of a call: `base`, overridden by each assignment, in the type that `schema` gives its key.

    A repeated key becomes a list if the schema has one. `read_file` is called with the FILE of `key=@FILE`.
    Raises `ArgumentSyntaxError`.
    """
    known = properties_for(schema, {key: value for key, value, _ in assignments})
    extra = resolved(schema, schema).get("additionalProperties")
    arguments = dict(base or {})
    given: set[str] = set()
    for key, value, raw in assignments:
        wanted = known.get(key, extra if isinstance(extra, dict) else {})
        text = read_file(value[1:]) if value.startswith("@") and len(value) > 1 else value
        try:
            typed: Any = read_json(text, key) if raw else typed_value(text, wanted, schema)
        except RepeatedKeyError as error:
            raise key_twice(key, error) from None
        if key in given and _is_list(wanted, schema):
            before = arguments[key] if isinstance(arguments[key], list) else [arguments[key]]
            typed = [*before, *(typed if isinstance(typed, list) else [typed])]
        elif key in given:
            raise ArgumentSyntaxError(f"{key!r} is given twice")
        given.add(key)
        arguments[key] = typed
    return arguments


def typed_value(text: str, schema: Any, root: Any) -> Any:
    """`text` converted to the type of the schema; unchanged if that is impossible, so that validation reports it.

    Raises `RepeatedKeyError` for JSON with an object that repeats a key.
    """
    return _typed(text, schema, root, MAX_NESTED_LISTS)


_NOT = object()


def _typed(text: str, schema: Any, root: Any, depth: int) -> Any:
    parts = parts_of(schema, root)
    choices = [choice for part in parts for choice in choices_of(part)]
    if text in choices:
        return text
    is_free_text = any("string" in _types(part) for part in parts if not choices_of(part))
    if choices and not is_free_text and (chosen := _chosen(choices, text)) is not _NOT:
        return chosen
    kinds = _types(parts[0]) or [kind for part in parts for kind in _types(part)]
    for kind in _PREFERENCE:
        if kind in kinds:
            typed = _as_kind(text, kind, parts, root, depth)
            if typed is not _NOT:
                return typed
    return text


def _as_kind(text: str, kind: str, parts: list[dict[str, Any]], root: Any, depth: int) -> Any:
    if kind == "string":
        return text
    stripped = text.strip()
    if kind in ("integer", "number"):
        number = number_in(text)
        return _NOT if number is None or (kind == "integer" and isinstance(number, float)) else number
    if kind == "boolean":
        folded = stripped.lower()
        return True if folded in _TRUE else False if folded in _FALSE else _NOT
    if kind == "null":
        return None if stripped == "null" else _NOT
    opening = "[" if kind == "array" else "{"
    if stripped.startswith(opening):
        try:
            return parse_json(stripped, unique_keys=True)
        except RepeatedKeyError:
            raise
        except JSONTextError:
            return _NOT
    if kind == "object" or depth == 0:
        return _NOT
    items = next((part["items"] for part in parts if "items" in part), None)
    return [_typed(text, items, root, depth - 1)]


def _types(part: dict[str, Any]) -> list[str]:
    return types_of(part) or (["object"] if "properties" in part else [])


def _chosen(choices: list[Any], text: str) -> Any:
    try:
        value = parse_json(text, unique_keys=True)
    except JSONTextError:
        return _NOT
    return next((choice for choice in choices if is_same(choice, value)), _NOT)


def _is_list(schema: Any, root: Any) -> bool:
    return any("array" in _types(part) for part in parts_of(schema, root))


class Assignment(NamedTuple):
    """One argument as typed: `raw` for `:=`, whose value is JSON."""

    key: str
    value: str
    raw: bool


class ArgumentSyntaxError(ValueError):
    """An argument that is not `key=value`, or has invalid JSON as its value."""


class NotJSONError(ArgumentSyntaxError):
    """A value that is not JSON, often because the shell removed its quotation marks."""


def key_twice(where: str, error: RepeatedKeyError) -> ArgumentSyntaxError:
    """The error for JSON from `where` with a repeated key, since one of the values would be lost."""
    return ArgumentSyntaxError(f"{where}: the key {error.key!r} appears twice in one object")


def is_text(value: str) -> bool:
    """Whether `value` can be encoded in UTF-8. Python decodes invalid bytes as lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_assignment(text: str) -> Assignment:
    """The parts of `key=value` or `key:=JSON`. Raises `ArgumentSyntaxError`."""
    key, sign, value = text.partition("=")
    if not (key and sign):
        raise ArgumentSyntaxError(f"{text!r} is not key=value")
    is_raw = len(key) > 1 and key.endswith(":")
    return Assignment(key[:-1] if is_raw else key, value, is_raw)


def read_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object in `text`, whose source is `where`. Raises `ArgumentSyntaxError`."""
    value = read_json(text, where)
    if not isinstance(value, dict):
        raise ArgumentSyntaxError(f"{where} holds {kind_of(value)}, not a JSON object")
    return value


def read_json(text: str, where: str) -> Any:
    """The JSON value of `text`, whose source is `where`. Raises `ArgumentSyntaxError`, also for a repeated key and a
    lone surrogate.
    """
    if not is_text(text):
        raise ArgumentSyntaxError(f"{where}: not UTF-8")
    try:
        # Editors on Windows begin a file with a byte order mark.
        value = parse_json(text.removeprefix("\ufeff"), unique_keys=True)
    except DepthError:
        raise ArgumentSyntaxError(f"{where}: JSON nested too deeply") from None
    except RepeatedKeyError as error:
        raise key_twice(where, error) from None
    except JSONTextError as error:
        place = f" at column {error.column}" if error.column else ""
        raise NotJSONError(f"{where}: not JSON: {error.problem}{place}") from None
    if "\\" in text and not is_text(json.dumps(value, ensure_ascii=False)):
        raise ArgumentSyntaxError(f"{where}: half of a surrogate pair, which UTF-8 does not have")
    return value


def number_in(text: str) -> int | float | None:
    """The number that `text` is, blanks around it left aside: `3`, `+3`, `-3.5`, `.5`, `1e3`. None for any other text,
    also where the number is infinite as a float, or has more digits than Python reads.
    """
    found = re.fullmatch(_NUMBER, text.strip())
    if found is None:
        return None
    if found["whole"] is None:
        number = float(found[0])
        return number if abs(number) < float("inf") else None
    try:
        return int(found[0])
    except ValueError:
        return None


class NoKeyError(ArgumentSyntaxError):
    """A value without a key."""


class OptionUnknownError(ArgumentSyntaxError):
    """An option that is not an argument of the tool."""

    def __init__(self, option: str) -> None:
        super().__init__(f"no such option: {option}")
        self.option = option


class Argument(NamedTuple):
    """An argument as typed, in one or two words. `option` is its name after the dashes, empty if it was typed without
    them; `value` is the option's value, None if missing.
    """

    word: str
    option: str = ""
    value: str | None = None


class Given(NamedTuple):
    """The arguments of a call as typed; `base` is the JSON object among them, which the others override."""

    assignments: list[Assignment]
    base: dict[str, Any] | None


def read_arguments(words: Sequence[str], schema: Any = None) -> Given:
    """The arguments in `words`: assignments, options, and a JSON object.

    Without the schema, every option takes the following word as its value, if possible. Raises `ArgumentSyntaxError`.
    """
    assignments: list[Assignment] = []
    base: dict[str, Any] | None = None
    known = None if schema is None else properties_of(schema)
    for word, option, value in split_arguments(words, schema):
        if option:
            is_raw = option.endswith(":") and word.startswith(f"{DASHES}{option}=")
            name = option[:-1] if is_raw else option
            key = name if known is None else key_of(name, known)
            if key is None:
                raise OptionUnknownError(f"{DASHES}{name}")
            if value is None and known is not None:
                raise ArgumentSyntaxError(f"{DASHES}{name} needs a value")
            assignments.append(Assignment(key, value or "", is_raw))
        elif word.lstrip().startswith("{"):
            if base is not None:
                raise ArgumentSyntaxError("there are two JSON objects")
            base = read_object(word, "the arguments")
        elif word.startswith("-") and _key(word) not in (known or {}) and not (known is None and "=" in word):
            raise OptionUnknownError(word)
        elif "=" not in word:
            raise NoKeyError(f"{word!r} is not key=value")
        else:
            assignments.append(read_assignment(word))
    return Given(assignments, base)


def split_arguments(words: Sequence[str], schema: Any) -> Iterator[Argument]:
    """Each argument in `words`, whether it is complete or not. `schema` is None if it is unknown."""
    known = {} if schema is None else properties_of(schema)
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.removeprefix(DASHES).partition("=")
        if not (word.startswith(DASHES) and name) or _key(word) in known:
            yield Argument(word)
        elif equals:
            yield Argument(word, name, value)
        else:
            following = waiting[0] if waiting and not waiting[0].startswith(DASHES) else None
            key = key_of(name, known)
            if key is not None and _is_boolean(known[key], schema) and str(following).casefold() not in _TRUTHS:
                yield Argument(word, name, "true")
            else:
                yield Argument(word, name, waiting.pop(0) if following is not None else None)


def key_of(option: str, known: dict[str, Any]) -> str | None:
    """The key of an option without its dashes; None if no key matches, or several do."""
    if option in known:
        return option
    alike = [key for key in known if _folded(key) == _folded(option)]
    return alike[0] if len(alike) == 1 else None


def given_keys(words: Sequence[str], schema: Any) -> list[str]:
    """The keys that occur in `words`, even if these are invalid."""
    known = properties_of(schema)
    return [
        key_of(option, known) or option if option else _key(word)
        for word, option, _ in split_arguments(words, schema)
        if option or "=" in word
    ]


def _key(word: str) -> str:
    return word.partition("=")[0].removesuffix(":")


def _folded(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def _is_boolean(schema: Any, root: Any) -> bool:
    kinds = {kind for part in parts_of(schema, root) for kind in types_of(part)}
    return "boolean" in kinds and kinds <= {"boolean", "null"}


_KINDS = {
    bool: ("boolean",), int: ("integer", "number"), float: ("number",), list: ("array",), dict: ("object",),
    type(None): ("null",),
}  # fmt: skip


def without_texts(arguments: dict[str, Any], schema: Any) -> dict[str, Any]:
    """The arguments with the JSON value of each text for which the schema allows no text; `arguments` itself if there
    is none. The result may still be invalid.
    """
    found = _Reader(schema).read(arguments, schema)
    return found if isinstance(found, dict) else arguments


class _Reader:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = iter(range(MAX_VALUES))

    def read(self, value: Any, schema: Any) -> Any:
        """The value as the schema allows it, `value` itself if nothing is replaced."""
        return self._read(value, parts_of(schema, self._root, BRANCHES))

    def _read(self, value: Any, parts: list[dict[str, Any]]) -> Any:
        if next(self._left, None) is None:
            return value
        if isinstance(value, str):
            meant = _meant(value, parts)
            return value if isinstance(meant, str) else self._read(meant, parts)
        if isinstance(value, list):
            items = next((part["items"] for part in parts if isinstance(part.get("items"), dict)), None)
            inner = parts_of(items, self._root, BRANCHES)
            read = value if items is None else [self._read(each, inner) for each in value]
            return read if any(one is not other for one, other in zip(read, value, strict=True)) else value
        if isinstance(value, dict):
            changed = dict(self._changed_members(value, parts))
            return {**value, **changed} if changed else value
        return value

    def _changed_members(self, value: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
        for key, member in value.items():
            schemas = [own[key] for part in parts if isinstance(own := part.get("properties"), dict) and key in own]
            if schemas and (read := self.read(member, {"allOf": schemas})) is not member:
                yield key, read


def _meant(text: str, parts: list[dict[str, Any]]) -> Any:
    """The JSON value that `text` is, if the schema with these parts allows its type and no text; else `text`."""
    kinds = {kind for part in parts for kind in types_of(part)}
    kinds |= {kind for part in parts for choice in choices_of(part) for kind in _KINDS.get(type(choice), ("string",))}
    if not kinds or "string" in kinds:
        return text
    try:
        # Python's words for them, which programs in it write.
        value = (
            {"True": True, "False": False}[text] if text in ("True", "False") else parse_json(text, unique_keys=True)
        )
    except JSONTextError:
        return text
    return value if kinds.intersection(_KINDS.get(type(value), ())) else text
