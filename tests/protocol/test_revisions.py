"""What each revision may carry."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from gaia_mcp.protocol.revisions import (
    CACHEABLE,
    call_result_for,
    can_declare,
    capabilities_for,
    capability_names,
    content_for,
    info_for,
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
from gaia_mcp.protocol.versions import ALL_VERSIONS, HANDSHAKE_VERSIONS
from tests.protocol_support import SERVER, SERVER_INFO

V2024, V2025_03, V2025_06, V2025_11, V2026 = "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"
# What goes into the `_meta` of every stateless result.
SIGNATURE = {SERVER_INFO: SERVER}
every_version = pytest.mark.parametrize("version", ALL_VERSIONS)
ANNOTATIONS = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-11-01T00:00:00Z"}


def versions_with(member: str, shape: Any, value: dict[str, Any]) -> set[str]:
    return {version for version in ALL_VERSIONS if member in shape(version, value)}


@pytest.mark.parametrize(
    ("member", "versions"),
    [
        ("name", set(ALL_VERSIONS)),
        ("com.example.own", set(ALL_VERSIONS)),
        ("annotations", {V2025_03, V2025_06, V2025_11, V2026}),
        ("title", {V2025_06, V2025_11, V2026}),
        ("outputSchema", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
        ("execution", {V2025_11}),
    ],
)
def test_a_tool_has_what_its_revision_knows(member: str, versions: set[str]) -> None:
    """Spec: the revisions' schemas; `execution` went away with the tasks of 2025-11-25."""
    tool = {"name": "t", "inputSchema": {"type": "object"}, member: {"type": "object"}}

    assert versions_with(member, tool_for, tool) == versions


@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {}, True])
def test_an_output_that_may_be_anything_is_described_to_stateless_clients_only(schema: object) -> None:
    """Spec: an object schema up to 2025-11-25, any schema since."""
    assert versions_with("outputSchema", tool_for, {"name": "t", "outputSchema": schema}) == {V2026}


