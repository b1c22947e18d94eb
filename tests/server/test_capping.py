"""Results that are limited in size."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.asking import Call
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.capping import MARK, CappedProvider, shortened, truncated

TEXTS = st.text(st.characters(exclude_categories=[]))


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@given(TEXTS, st.integers(-2, 40))
def test_a_text_keeps_as_many_whole_characters_as_fit(text: str, limit: int) -> None:
    """A9: cut by UTF-8 bytes on a character boundary, also in what is no valid UTF-16."""
    cut = truncated(text, limit)

    if size(text) <= max(0, limit):
        assert cut == text
    else:
        assert cut.endswith(MARK)
        kept = cut.removesuffix(MARK)
        assert text.startswith(kept)
        assert size(kept) <= max(0, limit) < size(text[: len(kept) + 1])


def test_the_mark_is_that_of_the_document() -> None:
    """A9: and what a handler of the document has cut itself stays as it was."""
    assert truncated("x" * 20, 8) == "xxxxxxxx...(truncated)"
    assert truncated("xxxxxxxx...(truncated)", 8) == "xxxxxxxx...(truncated)"


def test_the_blocks_of_a_result_share_its_limit() -> None:
    """A9: later texts are left out, and other content is unchanged, for a part of it is useless."""
    image = {"type": "image", "data": "abcd", "mimeType": "image/png"}
    blocks = [{"type": "text", "text": "abc"}, image, {"type": "text", "text": "de"}, {"type": "text", "text": "f"}]

    assert shortened(blocks, 4) == [blocks[0], image, {"type": "text", "text": f"d{MARK}"}]


class Agent:
    """An agent whose tool repeats a letter, or returns no text."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "repeat", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        return "x" * arguments["times"]


def test_a_capped_provider_truncates_the_results_of_tools() -> None:
    """Ours: all else is as the provider has it."""
    provider = AgentProvider(Agent())
    capped = CappedProvider(provider, 3)

    results = [
        capped.answer("tools/call", {"name": "repeat", "arguments": {"times": times}}, Call()) for times in (3, 4)
    ]

    assert [result["content"][0]["text"] for result in results] == ["xxx", f"xxx{MARK}"]
    assert capped.describe() == provider.describe()
    assert capped.answer("tools/list", {}, Call()) == provider.answer("tools/list", {}, Call())
    capped.on_change(lambda _: None)()
    capped.close()


class Immediate:
    """A provider whose results lack content."""

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        return {"resultType": "task"}


def test_a_result_without_content_is_unchanged() -> None:
    """Ours: one that becomes a task has none yet."""
    provider: Any = Immediate()

    assert CappedProvider(provider, 3).answer("tools/call", {}, Call()) == {"resultType": "task"}
