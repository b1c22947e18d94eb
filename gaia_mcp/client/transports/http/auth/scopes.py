"""Scopes: which to request at first, and which after a server has required more."""

from __future__ import annotations

from collections.abc import Iterable

# Without it some servers issue no refresh token.
OFFLINE = "offline_access"


def first_scopes(
    challenged: Iterable[str], wished: Iterable[str], of_resource: Iterable[str], of_server: Iterable[str]
) -> tuple[str, ...]:
    """The scopes to request in a first authorization; empty to name none, so that the server decides.

    The scopes of the challenge if it names any, else those that the user has set, else all that the metadata of the
    resource lists; in each case with `offline_access` if the authorization server lists it.
    """
    needed = union(challenged, wished) or tuple(of_resource)
    return union(needed, [OFFLINE]) if needed and OFFLINE in of_server else needed


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """All scopes of the groups, in order and once each."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))


def is_more(requested: Iterable[str], challenged: Iterable[str]) -> bool:
    """Whether a challenge names a scope that was not requested. Requesting the same again would be useless."""
    return not set(challenged) <= set(requested)
