"""Scopes: which to ask for at first, and which after a server has asked for more."""

from __future__ import annotations

from collections.abc import Iterable

# Without it some servers give no refresh token.
OFFLINE = "offline_access"


def first_scopes(
    challenged: Iterable[str], wished: Iterable[str], of_resource: Iterable[str], of_server: Iterable[str]
) -> tuple[str, ...]:
    """The scopes of a first authorization; empty to name none, so that the server decides.

    Those that the challenge names are needed. Else those that the user wishes, else all that the metadata of the
    resource lists. With any of them comes `offline_access` if the authorization server lists that.
    """
    needed = union(challenged, wished) or tuple(of_resource)
    return union(needed, [OFFLINE]) if needed and OFFLINE in of_server else needed


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """All scopes of the groups, in order and once each."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))


def is_more(requested: Iterable[str], challenged: Iterable[str]) -> bool:
    """Whether a challenge names a scope that was not asked for. Asking for the same again would give the same."""
    return not set(challenged) <= set(requested)
