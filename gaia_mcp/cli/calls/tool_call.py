"""The steps around the request for one tool, prompt or resource: find it, check that it is allowed, validate its
arguments before anything is sent, and validate its result.

An error of arguments fits three lines of a terminal; `--json` prints all of it, with the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.checking import Checker, structure_problem
from gaia_mcp.cli.calls import Plan, read_words, text_arguments, typed
from gaia_mcp.cli.status import UsageError
from gaia_mcp.core.errors import ArgumentsError, FeatureUnknownError, NotSupportedError, PeerError, ReadOnlyError
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.text import cut, cut_middle
from gaia_mcp.text.strict_json import is_same
from gaia_mcp.toolspec.schema import MAX_STEPS, NO_DEFAULT, choices_of, default_of, properties_of, resolved, types_of
from gaia_mcp.toolspec.tool_filter import claims_to_only_read, only_reads
from gaia_mcp.toolspec.validation import YOUR_ARGUMENTS, ExternalReferenceError, SchemaError, problems_in, unknown_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.cli.checks.locked import LockedTools
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.session import Session
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.toolspec.validation import ValidationError


def find_tool(session: Session, name: str) -> MCPTool:
    """The tool of this name. Raises `ToolUnknownError` with a suggestion, and `ToolExcludedError`."""
    tool = session.find_tool(name)
    if tool is None:
        from dataclasses import replace

        from gaia_mcp.cli.entries.targets import listed_name

        known = {tool.name: tool for tool in session.tools()}
        if (listed := listed_name(session.entry, name, known)) is not None:
            # Only the server knows whether that handler has the tool.
            return replace(known[listed], name=name)
        from gaia_mcp.fleet.session import unknown_tool

        raise unknown_tool(session, name, known)
    return tool


def check_allowed(session: Session, tool: MCPTool, locked_tools: LockedTools | None, *, read_only: bool) -> None:
    """Refuse a tool that differs from its locked definition and, with `read_only`, one that may do more than read.

    Raises `ContractError`, `ReadOnlyError`.
    """
    if locked_tools is not None:
        locked_tools.check_tool(session.entry.name, session.masked_tool(tool))
    if read_only and not tool.only_reads:
        raise ReadOnlyError(
            session.entry.name,
            tool.name,
            is_marked=claims_to_only_read(tool.annotations),
            is_distrusted=only_reads(tool.name, tool.annotations),
        )


def typed_arguments(
    screen: Screen,
    session: Session,
    tool: MCPTool,
    plan: Plan,
    deadline: Deadline | None,
    *,
    unchecked: bool = False,
) -> dict[str, Any]:
    """The arguments in the types of the tool's schema, validated against it unless `unchecked`. Raises
    `ArgumentsError`, `UsageError`.
    """
    schema, server = tool.input_schema, session.entry.name
    try:
        given = read_words(screen.line, server, tool.name, plan.words, schema)
        arguments = typed(given.assignments, schema, {**plan.base, **(given.base or {})}, deadline)
        if unchecked:
            return arguments
        return valid_arguments(
            screen.line, session, tool, arguments, screen.remark, deadline, shows_given=plan.is_base_read
        )
    except (ArgumentsError, UsageError):
        # The hint refers to the tool's help page, which reads the cache.
        session.settle()
        raise


def valid_arguments(
    line: CommandLine,
    session: Session,
    tool: MCPTool,
    arguments: dict[str, Any],
    remark: Callable[[str], None],
    deadline: Deadline | None = None,
    *,
    shows_given: bool,
    checker: Checker | None = None,
) -> dict[str, Any]:
    """`arguments`, validated against the tool's schema, as `checked_arguments` does. An unusable schema, and arguments
    that it does not mention, are remarks. Raises `ArgumentsError`.
    """
    schema, server = tool.input_schema, session.entry.name
    try:
        arguments = checked_arguments(
            line, server, tool.name, schema, arguments, deadline, shows_given=shows_given, checker=checker
        )
    except SchemaError as problem:
        which = f"the input schema of {tool.name!r} of server {server!r}"
        remark(f"{which} cannot be used, so the arguments are not validated: {problem}")
        return arguments
    if unknown := unknown_names(schema, arguments):
        # They are sent: some tools accept arguments that their schema does not mention.
        remark(f"{tool.name!r} does not mention {'; '.join(unknown)}")
    return arguments


def called(
    line: CommandLine,
    session: Session,
    tool: MCPTool,
    arguments: dict[str, Any],
    on_progress: Callable[[Progressed], None] | None = None,
) -> dict[str, Any]:
    """The tool's result. Raises as the session's requests do."""
    try:
        return session.call(tool.name, arguments, on_progress=on_progress)
    except PeerError as error:
        from gaia_mcp.cli.refusals import about_tasks, after_failure

        if error.code == METHOD_NOT_FOUND:
            error.hint = about_tasks(tool.definition)
        elif error.code == INVALID_PARAMS:
            error.hint = after_failure(line, error.server, tool.name, error.text, tool.input_schema)
        raise


def check_structure(
    screen: Screen, server: str, tool: MCPTool, result: dict[str, Any], deadline: Deadline | None
) -> None:
    """Print a remark if a result does not match the tool's output schema. The result is printed in any case."""
    if problem := structure_problem(server, tool.name, tool.output_schema, result, deadline):
        screen.remark(problem)


