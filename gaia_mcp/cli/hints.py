"""The hint that a command prints under an error: the next command to type.

An error of the library holds plain values, independent of the command line. For each class, or for one of its cases, a
function here makes the hint from those values, also after a failed login; what a server itself answered is in
`cli/refusals`. A hint that the error itself has takes precedence.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

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

    from gaia_mcp.cli.lines import CommandLine

# A hint, or the function that makes it for an error of the line.
Hint: TypeAlias = "str | Callable[[CommandLine, Any], str]"
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


def hint_for(line: CommandLine, error: MCPError) -> str:
    """The hint for an error; empty if there is none."""
    if "not_passed_on" in error.facts and not error.hint:
        return _not_passed_on(line, error)
    made = CASES.get(error.case) or next((HINTS[kind] for kind in type(error).__mro__ if kind in HINTS), None)
    after = made(line, error) if callable(made) else made or ""
    if isinstance(error, OutcomeUnknownError):
        return f"{error.hint}; {after}" if after else error.hint
    return error.hint or after


def _unknown(line: CommandLine, error: ServerUnknownError) -> str:
    if error.project is not None:
        return f"it comes from {error.project}; edit that, or: {line.to_type('untrust')}"
    name = error.server
    if not name.strip():
        return "the name is empty: in a script, the variable that holds it may not be set"
    if re.match(r"[\w.-]+:\d+(/|$)", name):
        return f"a URL begins with its scheme: {line.to_type(line.command, f'http://{name}')}"
    if (after := line.command_after(name)) and is_server_name(name):
        return f"it is a program; run it with: {line.to_type('tools', more=after)}"
    return f"list the servers with: {line.to_type('list')}"


def _install(line: CommandLine, error: SpawnError) -> str:
    command = error.command
    if re.match(r"[A-Za-z_]\w*=", command):
        variable = command.partition("=")[0]
        if line.unsaved_hint():
            return f"a variable is an option: put --env {variable}=VALUE before the command, and leave {variable} out"
        if not line.is_saved(error.server):
            return f"start the command with env: -- env {variable}=… COMMAND [ARG...]"
        return f"set the variable in its env: {line.to_type('edit', error.server, more=f'--env {variable}=…')}"
    known = _INSTALL.get(command.removesuffix(".exe").removesuffix(".cmd"))
    if known is None and command.startswith("python"):
        return f"install it, or use another interpreter, for instance {sys.executable}"
    return known or "install it, or give its full path"


def _missing_file(line: CommandLine, error: ConfigFileError) -> str:
    if any(word.endswith(error.path.name) for word in line.words):
        return "check its path"
    return f"list the hosts found here with: {line.to_type('import')}"


def _exited(line: CommandLine, error: ServerExitedError) -> str:
    if error.stage == "at its start" and (hint := about_variables(line, error.last_words, error.server)):
        return hint
    if re.search(_NEEDS_FIRST_SDK, error.stderr_tail):
        return "it needs version 1 of the Python package mcp: install 'mcp<2', as in uvx --with 'mcp<2' PACKAGE"
    if error.stage == "at its start" and is_unreached(error.last_words):
        return how_to_reach(line, error.server)
    # The commands keep a log of a server's stderr, of which the message quotes the last line.
    lines = len(error.stderr_tail.strip().splitlines())
    if lines > 1 or (lines and not line.unsaved_hint()):
        return f"show its whole stderr log with: {line.to_type('logs', error.server)}"
    # A server that exits before its first message, with an empty stderr, was most likely started incorrectly.
    if error.stage == "at its start":
        return line.unsaved_hint() or f"try its command by hand; it is shown with: {line.to_type('show', error.server)}"
    return _steps(line, error, "show each step with")


def _not_passed_on(line: CommandLine, error: MCPError) -> str:
    """How to pass the shell's network settings to a server that did not inherit them."""
    names: list[str] = error.facts["not_passed_on"]
    few = names[:MAX_NAMED]
    listed = ", ".join(few) + (f" and {len(names) - len(few)} more" if len(names) > len(few) else "")
    # `${NAME}` cannot refer to every variable.
    can_name = len(few) == len(names) and all(name.isidentifier() for name in names)
    options = " ".join(f"--env {name}" for name in names) if can_name else "--inherit-env"
    what = "pass it" if len(names) == 1 else "pass them"
    if line.unsaved_hint():
        how = line.again(what, *options.split(), server=error.server)
    else:
        how = f"{what} with: {line.to_type('edit', error.server, more=options)}"
    if not line.is_saved(error.server):
        how = f"{what} by saving the server: {line.to_type('add', more=f'{options} NAME -- COMMAND')}"
    return f"set here, but not passed to the server: {listed}; {how}"


