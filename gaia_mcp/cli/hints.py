"""The hint that a command prints under an error: the next command to type.

An error of the library holds plain values, independent of the command line. For each class, or for one of its cases, a
function here makes the hint from those values, also after a failed login; what a server itself answered is in
`cli/refusals`. A hint that the error itself has takes precedence.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.lines import CommandLine, again, command_after, how_to_begin, to_type, unsaved
from gaia_mcp.cli.refusals import (
    NEW_HEADER,
    URL_CASES,
    about_variables,
    after_error,
    after_loss,
    after_status,
    how_to_reach,
    in_entry,
    is_unreached,
)
from gaia_mcp.cli.signals import shortage_told
from gaia_mcp.core.errors import (
    AgentError,
    ArgumentsError,
    AuthorizationError,
    CancelledError,
    CatalogError,
    ConfigFileError,
    ConnectionLostError,
    DeadlineError,
    EntryError,
    FeatureUnknownError,
    HandlerError,
    MCPError,
    NotSupportedError,
    OutcomeUnknownError,
    PeerError,
    ReadOnlyError,
    RegistryError,
    RegistryUnknownError,
    RemoteProtocolError,
    ScopeError,
    ServerExistsError,
    ServerExitedError,
    ServerUnknownError,
    SpawnError,
    StatusError,
    ToolExcludedError,
    ToolUnknownError,
    VariableUnsetError,
    VersionError,
)
from gaia_mcp.core.names import is_server_name

if TYPE_CHECKING:
    from collections.abc import Callable

# The number of missing variables that a hint names; more would hide the command to type.
MAX_NAMED = 3
# The number of patterns in a suggested command.
MAX_PATTERNS = 5
# The errors with which servers for version 1 of the Python SDK exit when they run with version 2.
_NEEDS_FIRST_SDK = (
    r"'Server' object has no attribute '(?:list_|call_tool|read_resource|get_prompt|request_context)"
    r"|No module named 'mcp\.server\.fastmcp'|cannot import name '\w+' from 'mcp(?:\.\w+)*'"
)
# How to install common launchers.
_INSTALL = {
    "npx": "npx comes with Node.js; install that, or give the full path of npx",
    "node": "install Node.js, or give the full path of node",
    "uvx": "uvx comes with uv; install that (pip install uv), or give the full path of uvx",
    "uv": "install uv (pip install uv), or give its full path",
    "python": "try python3, or give the full path of the interpreter",
    "bunx": "bunx comes with Bun; install that, or use npx",
    "pipx": "install pipx, or use uvx, which comes with uv (pip install uv)",
    "cmd": "cmd is a program of Windows; give what follows cmd /c alone, such as npx",
    "docker": "install Docker, or give its full path",
    "podman": "install Podman, or give its full path",
    "dnx": "dnx comes with the .NET SDK, from version 10 on; install that, or give the full path of dnx",
}


def hint_for(error: MCPError) -> str:
    """The hint for an error; empty if there is none."""
    if "not_passed_on" in error.facts and not error.hint:
        return _not_passed_on(error)
    made = CASES.get(error.case) or next((HINTS[kind] for kind in type(error).__mro__ if kind in HINTS), None)
    after = made(error) if made is not None else ""
    if isinstance(error, OutcomeUnknownError):
        return f"{error.hint}; {after}" if after else error.hint
    return error.hint or after


def _unknown(error: ServerUnknownError) -> str:
    if error.project is not None:
        return f"it comes from {error.project}; edit that, or: {to_type('untrust')}"
    name = error.server
    if not name.strip():
        return "the name is empty: in a script, the variable that holds it may not be set"
    if re.match(r"[\w.-]+:\d+(/|$)", name):
        return f"a URL begins with its scheme: {to_type(CommandLine.command, f'http://{name}')}"
    if (line := command_after(name)) and is_server_name(name):
        return f"it is a program; run it with: {to_type('tools', more=line)}"
    return f"list the servers with: {to_type('list')}"


def _install(error: SpawnError) -> str:
    command = error.command
    if re.match(r"[A-Za-z_]\w*=", command):
        variable = command.partition("=")[0]
        if unsaved():
            return f"a variable is an option: put --env {variable}=VALUE before the command, and leave {variable} out"
        if not CommandLine.is_saved(error.server):
            return f"start the command with env: -- env {variable}=… COMMAND [ARG...]"
        return f"set the variable in its env: {to_type('edit', error.server, more=f'--env {variable}=…')}"
    known = _INSTALL.get(command.removesuffix(".exe").removesuffix(".cmd"))
    if known is None and command.startswith("python"):
        return f"install it, or use another interpreter, for instance {sys.executable}"
    return known or "install it, or give its full path"


def _missing_file(error: ConfigFileError) -> str:
    if any(word.endswith(error.path.name) for word in CommandLine.words):
        return "check its path"
    return f"list the hosts found here with: {to_type('import')}"


def _exited(error: ServerExitedError) -> str:
    if error.stage == "at its start" and (hint := about_variables(error.last_words, error.server)):
        return hint
    if re.search(_NEEDS_FIRST_SDK, error.stderr_tail):
        return "it needs version 1 of the Python package mcp: install 'mcp<2', as in uvx --with 'mcp<2' PACKAGE"
    if error.stage == "at its start" and is_unreached(error.last_words):
        return how_to_reach(error.server)
    # The commands keep a log of a server's stderr, of which the message quotes the last line.
    lines = len(error.stderr_tail.strip().splitlines())
    if lines > 1 or (lines and not unsaved()):
        return f"show its whole stderr log with: {to_type('logs', error.server)}"
    # A server that exits before its first message, with an empty stderr, was most likely started incorrectly.
    if error.stage == "at its start":
        return unsaved() or f"try its command by hand; it is shown with: {to_type('show', error.server)}"
    return _steps(error, "show each step with")


def _not_passed_on(error: MCPError) -> str:
    """How to pass the shell's network settings to a server that did not inherit them."""
    names: list[str] = error.facts["not_passed_on"]
    few = names[:MAX_NAMED]
    listed = ", ".join(few) + (f" and {len(names) - len(few)} more" if len(names) > len(few) else "")
    # `${NAME}` cannot refer to every variable.
    can_name = len(few) == len(names) and all(name.isidentifier() for name in names)
    options = " ".join(f"--env {name}" for name in names) if can_name else "--inherit-env"
    what = "pass it" if len(names) == 1 else "pass them"
    if unsaved():
        how = again(what, *options.split(), server=error.server)
    else:
        how = f"{what} with: {to_type('edit', error.server, more=options)}"
    if not CommandLine.is_saved(error.server):
        how = f"{what} by saving the server: {to_type('add', more=f'{options} NAME -- COMMAND')}"
    return f"set here, but not passed to the server: {listed}; {how}"


