"""Pasted text: server entries from READMEs and hosts' files. Pure.

Accepts whole files of every supported host, in JSON with comments, TOML or YAML; one entry, with or without its name;
a part without its outer braces; and any of these in a Markdown code block.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gaia_mcp.hosts import parsed, servers_in
from gaia_mcp.hosts.dialects import EDITOR, MEANT, OURS
from gaia_mcp.hosts.files import is_entry, layout_of
from gaia_mcp.hosts.known import HOSTS, HostProgram
from gaia_mcp.text import jsonc
from gaia_mcp.text.strict_json import TextProblemError

_BLOCK = re.compile(r"^[ \t]*```[^\n`]*\n(?P<inside>.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
# A TOML table, as in Codex's files, and a YAML mapping, as in those of Goose and Continue.
_TOML = re.compile(r"\[+[A-Za-z_][\w.\"-]*\]+[ \t]*(?:#.*)?$", re.MULTILINE)
_YAML = re.compile(r"[A-Za-z_]+:[ \t]*(?:#.*)?$", re.MULTILINE)
_LIST = re.compile(r"\[\s*[\]{\"\d]")
# The host whose format a single entry most likely has.
_USUAL = HOSTS["claude-code"]
# Hosts whose references may occur in an entry that otherwise looks like ours.
_EDITOR = HOSTS["cursor"]


class Pasted(NamedTuple):
    """A pasted entry: its name, if it has one, and the host whose format it probably has."""

    name: str | None
    raw: Any
    host: HostProgram


def looks_pasted(text: str) -> bool:
    """Whether the text is an entry, rather than a name or a command."""
    start = text.lstrip("\ufeff \t\r\n")
    return start.startswith(("{", '"', "```", "//", "/*")) or _LIST.match(start) is not None or bool(_TOML.match(start))


def read_pasted(text: str) -> list[Pasted]:
    """The entries in `text`, in order; none for an empty object of servers.

    Raises `TextProblemError` with line and column.
    """
    # Text copied from a web page may contain no-break spaces, which no command uses.
    text = text.removeprefix("\ufeff").replace("\u00a0", " ")
    try:
        document, kind = _document(_without_fences(text).rstrip().removesuffix(","))
        found = _entries(document, kind)
        # Values that JSON lacks must not reach our own file: infinities, dates, and nesting beyond the parser's limit.
        raws = json.loads(json.dumps([one.raw for one in found], allow_nan=False, default=str))
    except TextProblemError as problem:
        raise problem.placed(text) from problem.__cause__
    except (ValueError, RecursionError) as cause:
        raise TextProblemError("contains a value that JSON does not have") from cause
    return [one._replace(raw=raw) for one, raw in zip(found, raws, strict=True)]


def is_foreign(raw: Any) -> bool:
    """Whether an entry has to be converted: it has other names of members, other types, or other references to
    variables.
    """
    if not isinstance(raw, dict):
        return False
    if raw.keys() & (MEANT - frozenset((*OURS, "name", "source"))) or isinstance(raw.get("command"), (list, dict)):
        return True
    args, env, headers = raw.get("args"), raw.get("env"), raw.get("headers")
    values = [*(args if isinstance(args, list) else []), *_values(env), *_values(headers), raw.get("url")]
    pattern = EDITOR.pattern
    return any(
        isinstance(value, (int, float)) or (isinstance(value, str) and pattern is not None and pattern.search(value))
        for value in values
    )


def _values(held: Any) -> list[Any]:
    return list(held.values()) if isinstance(held, dict) else []


def _without_fences(text: str) -> str:
    """The content of the only code block of `text`, with everything else blanked, so that positions stay the same."""
    blocks = list(_BLOCK.finditer(text))
    if not blocks:
        return text
    if len(blocks) > 1:
        raise TextProblemError(f"has {len(blocks)} code blocks, where one is expected", at=blocks[1].start())
    start, end = blocks[0].span("inside")
    return re.sub(r"[^\n]", " ", text[:start]) + text[start:end]


def _document(text: str) -> tuple[Any, str]:
    """The value of a text, and its format."""
    start = text.lstrip()
    if _TOML.match(start):
        return parsed(text, "toml"), "toml"
    if _YAML.match(start):
        return parsed(text, "yaml"), "yaml"
    if not start:
        raise TextProblemError("is empty")
    is_inside = start.startswith('"')
    try:
        return jsonc.parse(f"{{{text}\n}}" if is_inside else text), "json"
    except TextProblemError as problem:
        at = problem.at if problem.at is None else min(max(problem.at - is_inside, 0), len(text))
        raise TextProblemError(_explained(text, at, problem.problem), at=at) from problem.__cause__


def _entries(document: Any, kind: str) -> list[Pasted]:
    if isinstance(document, list):
        return [Pasted(_name_in(item), item, _host_of(item, _USUAL)) for item in document]
    if not isinstance(document, dict):
        raise TextProblemError("does not contain an object", at=0)
    if _stands_alone(document):
        return [Pasted(_name_in(document), document, _host_of(document, _USUAL))]
    host, layout = layout_of(document, kind)
    if layout.root and layout.root[0] not in document:
        return [Pasted(_name_in(document), document, _USUAL)]  # Missing members are reported when it is read.
    host = host if layout.root else _USUAL
    return [Pasted(name, raw, _host_of(raw, host)) for name, raw in servers_in(document, layout).items()]


def _stands_alone(value: Any) -> bool:
    """Whether an object is an entry, of a host or of ours, rather than entries by their names."""
    return is_entry(value) or any(isinstance(value.get(key), (str, list)) for key in ("handler", "agent"))


def _name_in(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) and name else None


def _host_of(raw: Any, host: HostProgram) -> HostProgram:
    """The host whose references an entry contains: many READMEs use editors' references under Claude's key."""
    return _EDITOR if host is _USUAL and is_foreign(raw) else host


def _explained(text: str, at: int | None, problem: str) -> str:
    """The problem at this position, for the most frequent mistakes."""
    if at is None or problem.startswith(("is nested", "a comment")):
        return problem
    rest = text[at : at + 12]
    if not rest.strip():
        return "ends too early: a closing bracket or quote is missing"
    if rest[0] in "'`\u2018\u2019\u201c\u201d\u201e\u00ab":
        return f"{rest[0]} stands where JSON has a double quote"
    if (left_out := re.match(r"\.\.\.|\u2026|<[^>]*>?", text[at:])) is not None:
        return f"{left_out[0][:40]} stands for something that was left out"
    if problem == "goes on after its end" and rest[0] in "}]":
        return f"there is one {rest[0]} too many"
    if (word := re.match(r"True|False|None|undefined", rest)) is not None:
        known = {"True": "true", "False": "false"}.get(word[0], "null")
        return f"{word[0]} is not JSON, which has {known}"
    if "escape" in problem:
        return "a backslash in a text is written twice in JSON"
    if "control character" in problem and rest[0] in "\r\n":
        return "a text must end on the line on which it begins"
    return problem