# The limit for the error and its hint together, with the lines broken as on a usual terminal.
LINES, LINE_CHARS = 3, 100
# The limits for one problem, which may quote a value, and for arguments that the person did not type.
PROBLEM_CHARS, GIVEN_CHARS = 80, 60


def checked_arguments(
    line: CommandLine,
    server: str,
    tool: str,
    schema: Any,
    arguments: dict[str, Any],
    deadline: Deadline | None = None,
    *,
    shows_given: bool,
    checker: Checker | None = None,
) -> dict[str, Any]:
    """`arguments`, completed with the defaults of missing required ones, once they are valid.

    With `shows_given` the error shows the arguments, for a person who has not typed them. `checker` is that of the
    schema, if there is one already. Raises `ArgumentsError` with the problems, also if the schema refers to another
    document; `SchemaError` if it cannot be used for another reason, or if validation takes too long.
    """
    checker = checker or Checker(schema)
    try:
        found = checker.validation_errors(arguments, deadline)
        if not found:
            return arguments
        completed = with_defaults(arguments, schema)
        remaining = checker.validation_errors(completed, deadline)
        # A default that is itself invalid does not help.
        if len(remaining) < len(found):
            arguments, found = completed, remaining
    except ExternalReferenceError as elsewhere:
        problem = f"cannot be checked against its input schema: {elsewhere}"
        raise ArgumentsError(server, tool, [problem], hint=_schema_hint(line, server)) from elsewhere
    problems = problems_in(found, schema, arguments)
    if not problems:
        return arguments
    given = [f"{YOUR_ARGUMENTS} {cut(json.dumps(arguments, ensure_ascii=False), GIVEN_CHARS)}"] if shows_given else []
    problems_shown = [cut_middle(problem, PROBLEM_CHARS) for problem in problems]
    whole = f"error: {ArgumentsError(server, tool, [*problems_shown, *given]).message}"
    # The signature gets the lines that the problems leave.
    lines = 1 if len(whole) > LINE_CHARS else LINES - 1
    hint = _members_hint(found, schema, lines) or _signature_hint(line, server, tool, schema, lines)
    left = LINES - max(1, -(-len(f"hint: {hint}") // LINE_CHARS))
    excess = len(whole) - max(1, left) * LINE_CHARS
    shown = _without(problems_shown, excess)
    error = ArgumentsError(server, tool, [*shown, *given], hint=hint)
    error.facts = {"tool": tool, "problems": problems, "schema": schema, "arguments": arguments}
    raise error


def _schema_hint(line: CommandLine, server: str) -> str:
    return f"see the schema with: {line.to_type('tools', server, more='--schema')}"


def _members_hint(found: Sequence[ValidationError], schema: Any, lines: int) -> str:
    """The members of the one argument that contains the problems, in at most `lines` lines; empty if the problems are
    not within one argument, or if the text is too long.
    """
    from gaia_mcp.toolspec.describe import members_in_words

    keys = {re.split(r"[.\[]", problem.where)[0] for problem in found if re.search(r"[.\[]", problem.where)}
    if len(keys) != 1 or (described := properties_of(schema).get(key := keys.pop())) is None:
        return ""
    hint = f"the type of {key}: {members_in_words(described, schema)}"
    return hint if hint.endswith("}") and len(hint) <= lines * LINE_CHARS - len("hint: ") else ""


def _signature_hint(line: CommandLine, server: str, tool: str, schema: Any, lines: int) -> str:
    """The tool's signature in at most `lines` lines; if it is cut, followed by the command for the tool's help page."""
    from gaia_mcp.toolspec.describe import signature

    begun = "its signature: "
    room = lines * LINE_CHARS - len("hint: ") - len(begun)
    if len(whole := signature(tool, schema)) <= room:
        return begun + whole
    see = f"; see: {line.to_type('call', server, tool, more='--help')}"
    return begun + signature(tool, schema, room - len(see)) + see


def _without(problems: Sequence[str], excess: int) -> list[str]:
    """`problems` shortened by `excess` characters: the last ones are replaced by their number. The first one stays."""
    kept = list(problems)
    while excess > 0 and len(kept) > 1:
        # The replacement takes space, too.
        excess -= len(f"; {kept.pop()}") - (len("; 10 more") if len(kept) == len(problems) - 1 else 0)
    return [*kept, f"{len(problems) - len(kept)} more"] if len(kept) < len(problems) else kept


# Values are a few levels deep, and have few members; a recursive default has no limit.
MAX_DEPTH, MAX_ADDED = 20, 1000


def with_defaults(value: Any, schema: Any) -> Any:
    """`value` with the default of each member that is missing, is required, and has one, at every level of it."""
    return _Filling(schema).filled(value, schema, MAX_DEPTH)


class _Filling:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._additions = iter(range(MAX_ADDED))

    def filled(self, value: Any, schema: Any, depth: int) -> Any:
        if depth == 0 or not isinstance(value, (dict, list)):
            return value
        parts = self._applied(value, schema, iter(range(MAX_STEPS)))
        if isinstance(value, list):
            items = next((part["items"] for part in parts if "items" in part), None)
            return value if items is None else [self.filled(item, items, depth - 1) for item in value]
        known: dict[str, Any] = {}
        whole = dict(value)
        for part in parts:
            known.update(_members(part))
        for name in (name for part in parts for name in _required(part) if name not in whole):
            default = default_of(known.get(name), self._root, NO_DEFAULT)
            if default is not NO_DEFAULT and next(self._additions, None) is not None:
                whole[name] = default
        return {name: self.filled(member, known.get(name), depth - 1) for name, member in whole.items()}

    def _applied(self, value: Any, schema: Any, steps: Iterator[int]) -> list[dict[str, Any]]:
        """The parts of `schema` that apply to `value`; of a union, the first one that may describe it."""
        part = resolved(schema, self._root, steps)
        found = [part]
        for inner in _list(part, "allOf"):
            found += self._applied(value, inner, steps)
        for union in ("anyOf", "oneOf"):
            branches = (self._applied(value, branch, steps) for branch in _list(part, union))
            found += next((branch for branch in branches if self._can_be(value, branch)), [])
        return found

    def _can_be(self, value: Any, parts: list[dict[str, Any]]) -> bool:
        kind = "array" if isinstance(value, list) else "object"
        if any(kind not in (types_of(part) or [kind]) for part in parts):
            return False
        if kind == "array":
            return True
        known = {name: member for part in parts for name, member in _members(part).items()}
        for name in (name for name in known if name in value):
            choices = choices_of(resolved(known[name], self._root))
            if choices and not any(is_same(value[name], choice) for choice in choices):
                return False
        required = (name for part in parts for name in _required(part) if name not in value)
        return all(default_of(known.get(name), self._root, NO_DEFAULT) is not NO_DEFAULT for name in required)


def _members(part: dict[str, Any]) -> dict[str, Any]:
    members = part.get("properties")
    return members if isinstance(members, dict) else {}


def _required(part: dict[str, Any]) -> list[str]:
    return [name for name in _list(part, "required") if isinstance(name, str)]


def _list(part: dict[str, Any], keyword: str) -> list[Any]:
    found = part.get(keyword)
    return found if isinstance(found, list) else []


def read_resource(line: CommandLine, session: Session, uri: str) -> dict[str, Any]:
    """The contents of the resource `uri`. Raises `FeatureUnknownError` if the server has no such resource, and as
    `Session.read` does.
    """
    server = session.entry.name
    try:
        return session.read(uri)
    except NotSupportedError as error:
        hint = f"it has no resources; see its tools with: {line.to_type('tools', server)}"
        raise FeatureUnknownError(server, "resource", uri, suggestion=hint) from error
    except PeerError as error:
        error.hint = _suggestion(session.entry, uri)
        raise


def _suggestion(entry: ServerEntry, uri: str) -> str:
    """A suggestion from the cached resources; empty if no URI is similar."""
    from gaia_mcp.core.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])