def _late(error: DeadlineError) -> str:
    if error.stage == "at its start" and is_unreached(error.message):
        return how_to_reach(error.server)
    more = "allow more time with --timeout SECONDS"
    return f"a first start may download a lot: {more}" if error.stage == "at its start" else more


def _no_revision(error: VersionError) -> str:
    if len(error.ours) != 1:
        return "update the older of the two"
    if unsaved() or not CommandLine.is_saved(error.server):
        return "leave --protocol out to negotiate a revision"
    return f"negotiate one: {to_type('edit', error.server, more='--unset protocolVersion')}"


def _distrusted(error: ReadOnlyError) -> str:
    if not CommandLine.is_saved(error.server):
        return "call it without --read-only if it may change something"
    return f"if you trust its author: {to_type('edit', error.server, more='--trust-hints')}"


def _excluded(error: ToolExcludedError) -> str:
    """How to include the tool in the entry's filter without losing the others."""
    from gaia_mcp.toolspec.tool_filter import INCLUDE, is_match

    if error.member == INCLUDE:
        option, wanted = "--only", [*error.patterns, error.tool]
    else:
        option, wanted = "--except", [pattern for pattern in error.patterns if not is_match(error.tool, pattern)]
    options = " ".join(f"{option} {shlex.quote(pattern)}" for pattern in wanted[: MAX_PATTERNS + 1])
    if not wanted or len(wanted) > MAX_PATTERNS:
        options = f"--unset {error.member}"
    return f"include it with: {to_type('edit', error.server, more=options)}"


