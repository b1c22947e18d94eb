"""The URI of a resource, from a URI template and the values of its variables."""

from __future__ import annotations

from gaia_mcp.cli.calls.plan import text_arguments
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.status import UsageError


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