def filled_uri(line: CommandLine, server: str, uri: str, words: list[str]) -> str:
    """Expand `uri`, a template of `server`, with the values that `words` assign to its variables.

    Raises `UsageError` for a missing variable, and for one that the template does not have.
    """
    given = text_arguments(words)
    if not given and "{" not in uri:
        return uri
    from uritemplate import URITemplate

    try:
        template = URITemplate(uri)
        filled: str = template.expand(given)
    except ValueError as problem:
        hint = f"see its templates with: {line.to_type('resources', server)}"
        raise UsageError(f"{uri!r} is not a template: {problem}", hint=hint) from None
    known = list(template.variable_names)
    missing = [name for name in known if name not in given]
    unknown = [name for name in given if name not in known]
    if missing or unknown:
        said = [f"{name!r} is missing" for name in missing] + [f"there is no {name!r}" for name in unknown]
        hint = f"its variables are: {', '.join(known)}" if known else "only a template takes arguments"
        raise UsageError(f"{uri!r}: {'; '.join(said)}", hint=hint)
    return filled


def arguments_of(prompt: dict[str, Any]) -> list[tuple[str, bool]]:
    """The names of the arguments, required ones first, and whether each is required."""
    described = prompt.get("arguments")
    found = [
        (argument["name"], argument.get("required") is True)
        for argument in (described if isinstance(described, list) else [])
        if isinstance(argument, dict) and isinstance(argument.get("name"), str)
    ]
    return sorted(found, key=lambda argument: not argument[1])


def signature_of(prompt: dict[str, Any]) -> str:
    """`name(required, [optional])`."""
    shown = [name if is_required else f"[{name}]" for name, is_required in arguments_of(prompt)]
    return f"{prompt['name']}({', '.join(shown)})"


def check_arguments(session: Session, name: str, given: dict[str, Any]) -> None:
    """Check that a prompt exists and accepts these arguments. Raises `FeatureUnknownError` and `ArgumentsError`."""
    known = {prompt["name"]: prompt for prompt in session.prompts()}
    server = session.entry.name
    if name not in known:
        raise FeatureUnknownError(server, "prompt", name, suggestion=did_you_mean(name, known))
    arguments = arguments_of(known[name])
    names = [argument for argument, _ in arguments]
    problems = [f"there is no {key!r}, {did_you_mean(key, names)}".rstrip(", ") for key in given if key not in names]
    problems += [
        f"{argument!r} is missing" for argument, is_required in arguments if is_required and argument not in given
    ]
    if problems:
        raise ArgumentsError(
            server, name, problems, hint=f"its signature: {signature_of(known[name])}", feature="prompt"
        )
