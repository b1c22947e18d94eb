"""The servers of a registry, or of a `server.json` file: recognized after `add`, with the choice of a package or
remote, and its inputs; searched for `search --registry`; and compared with the entries that were made from them for
`list --outdated`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.catalog import MAX_NAME_CHARS, Document, DocumentError, Input, read_document
from gaia_mcp.catalog.packages import InputError, Way, asked_of, entry_of, missing, reference, unusable, ways_of
from gaia_mcp.catalog.registry import LATEST, OFFICIAL_URL, Registry, without_credentials
from gaia_mcp.cli.calls.elicitation import TerminalDialog, ask_value, can_ask
from gaia_mcp.cli.entries.given import Given, is_pasted, is_stream, names_file, pasted_text
from gaia_mcp.cli.entries.targets import suggested_name
from gaia_mcp.cli.screen import columns, fitted
from gaia_mcp.cli.screen.session_view import SessionView
from gaia_mcp.cli.status import UsageError
from gaia_mcp.config.targets import URL_SCHEMES
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, Deadline
from gaia_mcp.core.errors import CatalogError, EntryError, MCPError, ToolError
from gaia_mcp.core.names import tidy_name
from gaia_mcp.hosts.pasted import looks_pasted
from gaia_mcp.text import one_line
from gaia_mcp.text.redaction import masked_arguments, masked_members, masked_url
from gaia_mcp.text.strict_json import JSONTextError, parse_json

if TYPE_CHECKING:
    from gaia_mcp.cli.entries.given import Options
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry

# The variables with the URL of a registry other than the official one, and a token for it.
VARIABLE = "GAIA_MCP_REGISTRY"
TOKEN_VARIABLE = "GAIA_MCP_REGISTRY_TOKEN"  # noqa: S105 (its name)
# The member of an entry that records the document it was made from, and the settings that were used.
REGISTRY = "registry"
# A reversed domain and a name, possibly with a version. A domain that ends with one of these, and does not begin with
# one, is not reversed: the word is then a URL without its scheme.
_TOP_DOMAINS = frozenset(("ai", "app", "cloud", "co", "com", "de", "dev", "eu", "io", "me", "net", "org", "sh", "uk"))
_PUBLISHED = r"(?P<name>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+/[A-Za-z0-9._-]+)(?:@(?P<version>[^\s/@]{1,255}))?"
# With more results, a narrower search helps more.
MAX_FOUND = 100
# The limit for a description after a name.
DESCRIPTION_CHARS = 100
# A registry is one service; more concurrent requests would not be answered sooner.
_AT_ONCE = 8


def open_registry(option: str | None, deadline: Deadline | None) -> Registry:
    """The registry to use: the one of `--registry` or an entry, the one in the environment, or the official one.

    The environment's token, and credentials in its URL, are used only for the environment's registry. Raises
    `RegistryError`.
    """
    named = os.environ.get(VARIABLE) or OFFICIAL_URL
    deadline = deadline or Deadline(DEFAULT_TIMEOUT_SECONDS)
    if option is not None and option.rstrip("/") not in (named.rstrip("/"), without_credentials(named).rstrip("/")):
        return Registry(option, deadline)
    is_chosen = named.rstrip("/") != OFFICIAL_URL
    return Registry(named, deadline, os.environ.get(TOKEN_VARIABLE, "") if is_chosen else "")


def from_registry(
    screen: Screen,
    called: str | None,
    name: str,
    version: str,
    registry: str | None,
    options: Options,
    deadline: Deadline | None,
) -> Given:
    """The server `name` of a registry, to be saved as `called`. An empty `version` selects the newest one.

    Raises as `from_document` does, `RegistryError`, `RegistryUnknownError`, `DeadlineError`.
    """
    with open_registry(registry, deadline) as opened, SessionView(screen, f"reading {masked_url(opened.url)}"):
        document = opened.document(name, version or LATEST)
    origin = {"name": document.name, "version": document.version}
    if opened.url != OFFICIAL_URL:
        origin["url"] = opened.url
    return _given(screen, called, document, origin, options)


def from_document(screen: Screen, called: str | None, held: Any, options: Options) -> Given:
    """The server that a parsed `server.json` file describes, to be saved as `called`.

    Raises `CatalogError` for a document that cannot become an entry, and `UsageError` for an invalid or missing option.
    """
    try:
        document = read_document(held)
    except DocumentError as problem:
        name = one_line(str(held.get("name", "server.json")), MAX_NAME_CHARS)
        raise CatalogError(name, str(problem)) from None
    return _given(screen, called, document, {"name": document.name, "version": document.version}, options)


def _given(screen: Screen, name: str | None, document: Document, origin: Mapping[str, str], options: Options) -> Given:
    domain, _, own = document.name.rpartition("/")
    # Many owners name their server `mcp` or `mcp-server`.
    telling = domain.rpartition(".")[2] if re.fullmatch(r"(?:mcp|server|[-_.])+", own.lower()) else own
    called = name or suggested_name({"command": telling}) or tidy_name(own)
    ways = _offered(screen.line, document, options.via)
    before = options.replaced(called) if called else {}
    named = noted_before(before, document.name).get("via")
    way = _chosen(screen, document, ways, named)
    given = {**given_before(before, document.name, way), **_values(options, way)}
    open_inputs = missing(way.inputs, given)
    if open_inputs and can_ask():
        given |= _asked(screen, open_inputs)
    elif open_inputs:
        raise _incomplete(screen.line, document, open_inputs)
    try:
        entry = entry_of(way, given, [item.partition("=")[0] for item in options.env])
    except InputError as problem:
        option = "--env" if problem.name in [one.name for one in way.variables] else "--setting"
        hint = f"write {option} {problem.name}={problem.example}"
        raise UsageError(f"{document.name}: {problem}", hint=hint) from None
    except DocumentError as problem:
        raise CatalogError(document.name, str(problem)) from None
    if document.status != "active":
        told = f": {one_line(document.status_message, 300)}" if document.status_message else ""
        screen.remark(f"{document.name} {document.version} is {document.status}{told}")
    screen.remark(f"{one_line(document.name)} {one_line(document.version)} is {_described(entry)}")
    settings = noted(way, given)
    note = {
        **origin,
        **({"via": way.name} if way.name in (options.via, named) else {}),
        **({"settings": settings} if settings else {}),
    }
    return Given(called or suggested_name(entry), {**entry, REGISTRY: note}, [])


def _offered(line: CommandLine, document: Document, via: str | None) -> list[Way]:
    """The packages and remotes of the document, or those that the option names."""
    ways = ways_of(document, lambda program: shutil.which(program) is not None)
    if not ways:
        offered = ", ".join(unusable(document)) or "no package and no URL"
        problem = f"cannot be started here: it has only {one_line(offered)}"
        raise CatalogError(document.name, problem, hint=_instead(line, document))
    found = [way for way in ways if via in (None, way.name)]
    if not found:
        names = dict.fromkeys(way.name for way in ways)
        raise UsageError(f"{document.name} cannot be reached by {via!r}", hint=f"use one of: {', '.join(names)}")
    return found


def _chosen(screen: Screen, document: Document, ways: Sequence[Way], before: object) -> Way:
    """The one with the name `before`, otherwise the best one."""
    names = list(dict.fromkeys(way.name for way in ways))
    if before in names:
        return next(way for way in ways if way.name == before)
    # Prefer a program that is installed, then a remote server, then a program that must be installed first.
    ready = (way for way in ways if way.program and shutil.which(way.program))
    remote = (way for way in ways if not way.program)
    chosen = next(ready, None) or next(remote, None) or ways[0]
    if len(names) > 1:
        others = ", ".join(f"--via {one}" for one in names if one != chosen.name)
        screen.remark(f"{document.name} is used by {chosen.name}; alternatives: {others}")
    return chosen


def _values(options: Options, way: Way) -> dict[str, str]:
    """The values that the options give, by the names of the inputs. Raises `UsageError` for an unknown input."""
    known = [one.name for one in asked_of(way.inputs)]
    values: dict[str, str] = {}
    for item in options.settings:
        name, equals, value = item.partition("=")
        if name not in known:
            hint = f"its settings: {', '.join(known)}" if known else "leave it out"
            raise UsageError(f"--setting {name!r} is not a setting of the server", hint=hint)
        if name in values:
            raise UsageError(f"--setting {name!r} is given twice", hint="leave one of them out")
        values[name] = value if equals else reference(name)
    for item in options.env:
        name, equals, value = item.partition("=")
        values[name] = value if equals else f"${{{name}}}"
    return values


def _asked(screen: Screen, inputs: Sequence[Input]) -> dict[str, str]:
    """Ask a person for the value of each input. For a secret, the answer is the name of the variable that holds it."""
    import typer

    values: dict[str, str] = {}
    with SessionView(screen, "") as view:
        view.hide()
        dialog = TerminalDialog(view)
        try:
            for one in inputs:
                values[one.name] = _answer(one, dialog)
        except EOFError:
            dialog.tell("")
            screen.remark("nothing was saved")
            raise typer.Abort from None
    return values


def _answer(one: Input, dialog: TerminalDialog) -> str:
    if one.is_secret:
        usual = reference(one.name)[2:-1]
        title = f"{one.name}: the variable that holds this secret{_as_in(one)}"
        field = {"type": "string", "title": title, "default": usual, "description": one.description}
        while True:
            variable = ask_value(one.name, field, field, dialog, is_required=True)
            # A secret pasted here must not be saved. Many secrets would be valid variable names, but not of this form.
            if variable in os.environ or re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", variable):
                return f"${{{variable}}}"
            dialog.tell(f"  export it in a variable first, and give the name of that variable, such as {usual}")
    field = {"type": "string", "description": one.description or one.placeholder}
    if one.choices:
        field["enum"] = list(one.choices)  # type: ignore[assignment]
    return str(ask_value(one.name, field, field, dialog, is_required=True))


def _incomplete(line: CommandLine, document: Document, inputs: Sequence[Input]) -> UsageError:
    named = ", ".join(
        f"{one_line(one.name)} ({one_line(one.description, 100)})" if one.description else one_line(one.name)
        for one in inputs
    )
    options = [
        word for one in inputs for word in ("--setting", one.name if one.is_secret else f"{one.name}={_example(one)}")
    ]
    secrets = [one for one in inputs if one.is_secret]
    told = f"; a secret is read from a variable{''.join(map(_as_in, secrets))}" if secrets else ""
    return UsageError(f"{document.name} needs {named}{told}", hint=line.again("give that", *options))


def _as_in(secret: Input) -> str:
    """An example of the secret, for a document that leaves the whole header to the user."""
    return ", as in Bearer TOKEN" if secret.name.lower() == "authorization" else ""


def _instead(line: CommandLine, document: Document) -> str:
    """A hint for packages that this program does not run; empty for the usual one."""
    # A bundle is a prebuilt program: it must not be downloaded and unpacked merely because its name was typed.
    bundles = [package.identifier for package in document.packages if package.kind == "mcpb"]
    if bundles:
        import platform

        url = next((each for each in bundles if platform.system().lower() in each.lower()), bundles[0])
        added = line.to_type("add", more="NAME -- COMMAND")
        return f"unpack {one_line(url)}, and add the command in its manifest.json: {added}"
    for package in document.packages:
        if package.url:
            url = one_line(package.url) if "{" not in package.url else "URL"
            return f"start it as its documentation says, and add its URL: {line.to_type('add', 'NAME', url)}"
    return ""


def _example(one: Input) -> str:
    return one.choices[0] if one.choices else "VALUE"


def _described(entry: Mapping[str, Any]) -> str:
    """The command or the URL of the entry, on one line without secrets."""
    if "url" in entry:
        return masked_url(entry["url"])
    variables = [f"{name}={shlex.quote(value)}" for name, value in masked_members(entry.get("env", {})).items()]
    return " ".join([*variables, shlex.join([entry["command"], *masked_arguments(entry["args"])])])


def noted(way: Way, given: Mapping[str, str]) -> dict[str, str]:
    """The values in `given` that an entry must record. Variables are in the entry already. A secret is recorded only if
    it is a reference to a variable.
    """
    variables = {one.name for one in way.variables}
    return {
        one.name: given[one.name]
        for one in asked_of(way.inputs)
        if one.name in given
        and one.name not in variables
        and not (one.is_secret and re.fullmatch(r"\$\{\w+\}", given[one.name]) is None)
    }


def noted_before(entry: Mapping[str, Any], server: str) -> Mapping[str, Any]:
    """The record in an entry that was made from a document about `server`; empty for any other entry."""
    held = entry.get(REGISTRY)
    return held if isinstance(held, dict) and held.get("name") == server else {}


def given_before(entry: Mapping[str, Any], server: str, way: Way) -> dict[str, str]:
    """The values for the inputs of `way` in an `entry` that was made from a document about `server`."""
    note = noted_before(entry, server)
    settings, env = note.get("settings"), entry.get("env") if note else None
    known = {one.name for one in asked_of(way.inputs)}
    held = {**(env if isinstance(env, dict) else {}), **(settings if isinstance(settings, dict) else {})}
    return {name: value for name, value in held.items() if name in known and isinstance(value, str)}


def published_server(
    screen: Screen,
    name: str | None,
    words: Sequence[str],
    registry: str | None,
    options: Options,
    deadline: Deadline | None,
) -> Given | None:
    """The server that the words name; None if they do not name one.

    Raises `UsageError` for an option that applies only to such a server, and as `from_registry` and `from_document` do.
    """
    word = words[0] if len(words) == 1 else name if not words else None
    called = name if words else None
    match = re.fullmatch(_PUBLISHED, word) if word is not None and not _is_address(word) else None
    if word is not None and match is not None and not os.path.exists(word):  # noqa: PTH110
        return from_registry(screen, called, match["name"], match["version"] or "", registry, options, deadline)
    # A source that can be read only once is left to the caller.
    is_file = word is not None and not (is_stream(word.removeprefix("@")) or looks_pasted(word))
    if word is not None and is_file and (is_pasted(word) or names_file(word)):
        try:
            held = parse_json(pasted_text(screen, word).text)
        except JSONTextError:
            held = None
        if isinstance(held, dict) and "mcpServers" not in held and _is_document(held):
            return from_document(screen, called, held, options)
    for option, value in (("--via", options.via), ("--registry", registry)):
        if value is not None:
            raise UsageError(f"{option} is for a server of a registry", hint="name it as io.github.owner/server")
    return None


def _is_document(held: dict[str, Any]) -> bool:
    """Whether an object is a registry's document, rather than entries by their names, of which one has such a name."""
    return any(not isinstance(held[member], dict) for member in ("packages", "remotes") if member in held)


