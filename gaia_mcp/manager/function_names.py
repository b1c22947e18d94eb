"""Function names for the APIs of language models, which allow fewer names than MCP, and their tools.

Pure, except that it stores the assigned names: a model may use one long after.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

# OpenAI's rule for the name of a function.
MAX_LENGTH = 64
_ALLOWED = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
# Long enough that collisions are unlikely; on a collision another digest is used.
_DIGEST_DIGITS = 8


class FunctionNames:
    """A function name for each tool: the tool's own name if that is allowed and free.

    Otherwise invalid characters become `_`; a name that is too long, taken, or without a letter or digit gets a digest
    of the tool's name. An assigned name stays, unless a tool is added whose own name it is.
    """

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._tools: dict[str, str] = {}
        # The functions that have the wanted name.
        self._rightful: set[str] = set()

    def add(self, tools: Iterable[tuple[str, str]]) -> None:
        """Assign function names to `tools`, pairs of the tool's name and the preferred function name."""
        new = [(tool, wanted) for tool, wanted in tools if tool not in self._functions]
        # Own names first, so that no other tool takes one of them.
        for tool, wanted in new:
            if _ALLOWED.fullmatch(wanted) and wanted not in self._rightful:
                evicted = self._tools.get(wanted)
                self._give(tool, wanted)
                self._rightful.add(wanted)
                if evicted is not None:
                    self._give(evicted, self._free(evicted, wanted))
        for tool, wanted in new:
            if tool not in self._functions:
                self._give(tool, self._free(tool, wanted))

    def function_of(self, tool: str) -> str:
        """The function's name for a tool that was added."""
        return self._functions[tool]

    def tool_of(self, function: str) -> str | None:
        """The tool whose function has this name, None if there is none."""
        return self._tools.get(function)

    def _give(self, tool: str, function: str) -> None:
        self._functions[tool], self._tools[function] = function, tool

    def _free(self, tool: str, wanted: str) -> str:
        function = function_name(wanted)
        number = 1
        while function in self._tools:
            function = function_name(wanted, f"{tool}\0{number}")
            number += 1
        return function


def allowed_characters(name: str) -> str:
    """`name` with `_` in place of every invalid character."""
    return _NOT_IN_A_NAME.sub("_", name)


def function_name(wanted: str, source: str | None = None, room: int = MAX_LENGTH) -> str:
    """`wanted` as a valid function name of up to `room` characters; with `source`, it always ends with a digest of
    that.
    """
    readable = allowed_characters(wanted)
    if source is None:
        if len(readable) <= room and re.search("[A-Za-z0-9]", readable):
            return readable
        source = wanted
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    begin = readable[: room - _DIGEST_DIGITS - 1]
    return f"{begin if re.search('[A-Za-z0-9]', begin) else 'tool'}_{digest}"


def openai_function(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A function as an item of the `tools` of a chat completion, with the schema members that OpenAI requires."""
    has_all = "type" in schema and "properties" in schema
    parameters = schema if has_all else {"type": "object", "properties": {}, **schema}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
