"""Reads a resource from its server, and distinguishes an unknown resource from other errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.calls.plan import text_arguments
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.status import UsageError
from gaia_mcp.errors import ArgumentsError, FeatureUnknownError, NotSupportedError, PeerError
from gaia_mcp.names import did_you_mean

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.session.session import Session


def read_resource(session: Session, uri: str) -> dict[str, Any]:
    """The contents of the resource `uri`. Raises `FeatureUnknownError` if the server has no such resource, and as
    `Session.read` does.
    """
    server = session.entry.name
    try:
        return session.read(uri)
    except NotSupportedError as error:
        hint = f"it has no resources; see its tools with: {to_type('tools', server)}"
        raise FeatureUnknownError(server, "resource", uri, suggestion=hint) from error
    except PeerError as error:
        error.hint = _suggestion(session.entry, uri)
        raise


def _suggestion(entry: ServerEntry, uri: str) -> str:
    """A suggestion from the cached resources; empty if no URI is similar."""
    from gaia_mcp.names import did_you_mean
    from gaia_mcp.paths import cache_folder
    from gaia_mcp.storage.server_cache import ServerCache

    known = ServerCache(cache_folder(), entry).seen("resources") or []
    return did_you_mean(uri, [one["uri"] for one in known if isinstance(one.get("uri"), str) and one["uri"] != uri])


def filled_uri(server: str, uri: str, words: list[str]) -> str:
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
        hint = f"see its templates with: {to_type('resources', server)}"
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
