"""What a stateless request carries in its `_meta`."""

from __future__ import annotations

from typing import Any

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
from tests.protocol_support import CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION, check_each, check_rows


def test_meta_is_added_to_a_copy_of_the_params() -> None:
    """Ours: the caller may send the same parameters again."""
    params = {"name": "echo", "_meta": {"com.example/own": 1, "key": "old"}}

    merged = with_meta(params, {"key": "new"})

    assert merged == {"name": "echo", "_meta": {"com.example/own": 1, "key": "new"}}
    assert params == {"name": "echo", "_meta": {"com.example/own": 1, "key": "old"}}


def test_meta_is_added_to_params_without_meta() -> None:
    """Ours: `_meta` is our envelope, and a caller's null or text there must not cost the request."""
    wrong = [
        (params, found)
        for params in [None, {}, {"_meta": None}, {"_meta": "text"}]
        if (found := with_meta(params, {"key": 1})) != {"_meta": {"key": 1}}
    ]

    assert not wrong


def test_params_with_an_invalid_meta_have_an_empty_one() -> None:
    """Ours: a peer may send any value there."""

    def check(params: dict[str, object]) -> None:
        assert meta_of(params) == {}
        assert not has_envelope(params)

    check_each(check, [{}, {"_meta": None}, {"_meta": []}, {"_meta": "text"}])


def test_the_protocol_version_key_marks_the_envelope() -> None:
    """Spec 2026-07-28: what tells a stateless request from one of the handshake era."""
    assert has_envelope({"_meta": {VERSION: "2026-07-28"}})
    assert has_envelope({"_meta": {VERSION: None}})
    assert not has_envelope({"_meta": {CAPABILITIES: {}, "progressToken": 1}})


def test_the_request_context_is_read_from_the_envelope() -> None:
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


def test_version_and_capabilities_are_the_required_keys() -> None:
    """Spec 2026-07-28: clientInfo is only a SHOULD; without a level there are no log messages."""
    assert read_context({"_meta": {VERSION: "v", CAPABILITIES: {}}}) == RequestContext("v", {}, {}, None, None)


def test_a_missing_or_mistyped_key_is_named() -> None:
    """Spec 2026-07-28, MS-2 and MS-14; the client's author must see which key."""
    cases = [
        ({}, VERSION),
        ({VERSION: 5, CAPABILITIES: {}}, VERSION),
        ({VERSION: "v"}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: []}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: None}, CAPABILITIES),
        ({VERSION: "v", CAPABILITIES: {}, CLIENT_INFO: "me"}, CLIENT_INFO),
        ({VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: "loud"}, LOG_LEVEL),
        ({VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: ["info"]}, LOG_LEVEL),
    ]

    def check(meta: dict[str, object], key: str) -> None:
        problem = read_context({"_meta": meta})

        assert isinstance(problem, str)
        assert key in problem

    check_rows(check, cases)


def test_every_log_level_is_accepted() -> None:
    """Spec: the eight levels."""

    def check(level: str) -> None:
        context = read_context({"_meta": {VERSION: "v", CAPABILITIES: {}, LOG_LEVEL: level}})

        assert isinstance(context, RequestContext)
        assert context.log_level == level

    check_each(check, LOG_LEVELS)


def test_a_progress_token_is_a_string_or_an_integer() -> None:
    """Spec, B-7."""
    wrong = [
        (token, found) for token in [0, 7, "", "t"] if (found := progress_token({"progressToken": token})) != token
    ]

    assert not wrong


def test_an_invalid_progress_token_is_ignored() -> None:
    """Ours: progress is optional, and the request itself is served."""
    wrong = [token for token in [None, True, 1.5, [], {}] if progress_token({"progressToken": token}) is not None]

    assert not wrong


def test_the_tasks_extension_is_declared_with_each_request() -> None:
    """Extension, capability negotiation; no older revision has it."""
    cases = [
        ("2026-07-28", {"extensions": {"io.modelcontextprotocol/tasks": {}}}, True, True),
        ("2026-07-28", {"extensions": {"io.modelcontextprotocol/apps": {}}}, False, True),
        ("2026-07-28", {"extensions": "io.modelcontextprotocol/tasks"}, False, True),
        ("2026-07-28", {}, False, True),
        ("2025-11-25", {"extensions": {"io.modelcontextprotocol/tasks": {}}}, False, False),
    ]

    def check(version: str, capabilities: dict[str, Any], declares: bool, may: bool) -> None:
        context = RequestContext(version, {}, capabilities, None, None)

        assert (declares_tasks(context), may_declare_tasks(context)) == (declares, may)

    check_rows(check, cases)
