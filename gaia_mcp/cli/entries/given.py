"""The servers that the words after `add` describe: a command, a URL, or an entry that is pasted, read from a file or
from standard input, and converted to our format; with or without a name.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.entries.building import anchored, command_of, on_this_system
from gaia_mcp.cli.entries.targets import raw_entry, served_code, suggested_name
from gaia_mcp.cli.options import own_words
from gaia_mcp.cli.screen import on_terminal
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import check_server_name
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.core.deadline import MAX_ENTRY_TIMEOUT_SECONDS
from gaia_mcp.core.errors import ConfigFileError, EntryError
from gaia_mcp.core.files import read_rest
from gaia_mcp.core.names import is_server_name, tidy_name, typeable
from gaia_mcp.core.paths import home_expanded
from gaia_mcp.hosts.conversion import entry_from
from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.pasted import is_foreign, looks_pasted, read_pasted
from gaia_mcp.importing import handler_files
from gaia_mcp.storage.atomic import read_bytes
from gaia_mcp.text.redaction import masked_arguments, masked_url
from gaia_mcp.text.strict_json import TextProblemError

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.served import Served
    from gaia_mcp.hosts.pasted import Pasted

# Far larger than any pasted text.
MAX_BYTES = 4 << 20
# A file with one of these suffixes is never a program.
_SUFFIXES = frozenset((".json", ".jsonc", ".toml", ".yaml", ".yml", ".md"))
_EXAMPLE = 'an entry looks like {"command": "uvx", "args": ["mcp-server-time"]}'


class Given(NamedTuple):
    """A server to be added: its name, its entry, and remarks on how the entry was read. `words` are the words of its
    command, if it was given as a command.
    """

    name: str
    entry: dict[str, Any]
    remarks: list[str]
    words: Sequence[str] = ()


class Options(NamedTuple):
    """The options for a server of a registry. `via` names a transport or package type; `settings` and the variables
    `env` are `NAME=VALUE` or `NAME`. `replaced` returns the entry that a name would replace, empty for a new name, and
    raises `ServerExistsError` if it must not be replaced.
    """

    via: str | None
    settings: Sequence[str]
    env: Sequence[str]
    replaced: Callable[[str], Mapping[str, Any]]


def given_servers(
    screen: Screen, name: str | None, words: Sequence[str], url: str | None, entry: str | None
) -> list[Given]:
    """The servers that the words describe, at least one; several only for a paste without a name, or a folder of
    handlers.

    Raises `UsageError`, `EntryError`, `AgentError`, and `ConfigFileError` for a file that cannot be read.
    """
    if name is not None and not words and url is None and entry is None and _is_content(name):
        words, name = [name], None
    ways = [what for what, value in (("a command", words), ("--url", url), ("--json", entry)) if value]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} cannot be used together", hint="give one of them")
    if name is not None and words and (_is_url(name) or looks_pasted(name)):
        turned = screen.line.to_type("add", words[0], more=shlex.quote(masked_url(name)) if _is_url(name) else "-")
        raise UsageError("the name of a server comes first", hint=f"give it first: {turned}")
    if name is not None:
        check_server_name(name)
    if entry is not None:
        is_elsewhere = entry == "-" or entry.startswith("@")
        return _pasted(screen, name, pasted_text(screen, entry) if is_elsewhere else Text(entry, "--json"))
    if url is not None:
        return [_named(screen.line, name, {"url": url})]
    if not words:
        raise _incomplete(screen.line, name)
    if looks_pasted(words[0]):
        # A shell splits JSON that is not quoted.
        return _pasted(screen, name, Text(" ".join(words), "the pasted text"))
    if len(words) == 1 and (is_pasted(words[0]) or (name is None and names_file(words[0]))):
        return _pasted(screen, name, pasted_text(screen, words[0]))
    if _is_url(words[0]):
        if len(words) > 1:
            raise UsageError(f"a URL takes no arguments, such as {words[1]!r}", hint="leave out what follows the URL")
        return [_named(screen.line, name, {"url": words[0]}, given=shlex.quote(masked_url(words[0])))]
    if len(words) == 1 and (code := _code(words[0])) is not None:
        if os.path.isdir(code.target):  # noqa: PTH112
            return _in_folder(screen.line, name, Path(code.target))
        return [_named(screen.line, name, raw_entry(code))]
    # Errors about a command line that cannot be split need a name.
    called = name or suggested_name({"command": words[0]}) or "NAME"
    started, remarks = on_this_system(command_of(called, list(words)))
    return [_named(screen.line, name, started, words)._replace(remarks=remarks)]


def check_options(servers: Sequence[Given], **options: Any) -> None:
    """Raise `UsageError` for an option that applies to a single server, if several servers are given."""
    given = next((name for name, value in options.items() if value), None)
    if given is not None and len(servers) > 1:
        hint = f"put the name of one of them first: {', '.join(server.name for server in servers)}"
        raise UsageError(f"--{given} is for one server, and {len(servers)} are given", hint=hint)


def starts_program(words: Sequence[str]) -> bool:
    """Whether words after two dashes, with no name before the dashes, are a command rather than a name and its command
    line.
    """
    return shutil.which(words[0]) is not None or (len(words) > 1 and words[1].startswith("-"))


def _is_content(word: str) -> bool:
    """Whether a single word describes a server, rather than naming one."""
    return _is_url(word) or is_pasted(word) or names_file(word) or bool(word.split()[1:]) or _code(word) is not None


def _code(word: str) -> Served | None:
    """The code that a word names; None for a program on PATH. Raises `AgentError` for a missing file."""
    return served_code(word) if shutil.which(word) is None else None


def _in_folder(line: CommandLine, name: str | None, folder: Path) -> list[Given]:
    """The handlers of a folder, each named after its file. Raises `HandlerError`, and `UsageError` for a given name."""
    if name is not None:
        hint = f"each is named by its file: {line.to_type('add', more=shlex.quote(str(folder)))}"
        raise UsageError(f"a folder of handlers takes no name, such as {name!r}", hint=hint)
    files, remarks = handler_files(folder)
    servers = [_named(line, None, {"handler": str(file)}) for file in files]
    _check_different(str(folder), servers)
    return [servers[0]._replace(remarks=remarks), *servers[1:]]


def _check_different(where: str, servers: Sequence[Given]) -> None:
    names = [server.name for server in servers]
    for twice in names:
        if names.count(twice) > 1:
            raise UsageError(f"{where} contains two servers called {twice!r}", hint="rename one of them there")


def _is_url(word: str) -> bool:
    return word.lower().startswith(URL_SCHEMES)


def _incomplete(line: CommandLine, name: str | None) -> UsageError:
    """The error for a name alone, and for no words at all."""
    if name is not None and shutil.which(name):
        own = suggested_name({"command": name}) or "NAME"
        hint = f"if that is the command: {line.to_type('add', own, more=f'-- {typeable(name)}')}"
    else:
        begun = line.to_type("add", name or "NAME", more="-- COMMAND [ARG...]")
        hint = f"give a URL, the entry as JSON, or a command: {begun}"
    return UsageError("no server to add given" if name is None else f"no command or URL given for {name!r}", hint=hint)


def _named(
    line: CommandLine, name: str | None, entry: dict[str, Any], words: Sequence[str] = (), given: str = "-"
) -> Given:
    """The server under its name, or under the name that its entry suggests. `given` repeats the input in the hint."""
    name = name or suggested_name(entry)
    if not name:
        again = line.to_type(
            "add", more=f"NAME -- {shlex.join(masked_arguments(list(words)))}" if words else f"NAME {given}"
        )
        raise UsageError("the server has no name, and nothing in it suggests one", hint=f"put a name first: {again}")
    return Given(name, entry, [], words)


def _pasted(screen: Screen, name: str | None, text: Text) -> list[Given]:
    found = pasted_entries(screen, text)
    if name is not None and len(found) > 1:
        meant = [one for one in found if one.name == name]
        if len(meant) != 1:
            listed = ", ".join(repr(one.name) for one in found)
            problem = f"{text.where} contains {len(found)} servers, but no {name!r}: {listed}"
            raise UsageError(problem, hint="give one of these names, or no name to add them all")
        found = meant
    servers = [_one(screen.line, name, one, text) for one in found]
    _check_different(text.where, servers)
    return servers


def _one(line: CommandLine, name: str | None, pasted: Pasted, text: Text) -> Given:
    theirs = pasted.name or ""
    entry, remarks = in_our_format(name or theirs or "pasted", pasted)
    # Without a file, paths in the text are relative to the working folder.
    entry = anchored(name or theirs or "pasted", entry, text.path or Path("pasted"))
    tidy = name or tidy_name(theirs)
    if theirs and not name and not is_server_name(theirs):
        remarks = [*remarks, f"is named {theirs!r} there"]
    if not tidy:
        # The text may contain secrets, so it is not repeated.
        tidy = _named(line, None, entry, given="-" if text.path is None else shlex.quote(f"@{text.path}")).name
    return Given(tidy, entry, [f"{tidy}: {told}" for told in remarks])


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


def pasted_text(screen: Screen, word: str) -> Text:
    """The text that `word` is or names. Raises `ConfigFileError`, and `UsageError` for standard input."""
    if word == "-":
        if on_terminal(sys.stdin):
            screen.remark("paste the entry here, and end it with Ctrl-D")
        return Text(_stdin_text(), "standard input")
    if looks_pasted(word):
        return Text(word, "the pasted text")
    path = home_expanded(Path(word.removeprefix("@")))
    data = read_bytes(path, MAX_BYTES, may_be_pipe=True)
    if data is None:
        hint = ""
        if word.startswith("@") and "/" in word:
            hint = f"add an npm package as a command: {screen.line.to_type('add', more=f'-- npx -y {typeable(word)}')}"
        raise ConfigFileError(path, "is not there", hint=hint or "check its path")
    try:
        return Text(data.decode("utf-8-sig"), str(path), path)
    except UnicodeDecodeError as cause:
        raise ConfigFileError(path, "is not UTF-8", hint="save it as UTF-8") from cause


def pasted_entries(screen: Screen, text: Text) -> list[Pasted]:
    """The pasted entries, at least one. Raises `UsageError`, and `ConfigFileError` for a file."""
    try:
        found = read_pasted(text.text)
        if not found:
            raise TextProblemError("contains no server")
    except TextProblemError as problem:
        # A shell removes all double quotes from JSON that is not quoted itself.
        is_stripped = text.where == "the pasted text" and '"' not in text.text
        hint = f"paste it as it is into: {screen.line.to_type('add', more='-')}" if is_stripped else _EXAMPLE
        line = text.text.strip()
        if own_words([line]) != [line] or not (looks_pasted(line) or "\n" in line or "{" in line or not line):
            line = " ".join(masked_arguments(line.split(" ")))
            hint = f"a command line is an argument: {screen.line.to_type('add', more=shlex.quote(line))}"
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
