"""Pasted entries: read from an argument, a file or standard input, and converted to our format."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.entries.building import on_this_system
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.options import own_words
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.cli.screen.terminal import on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.entries import read_entry
from gaia_mcp.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.errors import ConfigFileError, EntryError
from gaia_mcp.filebytes import read_rest
from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.pasted import is_foreign, looks_pasted, read_pasted
from gaia_mcp.hosts.reading import entry_from
from gaia_mcp.jsontext import TextProblemError
from gaia_mcp.names import typeable
from gaia_mcp.paths import home_expanded
from gaia_mcp.redaction import masked_arguments
from gaia_mcp.storage.atomic import read_bytes

if TYPE_CHECKING:
    from gaia_mcp.hosts.pasted import Pasted

# Far larger than any pasted text.
MAX_BYTES = 4 << 20
# A file with one of these suffixes is never a program.
_SUFFIXES = frozenset((".json", ".jsonc", ".toml", ".yaml", ".yml", ".md"))
_EXAMPLE = 'an entry looks like {"command": "uvx", "args": ["mcp-server-time"]}'


class Text(NamedTuple):
    """A pasted text, the `path` of its file, if any, and `where` it comes from, as errors name it."""

    text: str
    where: str
    path: Path | None = None


def is_pasted(word: str) -> bool:
    """Whether a word is an entry, or names a source of one: `-`, `@FILE`, or an existing file such as `x.json`."""
    if word == "-" or (word.startswith("@") and len(word) > 1) or looks_pasted(word):
        return True
    try:
        return Path(word).suffix.lower() in _SUFFIXES and Path(word).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # The word is not a valid file name.
        return False


def names_file(word: str) -> bool:
    """Whether a word can only be the path of a file with entries, existing or not."""
    return "/" in word and word.endswith(tuple(_SUFFIXES))


def is_stream(word: str) -> bool:
    """Whether a word names a source that can be read only once: `-`, or a pipe or a device such as `<(command)`."""
    try:
        path = Path(word).expanduser()
        return word == "-" or path.is_fifo() or path.is_char_device()
    except (OSError, RuntimeError):
        return False  # The file cannot be examined; reading it reports the reason.


def pasted_text(word: str) -> Text:
    """The text that `word` is or names. Raises `ConfigFileError`, and `UsageError` for standard input."""
    if word == "-":
        if on_terminal(sys.stdin):
            remark("paste the entry here, and end it with Ctrl-D")
        return Text(_stdin_text(), "standard input")
    if looks_pasted(word):
        return Text(word, "the pasted text")
    path = home_expanded(Path(word.removeprefix("@")))
    data = read_bytes(path, MAX_BYTES, may_be_pipe=True)
    if data is None:
        hint = ""
        if word.startswith("@") and "/" in word:
            hint = f"add an npm package as a command: {to_type('add', more=f'-- npx -y {typeable(word)}')}"
        raise ConfigFileError(path, "is not there", hint=hint or "check its path")
    try:
        return Text(data.decode("utf-8-sig"), str(path), path)
    except UnicodeDecodeError as cause:
        raise ConfigFileError(path, "is not UTF-8", hint="save it as UTF-8") from cause


def pasted_entries(text: Text) -> list[Pasted]:
    """The pasted entries, at least one. Raises `UsageError`, and `ConfigFileError` for a file."""
    try:
        found = read_pasted(text.text)
        if not found:
            raise TextProblemError("contains no server")
    except TextProblemError as problem:
        # A shell removes all double quotes from JSON that is not quoted itself.
        is_stripped = text.where == "the pasted text" and '"' not in text.text
        hint = f"paste it as it is into: {to_type('add', more='-')}" if is_stripped else _EXAMPLE
        line = text.text.strip()
        if own_words([line]) != [line] or not (looks_pasted(line) or "\n" in line or "{" in line or not line):
            line = " ".join(masked_arguments(line.split(" ")))
            hint = f"a command line is an argument: {to_type('add', more=shlex.quote(line))}"
        if text.path is not None:
            raise ConfigFileError(
                text.path, problem.problem, line=problem.line, column=problem.column, hint=hint
            ) from problem
        place = f", line {problem.line}, column {problem.column}:" if problem.line else ""
        raise UsageError(f"{text.where}{place} {problem.problem}", hint=hint) from problem
    return found


def in_our_format(name: str, pasted: Pasted) -> tuple[dict[str, Any], list[str]]:
    """An entry in our format, with remarks. An entry in another host's format, or for Windows, is converted; any other
    stays as pasted.

    Raises `EntryError`.
    """
    if not is_foreign(pasted.raw):
        entry, remarks = _in_seconds(pasted.raw)
        read_entry(name, entry)
        entry = {key: value for key, value in entry.items() if key != "name"}
    else:
        try:
            entry, remarks = entry_from(pasted.raw, pasted.host.dialect)
        except NotCarriedError as problem:
            raise EntryError(name, str(problem)) from problem
    entry, more = on_this_system(entry)
    return entry, [*remarks, *more]


def _in_seconds(raw: Any) -> tuple[Any, list[str]]:
    """An entry whose `timeout` is converted from milliseconds, as other hosts use, if it is far too long in seconds."""
    timeout = raw.get("timeout") if isinstance(raw, dict) else None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        return raw, []
    if not MAX_ENTRY_TIMEOUT_SECONDS < timeout <= MAX_ENTRY_TIMEOUT_SECONDS * 1000:
        return raw, []
    seconds = timeout / 1000
    whole = int(seconds) if seconds == int(seconds) else seconds
    return {**raw, "timeout": whole}, [
        f"its timeout of {timeout} is read as milliseconds, and saved as {whole} seconds"
    ]


def _stdin_text() -> str:
    try:
        return read_rest(sys.stdin.buffer, MAX_BYTES).decode("utf-8-sig")
    except OSError as cause:
        raise UsageError(f"standard input cannot be read: {cause.strerror}", hint=_EXAMPLE) from None
    except UnicodeDecodeError:
        raise UsageError("standard input is not UTF-8", hint=_EXAMPLE) from None
