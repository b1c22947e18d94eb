"""Why the hub cannot do what it is asked to."""

from __future__ import annotations


class HubError(Exception):
    """A request that fails. The text is the `error` of its result, and names what is wrong."""
