"""Exit codes, and the errors that they stand for."""

from __future__ import annotations

from collections.abc import Iterator

from gaia_mcp.cli.status import MEANINGS, ExitStatus, UsageError, status_of
from gaia_mcp.core.errors import (
    CallLateError,
    CallLostError,
    CancelledError,
    DeadlineError,
    MCPError,
    OutcomeUnknownError,
    ResourceUnknownError,
    ServerExitedError,
)


def kinds(base: type[MCPError] = MCPError) -> Iterator[type[MCPError]]:
    """The library's classes of errors that are derived from a class."""
    for each in base.__subclasses__():
        if each.__module__.startswith("gaia_mcp.core.errors"):
            yield each
            yield from kinds(each)


def status(kind: type[MCPError]) -> ExitStatus:
    """The exit code of a class of errors, whatever its values are."""
    return status_of(kind.__new__(kind))


def test_every_exit_code_has_a_meaning() -> None:
    """Ours: the manual prints this table."""
    assert list(MEANINGS) == list(ExitStatus)


def test_an_error_of_the_library_does_not_exit_like_a_bug() -> None:
    """Ours: a script tells them apart. A call that was cancelled is reported by a signal's own exit code."""
    assert status(MCPError) is ExitStatus.FAILURE
    failures = {kind for kind in kinds() if status(kind) is ExitStatus.FAILURE}
    assert {kind for kind in failures if not issubclass(kind, (CancelledError, OutcomeUnknownError))} == set()


def test_an_error_of_two_kinds_has_the_exit_code_of_its_cause() -> None:
    """Ours: an unknown resource is an error response too, and a call whose outcome is unknown was late or lost."""
    assert status(ResourceUnknownError) is ExitStatus.TOOL
    assert status(CallLateError) is status(DeadlineError) is ExitStatus.TIMEOUT
    assert status(CallLostError) is status(ServerExitedError) is ExitStatus.CONNECTION
    assert status(UsageError) is ExitStatus.USAGE
