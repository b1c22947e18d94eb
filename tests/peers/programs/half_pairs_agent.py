"""An agent all of whose texts hold half of a surrogate pair, as bytes that are not UTF-8 are in Python."""

from gaia_mcp import MCPAgent, current_call, tool

HALF = "a\udcffb"


class HalfPairs(MCPAgent):
    version = HALF

    @tool(description=HALF)
    def returns(self) -> str:
        return HALF

    @tool
    def keys(self) -> dict[str, list[str]]:
        return {HALF: [HALF, "\ud83d\ude00", r"\ud800"]}

    @tool
    def raises(self) -> str:
        raise ValueError(HALF)

    @tool
    def tells(self) -> str:
        call = current_call()
        call.progress(1, 2, HALF)
        call.log("warning", {HALF: HALF})
        return HALF

    @tool
    def echo(self, text: str) -> str:
        return text