@pytest.mark.parametrize(
    ("member", "versions"),
    [
        ("name", set(ALL_VERSIONS)),
        ("description", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
    ],
)
def test_a_prompt_has_what_its_revision_knows(member: str, versions: set[str]) -> None:
    """Spec: the revisions' schemas."""
    assert versions_with(member, prompt_for, {"name": "p", member: "x"}) == versions


@every_version
def test_a_prompts_arguments_have_titles_where_the_revision_knows_them(version: str) -> None:
    """Spec: since 2025-06-18."""
    shaped = prompt_for(version, {"name": "p", "arguments": [{"name": "a", "title": "A", "required": True}]})

    (argument,) = shaped["arguments"]
    assert (argument["name"], argument["required"]) == ("a", True)
    assert ("title" in argument) is (version in (V2025_06, V2025_11, V2026))


@pytest.mark.parametrize(
    ("member", "versions"),
    [
        ("uri", set(ALL_VERSIONS)),
        ("size", set(ALL_VERSIONS)),
        ("annotations", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("_meta", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
    ],
)
def test_a_resource_has_what_its_revision_knows(member: str, versions: set[str]) -> None:
    """Spec: the revisions' schemas; size was there from the first."""
    assert versions_with(member, resource_for, {"uri": "u", "name": "n", member: "x"}) == versions


@pytest.mark.parametrize(
    ("member", "versions"),
    [
        ("version", set(ALL_VERSIONS)),
        ("title", {V2025_06, V2025_11, V2026}),
        ("icons", {V2025_11, V2026}),
        ("websiteUrl", {V2025_11, V2026}),
        ("description", {V2025_11, V2026}),
    ],
)
def test_an_implementation_has_what_its_revision_knows(member: str, versions: set[str]) -> None:
    """Spec: the revisions' schemas."""
    assert versions_with(member, info_for, {"name": "n", member: "x"}) == versions


@pytest.mark.parametrize(
    ("member", "versions"),
    [
        ("tools", set(ALL_VERSIONS)),
        ("experimental", set(ALL_VERSIONS)),
        ("completions", {V2025_03, V2025_06, V2025_11, V2026}),
        ("elicitation", {V2025_06, V2025_11, V2026}),
        ("extensions", {V2026}),
    ],
)
def test_a_capability_is_offered_where_the_revision_knows_it(member: str, versions: set[str]) -> None:
    """Spec: the revisions' schemas."""
    assert versions_with(member, capabilities_for, {member: {}}) == versions


@every_version
@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "AA==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "u", "text": "x"}},
        {"type": "resource", "resource": "nonsense"},
        {"type": "of tomorrow", "x": 1},
        {"no": "type"},
    ],
)
def test_a_block_that_every_revision_knows_is_left_as_it_is(version: str, block: dict[str, Any]) -> None:
    """Ours: also what is no block at all, for the agent's sake."""
    assert content_for(version, block) == block


@every_version
def test_a_block_has_what_its_revision_knows(version: str) -> None:
    """Spec: `_meta` and `lastModified` came with 2025-06-18, also inside an embedded resource."""
    resource = {"uri": "u", "text": "x", "_meta": {"a": 1}}
    shaped = content_for(
        version, {"type": "resource", "resource": resource, "annotations": ANNOTATIONS, "_meta": {"a": 1}}
    )

    newer = version in (V2025_06, V2025_11, V2026)
    assert ("_meta" in shaped) is newer
    assert ("_meta" in shaped["resource"]) is newer
    assert ("lastModified" in shaped["annotations"]) is newer
    assert shaped["annotations"]["priority"] == 0.5
    assert ("lastModified" in resource_for(version, {"uri": "u", "annotations": ANNOTATIONS})["annotations"]) is newer


@every_version
def test_sound_becomes_words_where_the_revision_has_none(version: str) -> None:
    """Spec: audio came with 2025-03-26. Ours: the nearest thing that the client can read."""
    block = {"type": "audio", "data": "AA==", "mimeType": "audio/wav"}
    shaped = content_for(version, block)

    if version == V2024:
        assert shaped["type"] == "text"
        assert "audio/wav" in shaped["text"]
        assert "unknown type" in content_for(version, {"type": "audio"})["text"]
    else:
        assert shaped == block


@every_version
def test_a_link_becomes_its_address_where_the_revision_has_none(version: str) -> None:
    """Spec: resource links came with 2025-06-18, their icons with 2025-11-25."""
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


@every_version
@pytest.mark.parametrize("structured", [{"a": 1}, {}])
def test_a_structured_object_is_carried_since_2025_06_18(version: str, structured: object) -> None:
    """Spec."""
    shaped = call_result_for(version, {"content": [], "structuredContent": structured, "isError": False})

    assert shaped.get("structuredContent") == (None if version in (V2024, V2025_03) else structured)
    assert shaped["isError"] is False


@every_version
@pytest.mark.parametrize("structured", [[1, 2], "text", 5, True, None])
def test_any_other_structured_value_is_carried_to_stateless_clients_only(version: str, structured: object) -> None:
    """Spec 2026-07-28: any JSON value, null too."""
    shaped = call_result_for(version, {"content": [], "structuredContent": structured})

    assert ("structuredContent" in shaped) is (version == V2026)
    if version == V2026:
        assert shaped["structuredContent"] == structured


@every_version
def test_every_block_of_a_result_is_shaped(version: str) -> None:
    """Ours: content is always there, for it is required."""
    blocks = [{"type": "text", "text": "x", "_meta": {}}, {"type": "resource_link", "uri": "u", "name": "n"}]
    shaped = call_result_for(version, {"content": blocks})

    assert shaped["content"] == [content_for(version, block) for block in blocks]
    assert call_result_for(version, {}) == {"content": []}


@every_version
def test_every_message_of_a_prompt_is_shaped(version: str) -> None:
    """Spec: messages hold content blocks."""
    block = {"type": "audio", "data": "AA==", "mimeType": "audio/wav", "_meta": {}}
    shaped = prompt_result_for(version, {"description": "d", "messages": [{"role": "user", "content": block}]})

    assert shaped == {"description": "d", "messages": [{"role": "user", "content": content_for(version, block)}]}


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "user", "content": "text"}])
def test_a_message_without_a_block_is_left_as_it_is(message: dict[str, Any]) -> None:
    """Ours: an agent's mistake must not stop the server."""
    assert prompt_result_for(V2025_11, {"messages": [message]}) == {"messages": [message]}


