"""The servers behind a gateway that may have a resource. Unlike names, URIs are not changed by the gateway."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gaia_mcp.uri_templates import Template, TemplateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gaia_mcp.gateway.backend import Backend


# The rank of a server that does not list the resource.
_UNLISTED = 2


def owners_of(uri: str, backends: Sequence[Backend]) -> list[Backend]:
    """The backends that may have the resource: first those that list it, then those with a template that equals or
    matches the URI; each group in the order of the configuration. If there are none, all that declare resources,
    because some servers have more resources than they list. Other servers never receive the URI.
    """
    ranks = [(rank, backend) for backend in backends if (rank := _rank(uri, backend)) is not None]
    known = [
        backend for _, backend in sorted((each for each in ranks if each[0] < _UNLISTED), key=lambda each: each[0])
    ]
    return known or [backend for _, backend in ranks]


def _rank(uri: str, backend: Backend) -> int | None:
    """The rank of a server, 0 if it most likely has the resource; None if it has no resources."""
    if any(resource["uri"] == uri for resource in backend.lists.get("resources", ())):
        return 0
    templates = backend.lists.get("resourceTemplates", ())
    if any(template["uriTemplate"] == uri or _matches(template["uriTemplate"], uri) for template in templates):
        return 1
    return _UNLISTED if backend.declares("resources") else None


def _matches(template: str, uri: str) -> bool:
    parsed = _parsed(template)
    return parsed is not None and parsed.match(uri) is not None


@lru_cache(maxsize=1024)
def _parsed(template: str) -> Template | None:
    try:
        return Template(template)
    except TemplateError:
        return None
