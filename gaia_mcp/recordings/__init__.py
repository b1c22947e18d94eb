"""Recorded conversations: a file format, their division into requests and responses, and a replay. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import encode, parse

FORMAT = "gaia-mcp-conversation"
VERSION = 1
CLIENT, SERVER = "client", "server"


class TranscriptLine(NamedTuple):
    """One line that was sent: a JSON value, or its `text` if it was not JSON, `ms` milliseconds after the start."""

    sender: str
    message: Any
    text: str | None
    ms: int


class Transcript(NamedTuple):
    """One conversation: the server, the start time, and the lines that were sent."""

    server: str
    date: str
    lines: list[TranscriptLine]


class TranscriptError(ValueError):
    """The file is not a recorded conversation; `line` is the number of the invalid line."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def header_line(server: str, date: str) -> bytes:
    """The line that begins a conversation."""
    return encode({"format": FORMAT, "version": VERSION, "server": server, "date": date})


def message_line(sender: str, record: bytes, ms: int, mask: Callable[[Any], Any]) -> bytes:
    """The line for a record that was sent; `mask` removes the secrets from a JSON value."""
    try:
        return encode({"from": sender, "message": mask(parse(record)), "ms": ms})
    except ValueError:
        # Not JSON, or valid only for Python's parser, such as NaN, or nested too deeply to be encoded again.
        return encode({"from": sender, "text": mask(record.decode("utf-8", "replace")), "ms": ms})


def read_transcripts(data: bytes) -> tuple[list[Transcript], bool]:
    """The conversations of a file, and whether its last line was incomplete and therefore left out.

    Raises `TranscriptError`.
    """
    *lines, last = data.split(b"\n")
    found: list[Transcript] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse(line)
        except ValueError as cause:
            raise TranscriptError(f"not JSON: {cause}", number) from cause
        if not isinstance(row, dict):
            raise TranscriptError("not an object", number)
        if "format" in row:
            found.append(_header(row, number))
        elif not found:
            raise TranscriptError("not the header of a recorded conversation", number)
        else:
            found[-1].lines.append(_line(row, number))
    if not found:
        raise TranscriptError("no recorded conversation", 1)
    return found, bool(last.strip())


def _header(row: dict[str, Any], number: int) -> Transcript:
    version = row.get("version")
    if row["format"] != FORMAT or not isinstance(version, int):
        raise TranscriptError("not the header of a recorded conversation", number)
    if version > VERSION:
        raise TranscriptError(f"recorded by a newer version of this program: {json.dumps(version)}", number)
    return Transcript(str(row.get("server", "")), str(row.get("date", "")), [])


def _line(row: dict[str, Any], number: int) -> TranscriptLine:
    sender, text, ms = row.get("from"), row.get("text"), row.get("ms", 0)
    if sender not in (CLIENT, SERVER) or not ("message" in row or isinstance(text, str)):
        raise TranscriptError("neither a message nor a text of the client or the server", number)
    ms = ms if isinstance(ms, int) else 0
    return TranscriptLine(sender, row.get("message"), None if "message" in row else text, ms)
