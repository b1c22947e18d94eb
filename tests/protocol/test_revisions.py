"""What each revision may carry."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS
from gaia_mcp.protocol.revisions import (
    CACHEABLE,
    call_result_for,
    can_declare,
    capabilities_for,
    capability_names,
    content_for,
    info_for,
    known_client,
    lacks_task,
    prompt_for,
    prompt_result_for,
    read_result_for,
    resource_for,
    result_for,
    result_problem,
    server_request_problem,
    tool_for,
)
from gaia_mcp.protocol.tasks import TASK_RESULT_TYPES
from tests.protocol_support import SERVER, SERVER_INFO, check_each, check_rows

V2024, V2025_03, V2025_06, V2025_11, V2026 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
# What goes into the `_meta` of every stateless result.
SIGNATURE = {SERVER_INFO: SERVER}
ANNOTATIONS = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-11-01T00:00:00Z"}


def versions_with(member: str, shape: Any, value: dict[str, Any]) -> set[str]:
    return {version for version in ALL_VERSIONS if member in shape(version, value)}


def test_a_tool_has_the_members_of_its_revision() -> None:
    """Spec: the revisions' schemas; `execution` went away with the tasks of 2025-11-25."""
    cases = [
        ("name", set(ALL_VERSIONS)),
        ("com.example.own", set(ALL_VERSIONS)),
        ("annotations", {V2025_03, V2025_06, V2025_11, V2026}),
        ("title", {V2025_06, V2025_11, V2026}),
        ("outputSchema", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
        ("execution", {V2025_11}),
    ]

    def check(member: str, versions: set[str]) -> None:
        tool = {"name": "t", "inputSchema": {"type": "object"}, member: {"type": "object"}}

        assert versions_with(member, tool_for, tool) == versions

    check_rows(check, cases)


def test_an_output_schema_that_is_not_an_object_is_sent_to_stateless_clients_only() -> None:
    """Spec: an object schema up to 2025-11-25, any schema since."""
    cases = [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {}, True]

    wrong = [
        (schema, found)
        for schema in cases
        if (found := versions_with("outputSchema", tool_for, {"name": "t", "outputSchema": schema})) != {V2026}
    ]

    assert not wrong


def test_a_prompt_has_the_members_of_its_revision() -> None:
    """Spec: the revisions' schemas."""
    cases = [
        ("name", set(ALL_VERSIONS)),
        ("description", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
    ]

    wrong = [
        (member, versions, found)
        for member, versions in cases
        if (found := versions_with(member, prompt_for, {"name": "p", member: "x"})) != versions
    ]

    assert not wrong


def test_prompt_arguments_have_titles_since_2025_06_18() -> None:
    """Spec: since 2025-06-18."""

    def check(version: str) -> None:
        shaped = prompt_for(version, {"name": "p", "arguments": [{"name": "a", "title": "A", "required": True}]})

        (argument,) = shaped["arguments"]
        assert (argument["name"], argument["required"]) == ("a", True)
        assert ("title" in argument) is (version in (V2025_06, V2025_11, V2026))

    check_each(check, ALL_VERSIONS)


def test_a_resource_has_the_members_of_its_revision() -> None:
    """Spec: the revisions' schemas; size was there from the first."""
    cases = [
        ("uri", set(ALL_VERSIONS)),
        ("size", set(ALL_VERSIONS)),
        ("annotations", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
    ]

    wrong = [
        (member, versions, found)
        for member, versions in cases
        if (found := versions_with(member, resource_for, {"uri": "u", "name": "n", member: "x"})) != versions
    ]

    assert not wrong


def test_an_implementation_has_the_members_of_its_revision() -> None:
    """Spec: the revisions' schemas."""
    cases = [
        ("version", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
        ("websiteUrl", {V2025_11, V2026}),
        ("description", {V2025_11, V2026}),
    ]

    wrong = [
        (member, versions, found)
        for member, versions in cases
        if (found := versions_with(member, info_for, {"name": "n", member: "x"})) != versions
    ]

    assert not wrong


def test_a_capability_is_declared_if_the_revision_defines_it() -> None:
    """Spec: the revisions' schemas."""
    cases = [
        ("tools", set(ALL_VERSIONS)),
        ("experimental", set(ALL_VERSIONS)),
        ("completions", {V2025_03, V2025_06, V2025_11, V2026}),
        ("elicitation", {V2025_06, V2025_11, V2026}),
        ("extensions", {V2026}),
    ]

    wrong = [
        (member, versions, found)
        for member, versions in cases
        if (found := versions_with(member, capabilities_for, {member: {}})) != versions
    ]

    assert not wrong


def test_a_content_block_of_every_revision_is_unchanged() -> None:
    """Ours: also an invalid block, which the client of the agent should see."""
    cases = [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "u", "text": "x"}},
        {"type": "resource", "resource": "nonsense"},
        {"type": "of tomorrow", "x": 1},
        {"no": "type"},
    ]

    wrong = [
        (version, block, found)
        for version in ALL_VERSIONS
        for block in cases
        if (found := content_for(version, block)) != block
    ]

    assert not wrong


def test_a_content_block_has_the_members_of_its_revision() -> None:
    """Spec: `_meta` and `lastModified` came with 2025-06-18, also inside an embedded resource."""

    def check(version: str) -> None:
        resource = {"uri": "u", "text": "x", "_meta": {"a": 1}}
        shaped = content_for(
            version, {"type": "resource", "resource": resource, "annotations": ANNOTATIONS, "_meta": {"a": 1}}
        )

        newer = version in (V2025_06, V2025_11, V2026)
        assert ("_meta" in shaped) is newer
        assert ("_meta" in shaped["resource"]) is newer
        assert ("lastModified" in shaped["annotations"]) is newer
        assert shaped["annotations"]["priority"] == 0.5
        assert (
            "lastModified" in resource_for(version, {"uri": "u", "annotations": ANNOTATIONS})["annotations"]
        ) is newer

    check_each(check, ALL_VERSIONS)


def test_audio_becomes_text_in_2024_11_05() -> None:
    """Spec: audio came with 2025-03-26. Ours: the nearest thing that the client can read."""

    def check(version: str) -> None:
        block = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
        shaped = content_for(version, block)

        if version == V2024:
            assert shaped["type"] == "text"
            assert "audio/wav" in shaped["text"]
            assert "unknown type" in content_for(version, {"type": "audio"})["text"]
        else:
            assert shaped == block

    check_each(check, ALL_VERSIONS)


def test_a_resource_link_becomes_its_uri_before_2025_06_18() -> None:
    """Spec: resource links came with 2025-06-18, their icons with 2025-11-25."""

    def check(version: str) -> None:
        block = {
            "type": "resource_link",
            "uri": "file:///a",
            "name": "a",
            "title": "A",
            "icons": [],
            "annotations": ANNOTATIONS,
        }
        shaped = content_for(version, block)

        if version in (V2024, V2025_03):
            assert shaped == {"type": "text", "text": "file:///a"}
            assert content_for(version, {"type": "resource_link"}) == {"type": "text", "text": ""}
        else:
            assert shaped["title"] == "A"
            assert ("icons" in shaped) is (version in (V2025_11, V2026))

    check_each(check, ALL_VERSIONS)


def test_a_structured_object_is_sent_since_2025_06_18() -> None:
    """Spec 2025-06-18, tools: `structuredContent` was added then, as an object."""

    def check(version: str, structured: object) -> None:
        shaped = call_result_for(version, {"content": [], "structuredContent": structured, "isError": False})

        assert shaped.get("structuredContent") == (None if version in (V2024, V2025_03) else structured)
        assert shaped["isError"] is False

    check_each(check, ALL_VERSIONS, [{"a": 1}, {}])


def test_any_other_structured_value_is_sent_to_stateless_clients_only() -> None:
    """Spec 2026-07-28: any JSON value, null too."""

    def check(version: str, structured: object) -> None:
        shaped = call_result_for(version, {"content": [], "structuredContent": structured})

        assert ("structuredContent" in shaped) is (version == V2026)
        if version == V2026:
            assert shaped["structuredContent"] == structured

    check_each(check, ALL_VERSIONS, [[1, 2], "text", 5, True, None])


def test_every_content_block_of_a_tool_result_is_converted() -> None:
    """Ours: content is always there, for it is required."""

    def check(version: str) -> None:
        blocks = [{"type": "text", "text": "x", "_meta": {}}, {"type": "resource_link", "uri": "u", "name": "n"}]
        shaped = call_result_for(version, {"content": blocks})

        assert shaped["content"] == [content_for(version, block) for block in blocks]
        assert call_result_for(version, {}) == {"content": []}

    check_each(check, ALL_VERSIONS)


def test_every_message_of_a_prompt_is_converted() -> None:
    """Spec: messages hold content blocks."""

    def check(version: str) -> None:
        block = {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "_meta": {}}
        shaped = prompt_result_for(version, {"description": "d", "messages": [{"role": "user", "content": block}]})

        assert shaped == {"description": "d", "messages": [{"role": "user", "content": content_for(version, block)}]}

    check_each(check, ALL_VERSIONS)


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "content": "text"}])
def test_a_message_without_a_content_block_is_unchanged(message: dict[str, Any]) -> None:
    """Ours: an agent's mistake must not stop the server."""
    assert prompt_result_for(V2025_11, {"messages": [message]}) == {"messages": [message]}


