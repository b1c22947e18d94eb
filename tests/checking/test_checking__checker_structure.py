"""The structured content of a result, compared with the output schema of its tool."""

from __future__ import annotations

from typing import Any

from gaia_mcp.checking import structure_problem
from tests.protocol_support import check_rows

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_structured_content_is_compared_with_the_output_schema() -> None:
    """MC-14: not where the tool has failed."""
    cases = [
        (None, {"structuredContent": {"n": "one"}}, ""),
        (NUMBER, {"structuredContent": {"n": 1}}, ""),
        (NUMBER, {"isError": True, "structuredContent": {}}, ""),
        (NUMBER, {"structuredContent": {"n": "one"}}, "the result of 'x' does not match its output schema: n: "),
        (NUMBER, {"structuredContent": None}, "the result of 'x' does not match its output schema: "),
        (NUMBER, {"content": []}, "'x' declares an output schema and sent no structured content"),
        ({"type": 7}, {"structuredContent": {}}, "the output schema of 'x' of server 's' cannot be used: "),
    ]

    def check(schema: Any, result: Any, problem: str) -> None:
        found = structure_problem("s", "x", schema, result, None)

        assert found.startswith(problem) if problem else found == ""

    check_rows(check, cases)
