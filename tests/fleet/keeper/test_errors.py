"""Errors as JSON: what was raised in the keeper is what a command would have raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.core import errors
from gaia_mcp.core.errors import (
    AuthorizationError,
    ConnectionLostError,
    DeadlineError,
    MCPError,
    PeerError,
    ServerExitedError,
    ServerUnknownError,
    VersionError,
)
from gaia_mcp.fleet.keeper.errors import as_json, read_error


def passed(error: MCPError) -> MCPError:
    """The error at the other end."""
    found = read_error(json.loads(json.dumps(as_json(error))))
    assert found is not None
    return found


def test_every_class_of_errors_arrives_as_itself() -> None:
    """Ours: exit codes and hints depend on the class, also where it has parameters of its own."""
    classes = [found for name in errors.__all__ if isinstance(found := getattr(errors, name), type)]
    offenders = []
    for kind in classes:
        error = kind.__new__(kind)
        MCPError.__init__(error, "the message", hint="the hint", server="s", case="c")
        found = passed(error)
        if (type(found), vars(found), str(found)) != (kind, vars(error), "the message"):
            offenders.append(kind.__name__)

    assert (len(classes) > 40, offenders) == (True, [])


@pytest.mark.parametrize(
    "error",
    [
        ServerExitedError("s", "while answering", 3, "tail", last_words="out of memory"),
        DeadlineError("s", "tools/list", 2.5),
        VersionError("s", ["1"], ["2", "3"]),
        AuthorizationError("s", "wants more", scopes=("a", "b")),
        PeerError("s", "tools/call", -32053, "no", {"list": [1, {"deep": None}], "class": "x"}),
        ServerUnknownError("s", Path("/a/b"), project=None),
    ],
)
def test_the_values_of_an_error_arrive_with_their_types(error: MCPError) -> None:
    """Ours: hints use them."""
    found = passed(error)

    assert (type(found), vars(found), found.args) == (type(error), vars(error), error.args)


def test_values_that_are_inside_of_others_arrive_too() -> None:
    """Ours: a path in a list was once sent as it is, which JSON cannot."""
    error = MCPError("m")
    error.facts = {"paths": [Path("/a")], "pair": ("a", (Path("/b"),)), "deep": {"path": Path("/c")}}

    assert passed(error).facts == error.facts


def test_values_of_other_types_are_left_out() -> None:
    """Ours: no class of `core.errors` has any, a class of another module may."""

    class OwnError(ConnectionLostError):
        """The class of another module."""

    error = OwnError("gone", server="s")
    vars(error).update({"lock": object(), "several": [object()], "named": {"a": object()}, "numbered": {1: "a"}})

    found = passed(error)

    assert type(found) is ConnectionLostError
    assert vars(found) == vars(ConnectionLostError("gone", server="s"))


@pytest.mark.parametrize(
    "data",
    [
        None, [], "MCPError", {}, {"class": "MCPError"}, {"class": "MCPError", "values": []},
        {"class": "MCPError", "values": {}}, {"class": "MCPError", "values": {"message": 5}},
        {"class": "Path", "values": {"message": "m"}}, {"class": 5, "values": {"message": "m"}},
        {"class": "outcome_unknown", "values": {"message": "m"}},
    ],
)  # fmt: skip
def test_what_is_no_error_is_not_read_as_one(data: Any) -> None:
    """Ours: a class that is not one of ours is never made."""
    assert read_error(data) is None
