"""Reads the descriptions of a function and its parameters from a docstring in Google, NumPy or Sphinx style."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import NamedTuple

_PARAMETERS = ("args", "arguments", "parameters", "params", "keyword args", "other parameters", "attributes")
# Sections that a model does not need, or that the result's schema describes.
_DROPPED = ("returns", "return", "yields", "yield", "raises", "warns")
_HEADING = re.compile(r"([A-Za-z][A-Za-z ]*):\s*$")
_UNDERLINE = re.compile(r"-{3,}\s*$")
# `name: text`, `name (type): text`, `*names: text`.
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\)\s*)?:\s*((?!\s).*)$")
# `name`, `name : type`, `first, second : type`.
_NUMPY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(
    r":(param|parameter|arg|argument|key|keyword|type|rtype|returns?|yields?|raises?|except|exception|var|ivar|cvar)"
    r"(?:\s+((?!\s)[^:]*))?:\s*((?!\s).*)$"
)


class Docstring(NamedTuple):
    """`description` is the text without the sections about parameters, results and exceptions."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Parses a docstring as written in the source."""
    return _Reader(cleandoc(text or "").split("\n")).read()


class _Reader:
    """Reads line by line; `_section` is the section that the line belongs to, empty for the description."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._kept: list[str] = []
        self._found: dict[str, list[str]] = {}
        self._section = ""
        self._is_numpy = False
        self._names: list[str] = []

    def read(self) -> Docstring:
        skip = False
        for number, line in enumerate(self._lines):
            after = self._lines[number + 1] if number + 1 < len(self._lines) else ""
            if skip:
                skip = False
            elif _UNDERLINE.match(after) and line.strip().lower() in (*_PARAMETERS, *_DROPPED):
                self._begin(line.strip().lower(), is_numpy=True)
                skip = True
            elif (heading := _HEADING.match(line)) and heading[1].lower() in (*_PARAMETERS, *_DROPPED):
                self._begin(heading[1].lower(), is_numpy=False)
            elif field := _SPHINX.match(line):
                self._begin_field(field[1], field[2] or "", field[3])
            else:
                if self._section and line and not line.startswith(" ") and not self._is_numpy:
                    self._section = ""  # A section ends with its indentation.
                elif self._is_numpy and _UNDERLINE.match(after):
                    self._section, self._is_numpy = "", False  # A heading that is kept, such as Notes.
                self._take(line)
        texts = {name: " ".join(lines).strip() for name, lines in self._found.items()}
        kept = re.sub(r"\n{3,}", "\n\n", "\n".join(self._kept)).strip()
        return Docstring(kept, {name: text for name, text in texts.items() if text})

    def _begin(self, section: str, *, is_numpy: bool) -> None:
        self._section, self._is_numpy, self._names = section, is_numpy, []

    def _begin_field(self, field: str, argument: str, text: str) -> None:
        """A Sphinx field: `:param name: text`, `:param type name: text`, `:returns: text`."""
        self._begin("field", is_numpy=False)
        if field in ("param", "parameter", "arg", "argument", "key", "keyword") and argument.split():
            self._names = [argument.split()[-1].lstrip("*")]
            self._add(text)

    def _take(self, line: str) -> None:
        if not self._section:
            self._kept.append(line)
        elif self._section not in (*_PARAMETERS, "field"):
            return
        elif self._section == "field":
            self._add(line)
        elif self._is_numpy:
            if line.startswith(" ") or not line:
                self._add(line)
            else:
                entry = _NUMPY.match(line)
                self._names = [name.strip().lstrip("*") for name in entry[1].split(",")] if entry else []
        elif line:
            self._take_google(line)

    def _take_google(self, line: str) -> None:
        indentation = len(line) - len(line.lstrip())
        entry = _GOOGLE.match(line.strip())
        if entry and (not self._names or indentation <= self._indentation):
            self._indentation = indentation
            self._names = [entry[1]]
            self._add(entry[2])
        else:
            self._add(line)

    def _add(self, text: str) -> None:
        for name in self._names:
            self._found.setdefault(name, []).append(text.strip())

    _indentation = 0