def _is_address(word: str) -> bool:
    labels = word.partition("/")[0].lower().split(".")
    return labels[-1] in _TOP_DOMAINS and labels[0] not in _TOP_DOMAINS


def print_published(screen: Screen, words: list[str], deadline: Deadline | None) -> None:
    """Print the newest versions of the servers that match all of `words`, of which the first may be the registry's URL.

    Raises `ToolError` if there are none, `UsageError` without a word, `RegistryError`, `DeadlineError`.
    """
    url = words[0] if words[0].lower().startswith(URL_SCHEMES) else None
    wanted = words[1:] if url else words
    if not any(wanted):
        raise UsageError("no search words given", hint="give a word of the server's name or description")
    with open_registry(url, deadline) as registry, SessionView(screen, f"searching {masked_url(registry.url)}"):
        found = list(islice(registry.search(wanted), MAX_FOUND + 1))
    is_complete, found = len(found) <= MAX_FOUND, found[:MAX_FOUND]
    # Servers whose name matches come first, then those whose description matches.
    found.sort(key=lambda one: not all(word.casefold() in one.name.rpartition("/")[2].casefold() for word in wanted))
    if not found:
        hint = "the registry looks for the longest word in names; use another, or a part of it"
        raise ToolError(f"no server of {masked_url(registry.url)} matches {' '.join(wanted)!r}", hint=hint)
    if screen.as_json:
        screen.print_json({"servers": [_object(one) for one in found], "complete": is_complete})
        return
    for one in found:
        name = f"{one_line(one.name)} {one_line(one.version)}"
        screen.print_line(fitted(f"{name}  {one_line(one.description, DESCRIPTION_CHARS)}".rstrip(), name))
    if not is_complete:
        screen.remark(f"only the first {MAX_FOUND} are shown; more words find fewer")
    screen.remark(f"add one with: {screen.line.to_type('add', one_line(found[0].name))}")


