"""An agent behind a gateway: it asks in every way, and counts how often it runs."""

from __future__ import annotations

from dataclasses import dataclass

from gaia_mcp import Call, Elicit, MCPAgent, Sample, tool


@dataclass
class Order:
    """What a person fills in."""

    size: str


class Asker(MCPAgent):
    """Its tools ask, report, log and wait."""

    runs = 0
    charges = 0

    @tool
    def order(self, call: Call, cups: int = 1) -> str:
        """Ask twice, and charge once."""
        self.runs += 1
        size = call.elicit("Which size?", Order).value.size
        charged = call.once("charge", self._charge)
        sugar = call.elicit("How much sugar?", Order).value.size
        return f"{cups} {size}, {sugar} sugar, charge {charged}"

    def _charge(self) -> int:
        self.charges += 1
        return self.charges

    @tool
    def counts(self) -> dict[str, int]:
        """How often it has run and charged."""
        return {"runs": self.runs, "charges": self.charges}

    @tool
    def log_in(self, call: Call) -> str:
        """Ask the person to open a URL."""
        return call.elicit_url("Log in", "https://example.com/login?s=1").action

    @tool
    def where(self, call: Call) -> str:
        """Ask a model, and for the folders."""
        return f"{call.sample('Hi').text} in {call.roots()[0].uri}"

    @tool
    def can(self, call: Call) -> dict[str, bool]:
        """What the client can be asked."""
        return {"elicit": call.can_ask(Elicit("Which size?", Order)), "sample": call.can_ask(Sample("Hi"))}

    @tool
    def report(self, call: Call) -> str:
        """Report progress, and log."""
        call.progress(1, 2, "half")
        call.log("warning", {"kept": ["as", "it", 1]})
        call.progress(2, 2, "done")
        return "reported"

    @tool
    def wait(self, call: Call) -> str:
        """Wait until the call is cancelled."""
        call.progress(1)
        try:
            call.wait(60)
        finally:
            self.runs -= 100
        return "not cancelled"

    @tool(task="optional")
    def poem(self, call: Call) -> str:
        """Go on as a task where the client accepts one, and ask."""
        call.continue_as_task()
        return call.elicit("Which size?", Order).value.size