def _not_offered(error: ScopeError) -> str:
    given = (("--stage", error.stage), ("--agent", error.agent))
    options = " ".join(f"{option} {shlex.quote(value)}" for option, value in given if value is not None)
    return f"list the available tools with: {to_type('tools', more=options)}"


def _steps(error: MCPError, reason: str) -> str:
    """Suggest `test-client`, unless it is running, or the server is not saved and so cannot be tested by name."""
    if CommandLine.command == "test-client":
        return "show its stderr with --debug"
    return unsaved() or f"{reason}: {to_type('test-client', error.server)}"


def _folder(error: SpawnError) -> str:
    if CommandLine.command in ("add", "edit"):
        return "name an existing one with --cwd DIR"
    return f"name an existing one: {to_type('edit', error.server, more='--cwd DIR')}"


def _code_failed(error: AgentError | HandlerError) -> str:
    if "--debug" in CommandLine.words:
        return f"correct it, and check again: {to_type('serve', error.target, more='--check')}"
    return "see the traceback with --debug"


def _agent_arguments(error: AgentError) -> str:
    """How to give an agent the arguments of its class: with the command, or in its entry."""
    what = "give its arguments"
    if CommandLine.command in ("add", "edit", "serve"):
        return again(what, "--kwarg" if CommandLine.command == "serve" else "--setting", "NAME=VALUE")
    if CommandLine.is_saved(error.target):
        return f"{what} in its entry: {to_type('edit', error.target, more='--setting NAME=VALUE')}"
    return f"{what} in an entry: {to_type('add', more=f'NAME {shlex.quote(error.target)} --setting NAME=VALUE')}"