def _object(one: Document) -> dict[str, Any]:
    shown = {"name": one.name, "version": one.version, "title": one.title, "description": one.description}
    return {**shown, "status": one.status, "via": list(dict.fromkeys(way.name for way in ways_of(one)))}


class Added(NamedTuple):
    """A server that was added from a registry: its name here, its name and version there, and the registry's URL, None
    for the official registry.
    """

    name: str
    published: str
    version: str
    url: str | None


def print_outdated(screen: Screen, entries: Mapping[str, ServerEntry | EntryError], deadline: Deadline | None) -> None:
    """Print each server that has a newer version, or all as JSON. Finally reports the errors of the registries."""
    added = [one for entry in entries.values() if (one := _added(entry)) is not None]
    deadline = deadline or Deadline(DEFAULT_TIMEOUT_SECONDS)
    with SessionView(screen, f"checking {len(added)} servers"), ThreadPoolExecutor(_AT_ONCE) as threads:
        newest = list(threads.map(lambda one: _newest(one, deadline), added))
    if screen.as_json:
        screen.print_json({"servers": [_row(screen, one, found) for one, found in zip(added, newest, strict=True)]})
    else:
        _print(screen, added, newest)
    screen.fail_with(found for found in newest if isinstance(found, MCPError))


def _added(entry: ServerEntry | EntryError) -> Added | None:
    noted = entry.raw.get(REGISTRY) if not isinstance(entry, EntryError) else None
    if isinstance(entry, EntryError) or not isinstance(noted, dict):
        return None
    name, version, url = (noted.get(key) for key in ("name", "version", "url"))
    if not isinstance(name, str) or not isinstance(version, str):
        return None
    return Added(entry.name, name, version, url if isinstance(url, str) else None)