def test_the_contents_of_a_resource_are_converted() -> None:
    """Spec: `_meta` came with 2025-06-18."""

    def check(version: str) -> None:
        shaped = read_result_for(version, {"contents": [{"uri": "u", "text": "x", "_meta": {}}]})

        (contents,) = shaped["contents"]
        assert (contents["uri"], contents["text"]) == ("u", "x")
        assert ("_meta" in contents) is (version in (V2025_06, V2025_11, V2026))

    check_each(check, ALL_VERSIONS)


RICH = {"title": "T", "icons": [], "_meta": {}}
RESULTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [{"name": "t", **RICH}], "nextCursor": "n"},
    "prompts/list": {"prompts": [{"name": "p", **RICH}]},
    "resources/list": {"resources": [{"uri": "u", **RICH}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "u", **RICH}]},
    "tools/call": {"content": [{"type": "text", "text": "x", "_meta": {}}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "x", "_meta": {}}}]},
    "resources/read": {"contents": [{"uri": "u", "text": "x", "_meta": {}}]},
    "completion/complete": {"completion": {"values": ["a"]}},
    "ping": {},
}


def test_a_result_in_2024_11_05_has_no_later_member() -> None:
    """Spec: every result, through and through."""

    def check(method: str) -> None:
        shaped = str(result_for(V2024, method, RESULTS[method], SIGNATURE))

        for newer in ("title", "icons", "_meta", "resultType", "ttlMs", "cacheScope"):
            assert newer not in shaped

    check_each(check, RESULTS)


