"""Failures of a handler's code, as exceptions and as text."""

from __future__ import annotations

import json
import logging
from typing import Any

from gaia_mcp.errors import MCPError

logger = logging.getLogger("gaia_mcp")


class HandlerFailure(Exception):  # noqa: N818 (the base class of the errors below)
    """A failure whose text is complete."""


class HandlerHungError(HandlerFailure):
    """The code did not return in time, and its thread is left behind."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it did not return within {seconds:g} s")


class TooManyHungError(HandlerFailure):
    """The code was not run: `limit` threads of the handler are left behind."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} of its calls have not returned yet")


class HandlerExitError(HandlerFailure):
    """The code tried to end the process, or its thread, with `error`."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__} was raised: {error}" if str(error) else type(error).__name__)


def log_failure(what: str, error: BaseException) -> None:
    """Log an exception of a handler's tool, for its author."""
    logger.debug("MCP handlers: %s", what, exc_info=error)


def described(error: Exception) -> str:
    """A short description of the failure."""
    text = str(error)
    if text and isinstance(error, (MCPError, HandlerFailure)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def scrubbed(text: str, settings: Any) -> str:
    """A text from a handler without the secrets in its settings: HTTP clients quote URLs that contain keys."""
    if not settings or not text:
        return text
    from gaia_mcp.redaction.masker import Masker, secrets_in

    try:
        document = json.dumps(settings, default=str, skipkeys=True)
    except (ValueError, RecursionError):
        return text  # They contain themselves, so they do not come from a configuration file.
    return Masker(secrets_in({"settings": document}, ())).text(text)