def _newest(one: Added, deadline: Deadline) -> Document | MCPError:
    try:
        with open_registry(one.url, deadline) as registry:
            return registry.document(one.published)
    except MCPError as error:
        return error


def _is_outdated(one: Added, found: Document) -> bool:
    return found.version != one.version or found.status != "active"


def _row(screen: Screen, one: Added, found: Document | MCPError) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "registry": one.published, "version": one.version}
    if isinstance(found, MCPError):
        return {**row, "error": screen.error_object(found)}
    return {**row, "latest": found.version, "status": found.status, "outdated": _is_outdated(one, found)}


def _print(screen: Screen, added: Sequence[Added], newest: Sequence[Document | MCPError]) -> None:
    outdated = [
        (one, found)
        for one, found in zip(added, newest, strict=True)
        if not isinstance(found, MCPError) and _is_outdated(one, found)
    ]
    if not added:
        screen.remark("no server was added from a registry")
    elif not outdated and not any(isinstance(found, MCPError) for found in newest):
        screen.remark("all servers from a registry have their newest versions")
    rows = [
        [one.name, one_line(one.version), one_line(found.version), "" if found.status == "active" else found.status]
        for one, found in outdated
    ]
    for line in columns(rows):
        screen.print_line(line.rstrip())
    if outdated:
        first, _ = outdated[0]
        screen.remark(
            f"add the new version with: {screen.line.to_type('add', first.name, first.published, more='--force')}"
        )