def test_a_handshake_result_has_no_stateless_member() -> None:
    """Spec, DE-4."""
    wrong = [
        (version, method, found)
        for version in HANDSHAKE_VERSIONS
        for method in RESULTS
        if (found := set(result_for(version, method, RESULTS[method], SIGNATURE))) != set(RESULTS[method])
    ]

    assert not wrong


def test_a_stateless_result_has_type_server_info_and_cache_members() -> None:
    """Spec 2026-07-28, MS-5 and MS-11."""

    def check(method: str) -> None:
        shaped = result_for(V2026, method, RESULTS.get(method, {}), SIGNATURE)

        assert shaped["resultType"] == "complete"
        assert shaped["_meta"] == {SERVER_INFO: SERVER}
        lasting = {key: value for key, value in shaped.items() if key in ("ttlMs", "cacheScope")}
        assert lasting == ({"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {})

    check_each(check, [*RESULTS, "server/discover", "subscriptions/listen"])


def test_members_set_by_the_agent_are_preserved() -> None:
    """Ours: an agent may know better."""
    own = {"tools": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": {"a": 1}}

    assert result_for(V2026, "tools/list", own, {}) == own
    assert result_for(V2026, "tools/list", own, SIGNATURE)["_meta"] == {"a": 1, SERVER_INFO: SERVER}


def test_stateless_members_set_by_the_agent_are_removed_for_handshake_clients() -> None:
    """Spec, DE-4: the handshake era knows neither kinds of results nor caches."""

    def check(version: str) -> None:
        own = {"tools": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": {"a": 1}}

        assert result_for(version, "tools/list", own, SIGNATURE) == {"tools": [], "_meta": {"a": 1}}

    check_each(check, HANDSHAKE_VERSIONS)


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_an_input_required_result_gets_no_further_members(method: str) -> None:
    """Spec 2026-07-28: no content, and no cache for what is not complete."""
    asking = {"resultType": "input_required", "requestState": "s"}

    assert result_for(V2026, method, asking, {}) == asking


def test_an_invalid_result_for_a_stateless_client_is_reported() -> None:
    """Spec 2026-07-28, MS-5, MS-7, MS-8, MS-11, MS-15."""
    cases = [
        ("tools/call", {"resultType": "partial"}, "unknown type 'partial'"),
        ("tools/call", {"resultType": "task", "taskId": "1"}, "unknown type 'task'"),
        ("tools/call", {"resultType": None}, "unknown type"),
        ("tools/call", {"resultType": "input_required"}, "neither requests nor a state"),
        ("tools/call", {"resultType": "input_required", "inputRequests": {}}, "neither requests nor a state"),
        ("tools/list", {"resultType": "input_required", "requestState": "s"}, "does not allow"),
        ("tools/list", {"tools": [], "ttlMs": -1}, "ttlMs is -1"),
        ("tools/list", {"tools": [], "ttlMs": True}, "ttlMs is True"),
        ("prompts/list", {"prompts": [], "ttlMs": "5"}, "ttlMs is 5"),
        ("resources/read", {"contents": [{}], "ttlMs": 1.5}, "ttlMs is 1.5"),
        ("resources/list", {"resources": [], "cacheScope": "shared"}, "cacheScope is 'shared'"),
        ("server/discover", {"cacheScope": None}, "cacheScope is 'None'"),
        ("resources/read", {"contents": []}, "contents are empty"),
        ("tools/call", {"content": [], "inputRequests": {}}, "complete, and yet asks for input"),
        ("tools/call", {"content": [], "requestState": "s"}, "complete, and yet asks for input"),
    ]

    def check(method: str, result: Any, words: str) -> None:
        problem = result_problem(V2026, method, result)

        assert problem is not None
        assert words in problem

    check_rows(check, cases)


def test_only_a_call_in_2025_11_25_can_lack_a_task() -> None:
    """Spec 2025-11-25, LS-8: before, there are none; later, the server alone decides."""
    cases = [
        (V2025_11, {"name": "t"}, True),
        (V2025_11, {"name": "t", "task": None}, True),
        (V2025_11, {"name": "t", "task": {}}, False),
        (V2025_11, {"name": "t", "task": {"ttl": 5}}, False),
        (V2025_06, {"name": "t"}, False),
        (V2026, {"name": "t"}, False),
    ]

    wrong = [
        (version, params, lacks, found)
        for version, params, lacks in cases
        if (found := lacks_task(version, params)) is not lacks
    ]

    assert not wrong


def test_a_result_for_a_handshake_client_is_complete_and_has_contents() -> None:
    """Spec, DE-4: the others are of the stateless era, in which a result may be kept."""

    def check(version: str) -> None:
        assert version in (result_problem(version, "tools/call", {"resultType": "input_required"}) or "")
        assert result_problem(version, "resources/read", {"contents": []}) is not None
        assert result_problem(version, "tools/list", {"tools": [], "ttlMs": -1, "cacheScope": "x"}) is None

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_valid_result_has_no_problem() -> None:
    """Spec: every kind of result, in every revision."""

    def check(version: str, method: str) -> None:
        assert result_problem(version, method, RESULTS[method]) is None
        assert result_problem(version, method, {**RESULTS[method], "resultType": "complete"}) is None

    check_each(check, ALL_VERSIONS, RESULTS)


def test_an_input_required_result_has_no_problem() -> None:
    """Spec 2026-07-28, MS-8."""
    assert result_problem(V2026, "tools/call", {"resultType": "input_required", "requestState": "s"}) is None


def test_conversion_does_not_modify_the_agents_values() -> None:
    """Ours: the same definitions are shown to the next client."""

    def check(version: str, method: str) -> None:
        value = copy.deepcopy(RESULTS[method])
        result_for(version, method, value, SIGNATURE)
        annotated = {"uri": "u", "annotations": dict(ANNOTATIONS)}
        resource_for(version, annotated)

        assert value == RESULTS[method]
        assert annotated["annotations"] == ANNOTATIONS

    check_each(check, ALL_VERSIONS, RESULTS)


def test_a_server_can_declare_the_capabilities_of_its_revision() -> None:
    """Spec 2025-03-26, key changes: the capability `completions` was added then."""
    cases = [
        ("2024-11-05", "completions", False),
        ("2025-03-26", "completions", True),
        ("2026-07-28", "completions", True),
        ("2024-11-05", "prompts", True),
        ("1.0.0", "completions", True),
    ]

    wrong = [
        (version, capability, can, found)
        for version, capability, can in cases
        if (found := can_declare(version, capability)) is not can
    ]

    assert not wrong


def test_a_server_request_must_be_defined_by_the_revision() -> None:
    """LC-3: elicitation came with 2025-06-18, its URLs with 2025-11-25."""
    cases = [
        ("2024-11-05", "elicitation/create", "form", -32601),
        ("2025-06-18", "elicitation/create", "url", -32602),
        ("2025-06-18", "elicitation/create", "form", None),
        ("2025-11-25", "elicitation/create", "url", None),
        ("2024-11-05", "roots/list", "", None),
        ("of a custom transport", "elicitation/create", "url", None),
    ]

    def check(version: str, method: str, mode: str, code: int | None) -> None:
        problem = server_request_problem(version, method, {"mode": mode})

        assert (problem and problem[0]) == code

    check_rows(check, cases)


def test_a_task_is_a_valid_result_only_if_the_server_created_it() -> None:
    """Extension, CreateTaskResult: no provider can return one."""
    task = {"resultType": "task", "taskId": "t"}

    assert result_problem(V2026, "tools/call", task) is not None
    assert result_problem(V2026, "tools/call", task, TASK_RESULT_TYPES) is None
    assert result_problem(V2026, "prompts/get", task, TASK_RESULT_TYPES) is not None
    assert result_problem("2025-11-25", "tools/call", task, TASK_RESULT_TYPES) is not None


def test_a_tasks_get_result_may_have_input_requests() -> None:
    """Extension, GetTaskResult: it is complete."""
    asking = {"inputRequests": {"k": {"method": "roots/list"}}}

    assert result_problem(V2026, "tasks/get", asking) is None
    assert result_problem(V2026, "tools/call", asking) is not None
    assert result_problem(V2026, "tasks/get", {**asking, "requestState": "s"}) is not None


@pytest.mark.parametrize(
    ("capabilities", "names"),
    [
        ({}, []),
        ({"extensions": {"a/b": {}}, "tools": {}, "logging": {}}, ["tools", "logging", "a/b"]),
        ({"tools": {}, "extensions": ["a/b"]}, ["tools"]),
    ],
)
def test_extensions_are_listed_among_the_capabilities(capabilities: dict[str, Any], names: list[str]) -> None:
    """Ours: the single word "extensions" would hide which."""
    assert capability_names(capabilities) == names


def test_skill_results_are_unchanged_and_cacheable() -> None:
    """Extension: as the other lists, in the revision that has it."""
    skill = {"uri": "skill://a/SKILL.md", "frontmatter": {}, "resources": "dynamic"}

    shaped = result_for("2026-07-28", "skills/list", {"skills": [skill]}, {})
    assert shaped == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "skills": [skill]}
    for method in ("skills/get", "resources/directory/read"):
        assert result_for("2026-07-28", method, {}, {}).keys() >= {"ttlMs", "cacheScope"}


def test_of_a_client_only_what_a_revision_defines_is_kept() -> None:
    """Ours: other members may have any size, and stay in memory for a whole conversation."""
    info = {"name": "a", "version": "1", "icons": [{"src": "data:"}], "more": 1}
    capabilities = {"elicitation": {"form": {}}, "experimental": {"x": {}}, "more": [1]}

    kept = ({"name": "a", "version": "1"}, {"elicitation": {"form": {}}, "experimental": {"x": {}}})
    assert known_client(info, capabilities) == kept