def _late(line: CommandLine, error: DeadlineError) -> str:
    if error.stage == "at its start" and is_unreached(error.message):
        return how_to_reach(line, error.server)
    more = "allow more time with --timeout SECONDS"
    return f"a first start may download a lot: {more}" if error.stage == "at its start" else more


def _no_revision(line: CommandLine, error: VersionError) -> str:
    if len(error.ours) != 1:
        return "update the older of the two"
    if line.unsaved_hint() or not line.is_saved(error.server):
        return "leave --protocol out to negotiate a revision"
    return f"negotiate one: {line.to_type('edit', error.server, more='--unset protocolVersion')}"


def _distrusted(line: CommandLine, error: ReadOnlyError) -> str:
    if not line.is_saved(error.server):
        return "call it without --read-only if it may change something"
    return f"if you trust its author: {line.to_type('edit', error.server, more='--trust-hints')}"


def _excluded(line: CommandLine, error: ToolExcludedError) -> str:
    """How to include the tool in the entry's filter without losing the others."""
    from gaia_mcp.toolspec.tool_filter import INCLUDE, is_match

    if error.member == INCLUDE:
        option, wanted = "--only", [*error.patterns, error.tool]
    else:
        option, wanted = "--except", [pattern for pattern in error.patterns if not is_match(error.tool, pattern)]
    options = " ".join(f"{option} {shlex.quote(pattern)}" for pattern in wanted[: MAX_PATTERNS + 1])
    if not wanted or len(wanted) > MAX_PATTERNS:
        options = f"--unset {error.member}"
    return f"include it with: {line.to_type('edit', error.server, more=options)}"


def _not_offered(line: CommandLine, error: ScopeError) -> str:
    given = (("--stage", error.stage), ("--agent", error.agent))
    options = " ".join(f"{option} {shlex.quote(value)}" for option, value in given if value is not None)
    return f"list the available tools with: {line.to_type('tools', more=options)}"


def _steps(line: CommandLine, error: MCPError, reason: str) -> str:
    """Suggest `test-client`, unless it is running, or the server is not saved and so cannot be tested by name."""
    if line.command == "test-client":
        return "show its stderr with --debug"
    return line.unsaved_hint() or f"{reason}: {line.to_type('test-client', error.server)}"


def _folder(line: CommandLine, error: SpawnError) -> str:
    if line.command in ("add", "edit"):
        return "name an existing one with --cwd DIR"
    return f"name an existing one: {line.to_type('edit', error.server, more='--cwd DIR')}"


def _code_failed(line: CommandLine, error: AgentError | HandlerError) -> str:
    if "--debug" in line.words:
        return f"correct it, and check again: {line.to_type('serve', error.target, more='--check')}"
    return "see the traceback with --debug"


def _agent_arguments(line: CommandLine, error: AgentError) -> str:
    """How to give an agent the arguments of its class: with the command, or in its entry."""
    what = "give its arguments"
    if line.command in ("add", "edit", "serve"):
        return line.again(what, "--kwarg" if line.command == "serve" else "--setting", "NAME=VALUE")
    if line.is_saved(error.target):
        return f"{what} in its entry: {line.to_type('edit', error.target, more='--setting NAME=VALUE')}"
    return f"{what} in an entry: {line.to_type('add', more=f'NAME {shlex.quote(error.target)} --setting NAME=VALUE')}"