@every_version
def test_the_contents_of_a_resource_are_shaped(version: str) -> None:
    """Spec: `_meta` came with 2025-06-18."""
    shaped = read_result_for(version, {"contents": [{"uri": "u", "text": "x", "_meta": {}}]})

    (contents,) = shaped["contents"]
    assert (contents["uri"], contents["text"]) == ("u", "x")
    assert ("_meta" in contents) is (version in (V2025_06, V2025_11, V2026))


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


@pytest.mark.parametrize("method", RESULTS)
def test_the_first_revision_gets_nothing_that_came_later(method: str) -> None:
    """Spec: every result, through and through."""
    shaped = str(result_for(V2024, method, RESULTS[method], SIGNATURE))

    for newer in ("title", "icons", "_meta", "resultType", "ttlMs", "cacheScope"):
        assert newer not in shaped


@pytest.mark.parametrize("method", RESULTS)
@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_result_of_the_handshake_era_has_nothing_of_the_stateless_one(version: str, method: str) -> None:
    """Spec, DE-4."""
    assert set(result_for(version, method, RESULTS[method], SIGNATURE)) == set(RESULTS[method])


@pytest.mark.parametrize("method", [*RESULTS, "server/discover", "subscriptions/listen"])
def test_a_stateless_result_says_what_it_is_whose_and_for_how_long(method: str) -> None:
    """Spec 2026-07-28, MS-5 and MS-11."""
    shaped = result_for(V2026, method, RESULTS.get(method, {}), SIGNATURE)

    assert shaped["resultType"] == "complete"
    assert shaped["_meta"] == {SERVER_INFO: SERVER}
    lasting = {key: value for key, value in shaped.items() if key in ("ttlMs", "cacheScope")}
    assert lasting == ({"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {})


def test_what_the_agent_says_itself_is_kept() -> None:
    """Ours: an agent may know better."""
    own = {"tools": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": {"a": 1}}

    assert result_for(V2026, "tools/list", own, {}) == own
    assert result_for(V2026, "tools/list", own, SIGNATURE)["_meta"] == {"a": 1, SERVER_INFO: SERVER}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_what_the_agent_says_for_stateless_clients_is_kept_from_the_others(version: str) -> None:
    """Spec, DE-4: the handshake era knows neither kinds of results nor caches."""
    own = {"tools": [], "resultType": "complete", "ttlMs": 5, "cacheScope": "public", "_meta": {"a": 1}}

    assert result_for(version, "tools/list", own, SIGNATURE) == {"tools": [], "_meta": {"a": 1}}


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_a_result_that_asks_for_input_has_nothing_else(method: str) -> None:
    """Spec 2026-07-28: no content, and no cache for what is not complete."""
    asking = {"resultType": "input_required", "requestState": "s"}

    assert result_for(V2026, method, asking, {}) == asking


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
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
    ],
)
def test_a_result_that_a_stateless_client_must_not_get_has_a_problem(method: str, result: Any, words: str) -> None:
    """Spec 2026-07-28, MS-5, MS-7, MS-8, MS-11, MS-15."""
    problem = result_problem(V2026, method, result)

    assert problem is not None
    assert words in problem


@pytest.mark.parametrize(
    ("version", "params", "lacks"),
    [
        (V2025_11, {"name": "t"}, True),
        (V2025_11, {"name": "t", "task": None}, True),
        (V2025_11, {"name": "t", "task": {}}, False),
        (V2025_11, {"name": "t", "task": {"ttl": 5}}, False),
        (V2025_06, {"name": "t"}, False),
        (V2026, {"name": "t"}, False),
    ],
)
def test_a_client_of_one_revision_can_ask_for_a_task(version: str, params: Any, lacks: bool) -> None:
    """Spec 2025-11-25, LS-8: before, there are none; later, the server alone decides."""
    assert lacks_task(version, params) is lacks


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_handshake_client_gets_complete_results_with_contents(version: str) -> None:
    """Spec, DE-4: the others are of the stateless era, in which a result may be kept."""
    assert version in (result_problem(version, "tools/call", {"resultType": "input_required"}) or "")
    assert result_problem(version, "resources/read", {"contents": []}) is not None
    assert result_problem(version, "tools/list", {"tools": [], "ttlMs": -1, "cacheScope": "x"}) is None


@every_version
@pytest.mark.parametrize("method", RESULTS)
def test_a_result_that_may_be_sent_has_no_problem(version: str, method: str) -> None:
    """Spec: every kind of result."""
    assert result_problem(version, method, RESULTS[method]) is None
    assert result_problem(version, method, {**RESULTS[method], "resultType": "complete"}) is None


def test_a_result_that_asks_for_input_has_no_problem() -> None:
    """Spec 2026-07-28, MS-8."""
    assert result_problem(V2026, "tools/call", {"resultType": "input_required", "requestState": "s"}) is None


@every_version
@pytest.mark.parametrize("method", RESULTS)
def test_shaping_leaves_the_agents_own_values_as_they_were(version: str, method: str) -> None:
    """Ours: the same definitions are shown to the next client."""
    value = copy.deepcopy(RESULTS[method])
    result_for(version, method, value, SIGNATURE)
    annotated = {"uri": "u", "annotations": dict(ANNOTATIONS)}
    resource_for(version, annotated)

    assert value == RESULTS[method]
    assert annotated["annotations"] == ANNOTATIONS


@pytest.mark.parametrize(
    ("version", "capability", "can"),
    [
        ("2024-11-05", "completions", False),
        ("2025-03-26", "completions", True),
        ("2026-07-28", "completions", True),
        ("2024-11-05", "prompts", True),
        ("1.0.0", "completions", True),
    ],
)
def test_a_server_can_declare_what_its_revision_knows(version: str, capability: str, can: bool) -> None:
    """Spec 2025-03-26, key changes: the capability `completions` was added then."""
    assert can_declare(version, capability) is can


@pytest.mark.parametrize(
    ("version", "method", "mode", "code"),
    [
        ("2024-11-05", "elicitation/create", "form", -32601),
        ("2025-06-18", "elicitation/create", "url", -32602),
        ("2025-06-18", "elicitation/create", "form", None),
        ("2025-11-25", "elicitation/create", "url", None),
        ("2024-11-05", "roots/list", "", None),
        ("of a custom transport", "elicitation/create", "url", None),
    ],
)
def test_a_server_request_is_one_of_its_revision(version: str, method: str, mode: str, code: int | None) -> None:
    """LC-3."""
    problem = server_request_problem(version, method, {"mode": mode})

    assert (problem and problem[0]) == code


def test_a_task_is_a_result_only_where_it_was_made_by_the_server() -> None:
    """Extension, CreateTaskResult: no provider can return one."""
    task = {"resultType": "task", "taskId": "t"}

    assert result_problem(V2026, "tools/call", task) is not None
    assert result_problem(V2026, "tools/call", task, TASK_RESULT_TYPES) is None
    assert result_problem(V2026, "prompts/get", task, TASK_RESULT_TYPES) is not None
    assert result_problem("2025-11-25", "tools/call", task, TASK_RESULT_TYPES) is not None


def test_the_state_of_a_task_may_have_what_it_asks_for() -> None:
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
def test_capabilities_are_named_with_those_of_extensions(capabilities: dict[str, Any], names: list[str]) -> None:
    """Ours: "extensions" tells nothing."""
    assert capability_names(capabilities) == names


def test_skills_have_one_shape_and_can_be_cached() -> None:
    """Extension: as the other lists, in the revision that has it."""
    skill = {"uri": "skill://a/SKILL.md", "frontmatter": {}, "resources": "dynamic"}

    shaped = result_for("2026-07-28", "skills/list", {"skills": [skill]}, {})
    assert shaped == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "skills": [skill]}
    for method in ("skills/get", "resources/directory/read"):
        assert result_for("2026-07-28", method, {}, {}).keys() >= {"ttlMs", "cacheScope"}
