"""Arguments typed like options: `--key value`, `--key=value`, and `--key` alone for a boolean. Pure.

The keys, and which of them take no value, are defined by the tool's schema. Dashes, underscores and capitals are
equivalent: `--dry-run` is `dryRun`, if no other key matches.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gaia_mcp.toolspec.arguments import ArgumentSyntaxError, Assignment, read_assignment, read_object
from gaia_mcp.toolspec.schema import parts_of, properties_of, types_of

DASHES = "--"
# Words that may follow the option of a boolean as its value.
_TRUTHS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0"})


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
