"""What a stateless request carries in its `_meta`."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.protocol.envelope import (
    LOG_LEVELS,
    declares_tasks,
    has_envelope,
    may_declare_tasks,
    meta_of,
    progress_token,
    read_context,
    with_meta,
)
from gaia_mcp.protocol.events import RequestContext
from tests.protocol_support import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION


def test_meta_is_added_to_the_parameters_and_leaves_them_as_they_were() -> None:
    """Ours: the caller may send the same parameters again."""
    params = {"name": "echo", "_meta": {"com.example/own": 1, "key": "old"}}

    merged = with_meta(params, {"key": "new"})

    assert merged == {"name": "echo", "_meta": {"com.example/own": 1, "key": "new"}}
    assert params == {"name": "echo", "_meta": {"com.example/own": 1, "key": "old"}}


@pytest.mark.parametrize("params", [None, {}, {"_meta": None}, {"_meta": "text"}])
def test_meta_is_added_where_there_is_none(params: dict[str, object] | None) -> None:
    """Ours."""
    assert with_meta(params, {"key": 1}) == {"_meta": {"key": 1}}


@pytest.mark.parametrize("params", [{}, {"_meta": None}, {"_meta": []}, {"_meta": "text"}])
def test_parameters_without_a_usable_meta_have_an_empty_one(params: dict[str, object]) -> None:
    """Ours: whatever a peer writes there."""
    assert meta_of(params) == {}
    assert not has_envelope(params)


def test_the_version_key_makes_the_envelope() -> None:
    """Spec 2026-07-28: what tells a stateless request from one of the handshake era."""
    assert has_envelope({"_meta": {VERSION: "2026-07-28"}})
    assert has_envelope({"_meta": {VERSION: None}})
    assert not has_envelope({"_meta": {CAPABILITIES: {}, "progressToken": 1}})


def test_the_caller_is_read_from_a_full_envelope() -> None:
    """Spec 2026-07-28, MC-1."""
    meta = {
        VERSION: "2026-07-28",
        CAPABILITIES: {"roots": {}},
        CLIENT_INFO: {"name": "c", "version": "1"},
        LOG_LEVEL: "warning",
        "progressToken": "t",
    }

    assert read_context({"_meta": meta}) == RequestContext(
        "2026-07-28", {"name": "c", "version": "1"}, {"roots": {}}, "t", "warning"
    )


def test_version_and_capabilities_are_enough() -> None:
    """Spec 2026-07-28: clientInfo is only a SHOULD; without a level there are no log messages."""
    assert read_context({"_meta": {VERSION: "v", CAPABILITIES: {}}}) == RequestContext("v", {}, {}, None, None)


@pytest.mark.parametrize(
    ("meta", "key"),
    [
        ({}, VERSION),
        ({VERSION: 5, CAPABILITIES: {}}, VERSION),
        ({VERSION: "v"}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: []}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: None}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: {}, CLIENT_INFO: "me"}, CLIENT_INFO),
        ({VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: "loud"}, LOG_LEVEL),
        ({VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: ["info"]}, LOG_LEVEL),
    ],
)
def test_a_missing_or_mistyped_key_is_named(meta: dict[str, object], key: str) -> None:
    """Spec 2026-07-28, MS-2 and MS-14; the client's author must see which key."""
    problem = read_context({"_meta": meta})

    assert isinstance(problem, str)
    assert key in problem


@pytest.mark.parametrize("level", LOG_LEVELS)
def test_every_log_level_may_be_asked_for(level: str) -> None:
    """Spec: the eight levels."""
    context = read_context({"_meta": {VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: level}})

    assert isinstance(context, RequestContext)
    assert context.log_level == level


@pytest.mark.parametrize("token", [0, 7, "", "t"])
def test_a_progress_token_is_a_text_or_an_integer(token: int | str) -> None:
    """Spec, B-7."""
    assert progress_token({"progressToken": token}) == token


@pytest.mark.parametrize("token", [None, True, 1.5, [], {}])
def test_any_other_progress_token_is_none(token: object) -> None:
    """Ours: progress is a favour; the request itself is served."""
    assert progress_token({"progressToken": token}) is None


@pytest.mark.parametrize(
    ("version", "capabilities", "declares", "may"),
    [
        ("2026-07-28", {"extensions": {"io.modelcontextprotocol/tasks": {}}}, True, True),
        ("2026-07-28", {"extensions": {"io.modelcontextprotocol/apps": {}}}, False, True),
        ("2026-07-28", {"extensions": "io.modelcontextprotocol/tasks"}, False, True),
        ("2026-07-28", {}, False, True),
        ("2025-11-25", {"extensions": {"io.modelcontextprotocol/tasks": {}}}, False, False),
    ],
)
def test_a_client_declares_the_extension_with_each_request(
    version: str, capabilities: dict[str, Any], declares: bool, may: bool
) -> None:
    """Extension, capability negotiation; no older revision has it."""
    context = RequestContext(version, {}, capabilities, None, None)

    assert (declares_tasks(context), may_declare_tasks(context)) == (declares, may)