def _no_such_program(line: CommandLine, error: SpawnError) -> str:
    # The command's path may have been joined to the working folder.
    names = error.command.split("/")
    for at, name in enumerate(names):
        if re.fullmatch(r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d+", name):
            return f"a URL begins with its scheme: http://{'/'.join(names[at:])}"
    if re.match(r"[a-z][a-z0-9+.-]*://", error.server):
        reading = line.to_type("read", more=f"NAME {shlex.quote(error.server)}")
        return f"the URL of a server begins with http; read a resource with: {reading}"
    return line.unsaved_hint() or "check the path in its entry"


def _python() -> str:
    """The name of a Python interpreter on PATH, otherwise the path of this one."""
    from shutil import which

    return next((name for name in ("python", "python3") if which(name)), shlex.quote(sys.executable))


def _not_runnable(_: CommandLine, error: SpawnError) -> str:
    shortage = shortage_told(error.reason)
    return shortage.hint if shortage is not None else f"try it by hand: {error.program}"


def _shell(line: CommandLine, error: EntryError) -> str:
    # A command line that was typed has no name.
    command = "add" if line.command == "add" else "edit"
    words = (command, error.server) if is_server_name(error.server) else ("tools",)
    return "to use a shell, start it explicitly: " + line.to_type(*words, more="-- sh -c '…'")


def _invalid(line: CommandLine, error: EntryError) -> str:
    if line.command in ("add", "edit", "import") or not is_server_name(error.server):
        return f"show the members of an entry: {line.to_type('add', more='--help')}"
    return f"correct it in an editor: {line.to_type('edit', error.server)}"


def _exists(line: CommandLine, _: ServerExistsError) -> str:
    other = "choose another name"
    return other if line.command != "add" else f"{other}, or {line.again('replace it', '--force')}"


def _registry_moved(line: CommandLine, error: RegistryError) -> str:
    if line.command == "add":
        return line.again("use that", "--registry", error.moved)
    return f"use that: export GAIA_MCP_REGISTRY={shlex.quote(error.moved)}"


def log_in(line: CommandLine, error: AuthorizationError) -> str:
    """The hint for an error without a case."""
    if line.command in ("add", "edit"):
        return line.again("save it, then log in,", "--no-check")
    if line.command == "login":
        return "grant the access in the browser; if it is refused all the same, ask the operator of the server"
    scopes = " ".join(f"--scope {shlex.quote(scope)}" for scope in error.scopes)
    return f"log in with: {line.to_type('login', error.server, more=scopes)}"


def _not_granted(line: CommandLine, error: AuthorizationError) -> str:
    return f"ask its operator for that access, or log in as a user who has it: {line.to_type('login', error.server)}"


def _own_client(line: CommandLine, error: AuthorizationError) -> str:
    members = {"oauth": {"clientId": "CLIENT_ID"}}
    return (
        f"register a client there, and {in_entry(line, error, 'write its id as oauth.clientId', members, '--no-check')}"
    )


def _own_header(line: CommandLine, error: AuthorizationError) -> str:
    """How to replace the token of an entry, or to log in instead of it."""
    if how := line.unsaved_hint():
        return how
    if not line.is_saved(error.server):
        return "use another token"
    headers = line.headers(error.server)
    name = next((name for name in headers if name.lower() == "authorization"), "Authorization")
    if line.command == "login":
        without = line.to_type("edit", error.server, more=f"--unset headers.{name} --no-check")
        return f"to log in instead, remove the header: {without}"
    if (variable := re.search(r"\$\{(\w+)\}", headers.get(name, ""))) is not None:
        return f"set another in the variable that it refers to: export {variable[1]}=…"
    return f"set another: {line.to_type('edit', error.server, more=NEW_HEADER)}"


def _own_token(line: CommandLine, error: AuthorizationError) -> str:
    told = "its operator has to correct that"
    if not line.is_saved(error.server):
        return told
    return f"{told}; use another token: {line.to_type('edit', error.server, more=NEW_HEADER)}"


def _given_token(line: CommandLine, error: AuthorizationError) -> str:
    command = "edit" if line.is_saved(error.server) else "add"
    return f"ask its operator for a token, and set it with: {line.to_type(command, error.server, more=NEW_HEADER)}"


def _unanswered(line: CommandLine, error: DeadlineError) -> str:
    """The hint after a browser did not come back: a page may have refused the redirect URI of a registered client."""
    from gaia_mcp.config.targets import Remote

    more = "allow more time with --timeout SECONDS"
    target = line.target(error.server)
    if not isinstance(target, Remote) or "client_id" not in target.oauth.values:
        return more
    registered = in_entry(line, error, "write the registered one as oauth.redirectUri", {})
    return f"{more}; if its page refuses the redirect URI, {registered}"


# Hints by the `case` of an error.
LOGIN_CASES: dict[str, Hint] = {
    "authorization-invalid": _own_token,
    "callback-port": lambda line, e: (
        f"end the program that listens there, or {in_entry(line, e, 'choose another', {})}"
    ),
    "client-unknown": _own_client,
    "header": _own_header,
    "issuer-changed": lambda line, e: f"if that is right, {in_entry(line, e, 'write its issuer as oauth.issuer', {})}",
    "keyring-locked": lambda line, e: f"unlock it, or log in again: {line.to_type('login', e.server)}",
    "keyring-missing": "install it in the same environment: pip install keyring",
    "login": _unanswered,
    "login-needless": lambda line, e: f"use it without a login: {line.to_type('tools', e.server)}",
    "no-login": lambda line, _: f"see which servers have one: {line.to_type('login', more='--status')}",
    "not-granted": _not_granted,
    "oauth-off": lambda line, e: (
        line.unsaved_hint() or f"turn it on: {line.to_type('edit', e.server, more='--unset oauth')}"
    ),
    "pasted": lambda line, e: (
        "repeat it and paste the whole URL that the browser ends at: "
        + line.to_type("login", e.server, more="--no-browser")
    ),
    "pyjwt-missing": "install it in the same environment: pip install PyJWT",
    "redirect-uri": lambda line, e: in_entry(line, e, "correct it", {}),
    "registration-refused": _own_client,
    "token-only": _given_token,
}


HINTS: dict[type, Hint] = {
    ConfigFileError: "correct or move the file; it was not changed",
    ServerUnknownError: _unknown,
    ServerExistsError: _exists,
    EntryError: _invalid,
    VariableUnsetError: lambda _, e: f"export {e.variable}=… first, or write a default: ${{{e.variable}:-value}}",
    AgentError: "write package.module:Class or path/to/file.py:Class",
    HandlerError: "write path/to/file.py, path/to/file.py:Class or package.module:Class",
    SpawnError: lambda line, e: _steps(line, e, "test the entry with"),
    StatusError: after_status,
    ConnectionLostError: after_loss,
    ServerExitedError: _exited,
    AuthorizationError: log_in,
    RegistryError: "check the network, and which registry --registry or GAIA_MCP_REGISTRY names",
    CatalogError: lambda line, _: f"add it as its documentation says: {line.to_type('add', more='NAME -- COMMAND')}",
    RegistryUnknownError: lambda line, _: f"find its name with: {line.to_type('search', more='--registry WORD')}",
    DeadlineError: _late,
    CancelledError: "repeat the command if you still need the result",
    RemoteProtocolError: lambda line, e: _steps(line, e, "report it to its author; show each step with"),
    VersionError: _no_revision,
    NotSupportedError: lambda line, e: f"show its capabilities with: {line.to_type('show', e.server, more='--check')}",
    PeerError: after_error,
    ToolUnknownError: lambda line, e: f"see its tools with: {line.to_type('tools', e.server)}",
    FeatureUnknownError: lambda line, e: f"see its {e.feature}s with: {line.to_type(f'{e.feature}s', e.server)}",
    ArgumentsError: lambda line, e: f"see its parameters with: {line.to_type('tools', e.server)}",
    ToolExcludedError: _excluded,
    ScopeError: _not_offered,
    ReadOnlyError: "call it without --read-only if it may change something",
}
# Hints by the `case` of an error.
CASES: dict[str, Hint] = {
    "agent-arguments": _agent_arguments,
    "agent-failed": _code_failed,
    "agent-incomplete": lambda line, _: (
        f"mark its methods with @tool, as in the file that this writes: {line.how_to_begin()}"
    ),
    "agent-missing": lambda line, e: (
        f"if it is an MCP server, run it with: {line.to_type('tools', more=f'-- {_python()} {shlex.quote(e.target)}')}"
    ),
    "agent-problem": lambda line, e: f"correct it, and check again: {line.to_type('serve', e.target, more='--check')}",
    "hints-distrusted": _distrusted,
    "not-held": lambda line, e: f"hold it with: {line.to_type('up', e.server)}",
    "entry-changed": lambda line, e: f"nothing was saved; check the entry and retry: {line.to_type('show', e.server)}",
    "handler-failed": _code_failed,
    "host-file-missing": _missing_file,
    "lock-file": lambda line, _: (
        f"restore the file from version control, or remove it and lock again: {line.to_type('lock', more='NAME...')}"
    ),
    "no-folder": _folder,
    "no-interpreter": lambda _, e: f"correct that line, or name an interpreter before {e.program}",
    "no-such-program": _no_such_program,
    "not-exported": lambda line, e: f"see the entry with: {line.to_type('show', e.name)}",
    "not-executable": lambda _, e: f"make it executable (chmod +x {e.program}), or name its interpreter",
    "not-mcp": "check that its command starts an MCP server, or allow more time with --timeout SECONDS",
    "not-on-path": _install,
    "not-runnable": _not_runnable,
    "version-unknown": lambda line, e: f"leave the version out for the newest: {line.to_type('add', e.name)}",
    "registry-busy": "try again later",
    "registry-moved": _registry_moved,
    "registry-unauthorized": "set GAIA_MCP_REGISTRY to its URL, and GAIA_MCP_REGISTRY_TOKEN to your token for it",
    "read-only-file": lambda _, e: f"allow writing first: chmod u+w {e.path}",
    "recording-busy": "wait until it ends, or choose another file with --to FILE",
    "recording-file": "choose another file with --to FILE",
    "shell-syntax": _shell,
    "no-tools": lambda line, e: f"see its capabilities with: {line.to_type('test-client', e.server)}",
    **LOGIN_CASES,
    **URL_CASES,
    "unreadable-file": "check its permissions, or name another file",
}