def _no_such_program(error: SpawnError) -> str:
    # The command's path may have been joined to the working folder.
    names = error.command.split("/")
    for at, name in enumerate(names):
        if re.fullmatch(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d+", name):
            return f"a URL begins with its scheme: http://{'/'.join(names[at:])}"
    if re.match(r"[a-z][a-z0-9+.-]*://", error.server):
        reading = to_type("read", more=f"NAME {shlex.quote(error.server)}")
        return f"the URL of a server begins with http; read a resource with: {reading}"
    return unsaved() or "check the path in its entry"


def _python() -> str:
    """The name of a Python interpreter on PATH, otherwise the path of this one."""
    from shutil import which

    return next((name for name in ("python", "python3") if which(name)), shlex.quote(sys.executable))


def _not_runnable(error: SpawnError) -> str:
    shortage = shortage_told(error.reason)
    return shortage.hint if shortage is not None else f"try it by hand: {error.program}"


def _shell(error: EntryError) -> str:
    # A command line that was typed has no name.
    command = "add" if CommandLine.command == "add" else "edit"
    words = (command, error.server) if is_server_name(error.server) else ("tools",)
    return "to use a shell, start it explicitly: " + to_type(*words, more="-- sh -c '…'")


def _invalid(error: EntryError) -> str:
    if CommandLine.command in ("add", "edit", "import") or not is_server_name(error.server):
        return f"show the members of an entry: {to_type('add', more='--help')}"
    return f"correct it in an editor: {to_type('edit', error.server)}"


def _exists(_: ServerExistsError) -> str:
    other = "choose another name"
    return other if CommandLine.command != "add" else f"{other}, or {again('replace it', '--force')}"


def _registry_moved(error: RegistryError) -> str:
    if CommandLine.command == "add":
        return again("use that", "--registry", error.moved)
    return f"use that: export GAIA_MCP_REGISTRY={shlex.quote(error.moved)}"


def log_in(error: AuthorizationError) -> str:
    """The hint for an error without a case."""
    if CommandLine.command in ("add", "edit"):
        return again("save it, then log in,", "--no-check")
    if CommandLine.command == "login":
        return "grant the access in the browser; if it is refused all the same, ask the operator of the server"
    scopes = " ".join(f"--scope {shlex.quote(scope)}" for scope in error.scopes)
    return f"log in with: {to_type('login', error.server, more=scopes)}"


def _not_granted(error: AuthorizationError) -> str:
    return f"ask its operator for that access, or log in as a user who has it: {to_type('login', error.server)}"


def _own_client(error: AuthorizationError) -> str:
    members = {"oauth": {"clientId": "CLIENT_ID"}}
    return f"register a client there, and {in_entry(error, 'write its id as oauth.clientId', members, '--no-check')}"


def _own_header(error: AuthorizationError) -> str:
    """How to replace the token of an entry, or to log in instead of it."""
    if how := unsaved():
        return how
    if not CommandLine.is_saved(error.server):
        return "use another token"
    headers = CommandLine.headers(error.server)
    name = next((name for name in headers if name.lower() == "authorization"), "Authorization")
    if CommandLine.command == "login":
        without = to_type("edit", error.server, more=f"--unset headers.{name} --no-check")
        return f"to log in instead, remove the header: {without}"
    if (variable := re.search(r"\$\{(\w+)\}", headers.get(name, ""))) is not None:
        return f"set another in the variable that it refers to: export {variable[1]}=…"
    return f"set another: {to_type('edit', error.server, more=NEW_HEADER)}"


def _own_token(error: AuthorizationError) -> str:
    told = "its operator has to correct that"
    if not CommandLine.is_saved(error.server):
        return told
    return f"{told}; use another token: {to_type('edit', error.server, more=NEW_HEADER)}"


def _given_token(error: AuthorizationError) -> str:
    command = "edit" if CommandLine.is_saved(error.server) else "add"
    return f"ask its operator for a token, and set it with: {to_type(command, error.server, more=NEW_HEADER)}"


def _unanswered(error: DeadlineError) -> str:
    """The hint after a browser did not come back: a page may have refused the redirect URI of a registered client."""
    from gaia_mcp.config.targets import Remote

    more = "allow more time with --timeout SECONDS"
    target = CommandLine.target(error.server)
    if not isinstance(target, Remote) or "client_id" not in target.oauth.values:
        return more
    registered = in_entry(error, "write the registered one as oauth.redirectUri", {})
    return f"{more}; if its page refuses the redirect URI, {registered}"


# Hints by the `case` of an error.
LOGIN_CASES: dict[str, Callable[[Any], str]] = {
    "authorization-invalid": _own_token,
    "callback-port": lambda e: f"end the program that listens there, or {in_entry(e, 'choose another', {})}",
    "client-unknown": _own_client,
    "header": _own_header,
    "issuer-changed": lambda e: f"if that is right, {in_entry(e, 'write its issuer as oauth.issuer', {})}",
    "keyring-locked": lambda e: f"unlock it, or log in again: {to_type('login', e.server)}",
    "keyring-missing": lambda _: "install it in the same environment: pip install keyring",
    "login": _unanswered,
    "login-needless": lambda e: f"use it without a login: {to_type('tools', e.server)}",
    "no-login": lambda _: f"see which servers have one: {to_type('login', more='--status')}",
    "not-granted": _not_granted,
    "oauth-off": lambda e: unsaved() or f"turn it on: {to_type('edit', e.server, more='--unset oauth')}",
    "pasted": lambda e: (
        f"repeat it and paste the whole URL that the browser ends at: {to_type('login', e.server, more='--no-browser')}"
    ),
    "pyjwt-missing": lambda _: "install it in the same environment: pip install PyJWT",
    "redirect-uri": lambda e: in_entry(e, "correct it", {}),
    "registration-refused": _own_client,
    "token-only": _given_token,
}


HINTS: dict[type, Callable[[Any], str]] = {
    ConfigFileError: lambda _: "correct or move the file; it was not changed",
    ServerUnknownError: _unknown,
    ServerExistsError: _exists,
    EntryError: _invalid,
    VariableUnsetError: lambda e: f"export {e.variable}=… first, or write a default: ${{{e.variable}:-value}}",
    AgentError: lambda _: "write package.module:Class or path/to/file.py:Class",
    HandlerError: lambda _: "write path/to/file.py, path/to/file.py:Class or package.module:Class",
    SpawnError: lambda e: _steps(e, "test the entry with"),
    StatusError: after_status,
    ConnectionLostError: after_loss,
    ServerExitedError: _exited,
    AuthorizationError: log_in,
    RegistryError: lambda _: "check the network, and which registry --registry or GAIA_MCP_REGISTRY names",
    CatalogError: lambda _: f"add it as its documentation says: {to_type('add', more='NAME -- COMMAND')}",
    RegistryUnknownError: lambda _: f"find its name with: {to_type('search', more='--registry WORD')}",
    DeadlineError: _late,
    CancelledError: lambda _: "repeat the command if you still need the result",
    RemoteProtocolError: lambda e: _steps(e, "report it to its author; show each step with"),
    VersionError: _no_revision,
    NotSupportedError: lambda e: f"show its capabilities with: {to_type('show', e.server, more='--check')}",
    PeerError: after_error,
    ToolUnknownError: lambda e: f"see its tools with: {to_type('tools', e.server)}",
    FeatureUnknownError: lambda e: f"see its {e.feature}s with: {to_type(f'{e.feature}s', e.server)}",
    ArgumentsError: lambda e: f"see its parameters with: {to_type('tools', e.server)}",
    ToolExcludedError: _excluded,
    ScopeError: _not_offered,
    ReadOnlyError: lambda _: "call it without --read-only if it may change something",
}
# Hints by the `case` of an error.
CASES: dict[str, Callable[[Any], str]] = {
    "agent-arguments": _agent_arguments,
    "agent-failed": _code_failed,
    "agent-incomplete": lambda _: f"mark its methods with @tool, as in the file that this writes: {how_to_begin()}",
    "agent-missing": lambda e: (
        f"if it is an MCP server, run it with: {to_type('tools', more=f'-- {_python()} {shlex.quote(e.target)}')}"
    ),
    "agent-problem": lambda e: f"correct it, and check again: {to_type('serve', e.target, more='--check')}",
    "hints-distrusted": _distrusted,
    "entry-changed": lambda e: f"nothing was saved; check the entry and retry: {to_type('show', e.server)}",
    "handler-failed": _code_failed,
    "host-file-missing": _missing_file,
    "lock-file": lambda _: (
        f"restore the file from version control, or remove it and lock again: {to_type('lock', more='NAME...')}"
    ),
    "no-folder": _folder,
    "no-interpreter": lambda e: f"correct that line, or name an interpreter before {e.program}",
    "no-such-program": _no_such_program,
    "not-executable": lambda e: f"make it executable (chmod +x {e.program}), or name its interpreter",
    "not-mcp": lambda _: "check that its command starts an MCP server, or allow more time with --timeout SECONDS",
    "not-on-path": _install,
    "not-runnable": _not_runnable,
    "version-unknown": lambda e: f"leave the version out for the newest: {to_type('add', e.name)}",
    "registry-busy": lambda _: "try again later",
    "registry-moved": _registry_moved,
    "registry-unauthorized": lambda _: (
        "set GAIA_MCP_REGISTRY to its URL, and GAIA_MCP_REGISTRY_TOKEN to your token for it"
    ),
    "read-only-file": lambda e: f"allow writing first: chmod u+w {e.path}",
    "recording-busy": lambda _: "wait until it ends, or choose another file with --to FILE",
    "recording-file": lambda _: "choose another file with --to FILE",
    "shell-syntax": _shell,
    "no-tools": lambda e: f"see its capabilities with: {to_type('test-client', e.server)}",
    **LOGIN_CASES,
    **URL_CASES,
    "unreadable-file": lambda _: "check its permissions, or name another file",
}
