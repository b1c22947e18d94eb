"""The error of a request to the hub."""

from __future__ import annotations


class HubError(Exception):
    """The request failed. The text becomes the `error` of its result."""
