"""An agent as a provider: any object with `get_mcp_tool_definitions` and `execute_mcp_tool`.

Completes its definitions, checks the arguments of its calls, and turns what it returns into MCP results. Everything
here runs the agent's own code and may raise whatever that raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from typing import Any

from gaia_mcp.protocol.envelope import SKILLS_EXTENSION, TASKS_EXTENSION
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.agent_code import AgentCode
from gaia_mcp.server.agent_completions import AgentCompletions
from gaia_mcp.server.agent_prompts import AgentPrompts
from gaia_mcp.server.agent_resources import AgentResources
from gaia_mcp.server.agent_skills import AgentSkills
from gaia_mcp.server.agent_tools import AgentTools
from gaia_mcp.server.announcer import Announcer
from gaia_mcp.server.definitions import described_agent
from gaia_mcp.server.failures import OnFailure, note_failure, raised
from gaia_mcp.server.provider import LISTS, Change, Listener, Listeners, method_not_found
from gaia_mcp.toolcall import Call, enter_call

Wire = dict[str, Any]


class AgentProvider:
    """Serves `agent`, which another one may replace.

    `report` is called with every problem of the agent's definitions, once: when the definition is read, or, for a
    schema, when it is first used; `on_failure` with every exception of a tool. `list_changes` declares that the lists
    may change, as they do with another agent; an agent that announces changes itself need not be declared.
    """

    def __init__(
        self,
        agent: Any,
        *,
        list_changes: bool = False,
        report: Callable[[str], None] = lambda _: None,
        on_failure: OnFailure = note_failure,
    ) -> None:
        self._list_changes = list_changes
        self._report = report
        self._on_failure = on_failure
        self._listeners = Listeners()
        self._announcer = Announcer(self._listeners.announce, self._listeners)
        self._served = _ServedAgent(agent, report, on_failure)
        self._served.listen(self._announcer.announce)
        # Held to count the running requests of an agent, and to replace it.
        self._lock = threading.Lock()

    @property
    def problems(self) -> list[str]:
        """The problems of the agent's definitions that have been met so far."""
        return self._served.code.problems

    def describe(self) -> Description:
        """Name, version, capabilities and instructions."""
        return self._served.describe(list_changes=self._list_changes)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The result of a request, for which the agent's code runs with `call` as its current call.

        Raises `RequestError`, `CallCancelledError`, and whatever the agent raises outside of a tool.
        """
        with self._lock:
            served = self._served
            served.running += 1
        enter_call(call)
        try:
            if (answer := served.answers.get(method)) is None:
                raise method_not_found(method)
            return answer(params, call)
        finally:
            enter_call(None)
            with self._lock:
                served.running -= 1
                is_last = served is not self._served and not served.running
            if is_last:
                served.end()

    def open(self) -> None:
        """Have the agent open what lives as long as the server; `close` closes it. Raises whatever that raises."""
        self._served.begin()

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` after what the agent announces, and every replacement. Returns a function that ends this."""
        return self._listeners.add(listener, wanted)

    def replace_agent(self, agent: Any) -> None:
        """Serve this agent from now on. Requests that are being answered end with the agent that they began with.

        Raises whatever the agent raises while it is described or opened; the earlier agent then stays.
        """
        served = _ServedAgent(agent, self._report, self._on_failure)
        served.describe()
        if self._served.is_open:
            served.begin()
        with self._lock:
            earlier, self._served = self._served, served
            is_unused = not earlier.running
        earlier.stop_listening()
        served.listen(self._announcer.announce)
        # Other code answers from now on: each resource may have to be read again.
        self._announcer.announce(Change(LISTS, tuple(self._listeners.uris())))
        earlier.code.loop.retire()
        if is_unused:
            earlier.end()

    def close(self) -> None:
        """Close the agent if it was opened, cancel the tools that run on its event loop, and end that."""
        self._served.stop_listening()
        self._announcer.close()
        self._served.end()
        self._served.code.loop.close()


class _ServedAgent:
    """One agent."""

    def __init__(self, agent: Any, report: Callable[[str], None], on_failure: OnFailure) -> None:
        self.code = AgentCode(agent, report, on_failure)
        self.tools = AgentTools(self.code)
        self.prompts = AgentPrompts(self.code)
        self.skills = AgentSkills(self.code)
        self.resources = AgentResources(self.code, self.skills)
        self.completions = AgentCompletions(self.code, self.prompts, self.resources)
        # What an agent answers; a method that is not here is refused, whatever capability it belongs to.
        self.answers: dict[str, Callable[[Wire, Call], Wire]] = {
            "tools/list": self.tools.listed,
            "tools/call": self.tools.call,
            "prompts/list": self.prompts.listed,
            "prompts/get": self.prompts.get,
            "resources/list": self.resources.listed,
            "resources/templates/list": self.resources.list_templates,
            "resources/read": self.resources.read,
            "completion/complete": self.completions.complete,
            "skills/list": self.skills.listed,
            "skills/get": self.skills.get,
            "resources/directory/read": self.skills.read_folder,
        }
        self._on_change = getattr(agent, "on_mcp_change", None)
        self.stop_listening: Callable[[], None] = lambda: None
        self.running = 0
        self.is_open = False
        self._ending = threading.Lock()

    def listen(self, listener: Listener) -> None:
        if callable(self._on_change):
            self.stop_listening = self._on_change(listener)

    def begin(self) -> None:
        self.code.awaited(self.code.optional("begin_mcp"), Call())
        self.is_open = True

    def end(self) -> None:
        # Held until it has ended: what closes the event loop waits for this, also where a signal and the end of the
        # input come at once.
        with self._ending:
            was_open, self.is_open = self.is_open, False
            if not was_open:
                return
            try:
                self.code.awaited(self.code.optional("end_mcp"), Call())
            except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (the server ends all the same)
                self.code.on_failure(f"closing the agent raised {raised(error)}", error)

    def describe(self, *, list_changes: bool = False) -> Description:
        info = self.code.optional("get_mcp_server_info")
        info = described_agent(type(self.code.agent), info if isinstance(info, dict) else {}, self.code.note)
        shown: Wire = {"name": info["name"], "version": info["version"]}
        shown.update({key: info[key] for key in ("title", "description", "websiteUrl", "icons") if info.get(key)})
        announces = callable(self._on_change)
        features = {"listChanged": True} if list_changes or announces else {}
        capabilities: Wire = {"tools": features, "logging": {}, "extensions": {TASKS_EXTENSION: {}}}
        changing = self.code.optional("get_mcp_changing_lists") or ()
        if self.prompts.exist() or "prompts" in changing:
            capabilities["prompts"] = features
        if self.resources.exist() or "resources" in changing:
            capabilities["resources"] = {"subscribe": True, **features} if announces else features
        if self.skills.exist():
            capabilities["extensions"][SKILLS_EXTENSION] = {"directoryRead": True}
        if self.completions.exist():
            capabilities["completions"] = {}
        return Description(shown, capabilities, str(info.get("instructions") or ""))
