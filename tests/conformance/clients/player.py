"""Plays scripts, one after the other: every step of one by one client, which the program that imports this connects.

The scripts come as JSON on standard input, by their names: the server's `command` and `env`, or its `url`, the `era` to
speak, whether the client is `capable` of being asked, and `steps`, each with a name, what to `do`, with which arguments
(`with`), the `answers` to what is asked meanwhile, and how many notifications the client `hears`. Printed is, by the
names of the scripts and of the steps, the result or error as it was on the wire, what was asked, and what was heard.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

# For one step, with a server that may still be starting.
STEP_SECONDS = 30
# Notifications that follow a response are on their way already.
HEARING_SECONDS = 5
ROOTS = {"roots": [{"uri": "file:///work", "name": "work"}]}
MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m", "stopReason": "endTurn"}


class Stage:
    """What the client is asked and hears in the current step."""

    def __init__(self) -> None:
        self.begin({})

    def begin(self, step: dict[str, Any]) -> None:
        """Forget the step before."""
        self._answers = list(step.get("answers", ()))
        self.asked: list[dict[str, Any]] = []
        self.heard: list[dict[str, Any]] = []

    def answer(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        """The result of a request of the server."""
        self.asked.append({"method": method, "params": params or {}})
        if method == "roots/list":
            return ROOTS
        if method == "sampling/createMessage":
            return MESSAGE
        return self._answers.pop(0) if self._answers else {"action": "cancel"}

    def hear(self, method: str, params: dict[str, Any]) -> None:
        """Note a notification."""
        self.heard.append({"method": method, "params": params})

    async def log(self, params: Any) -> None:
        """Note a log message."""
        self.hear("notifications/message", wire(params))

    async def notified(self, message: Any) -> None:
        """Note that something has changed; other notifications have callbacks of their own."""
        message = wire(message)
        if isinstance(message, dict) and message.get("method", "").endswith("ed"):
            self.hear(message["method"], message.get("params") or {})

    async def wait(self, count: int) -> None:
        """Until this many notifications have been heard."""
        for _ in range(HEARING_SECONDS * 100):
            if len(self.heard) >= count:
                return
            await asyncio.sleep(0.01)


class Player:
    """A connected client; each SDK has its own subclass, with the methods that steps name."""

    def __init__(self, client: Any, stage: Stage, era: str) -> None:
        self.client = client
        self.stage = stage
        self.era = era
        # The requestState of the last round.
        self.state = ""

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Note the progress of a call."""
        self.stage.hear("notifications/progress", {"progress": progress, "total": total, "message": message})

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, log_level: str | None = None) -> Any:
        """Call a tool to its end."""
        raise NotImplementedError

    async def send_round(self, **params: Any) -> Any:
        """Send `tools/call` once."""
        raise NotImplementedError

    async def round(self, tool: str, responses: Any = None, state: str = "") -> Any:
        """One round of a call: `state` is the last one, an "altered" one, or none."""
        params: dict[str, Any] = {"name": tool, "arguments": {}}
        if responses is not None:
            params["input_responses"] = responses
        if state:
            params["request_state"] = self.state if state == "last" else self.state[:-9] + "tampered="
        result = wire(await self.send_round(**params))
        self.state = result.get("requestState", "")
        return result

    async def together(self, tool: str, arguments: dict[str, Any], times: int) -> Any:
        """Call a tool several times at once."""
        results = await asyncio.gather(*(self.call(tool, arguments) for _ in range(times)))
        return {"results": [wire(result) for result in results]}

    async def ping(self) -> Any:
        """Ask whether the server is there."""
        return await self.client.send_ping()

    async def cancel(self, tool: str) -> Any:
        """Cancel a call that has reported progress."""
        running = asyncio.create_task(self.call(tool))
        await self.stage.wait(1)
        await self.end(running)
        return {}

    async def watch(self, uri: str) -> Any:
        """Hear of the lists of tools and prompts, and of this resource."""
        raise NotImplementedError

    async def unwatch(self, uri: str) -> Any:
        """Hear of them no longer."""
        raise NotImplementedError

    async def end(self, running: asyncio.Task[Any]) -> None:
        """Cancel this call, as users of the SDK do."""
        running.cancel()
        await asyncio.wait([running])


def callbacks(stage: Stage, types: Any) -> dict[str, Any]:
    """What answers the server, by the names that the callbacks of the official SDK have; `types` are its types."""

    async def elicit(_: Any, params: Any) -> Any:
        return types.ElicitResult.model_validate(stage.answer("elicitation/create", wire(params)))

    async def sample(_: Any, params: Any) -> Any:
        return types.CreateMessageResult.model_validate(stage.answer("sampling/createMessage", wire(params)))

    async def roots(_: Any) -> Any:
        return types.ListRootsResult.model_validate(stage.answer("roots/list", None))

    return {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}


def wire(value: Any) -> Any:
    """A model of an SDK as it is on the wire."""
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def main(connect: Any) -> None:
    """Play the scripts of standard input."""
    observed = {}
    for name, script in json.load(sys.stdin).items():
        try:
            observed[name] = asyncio.run(_play(script, connect))
        except Exception as error:
            error.add_note(f"in the script {name!r}")
            raise
    print(json.dumps(observed))


async def _play(script: dict[str, Any], connect: Any) -> dict[str, Any]:
    stage = Stage()
    observed: dict[str, Any] = {}
    async with connect(script, stage) as player:
        for step in script["steps"]:
            stage.begin(step)
            seen = observed[step["name"]] = {}
            try:
                acting = getattr(player, step["do"])(**step.get("with", {}))
                seen["result"] = wire(await asyncio.wait_for(acting, STEP_SECONDS))
            except Exception as error:
                data = getattr(error, "error", None)
                seen["error"] = {"message": repr(error)} if data is None else wire(data)
            await stage.wait(step.get("hears", 0))
            seen |= {"asked": stage.asked, "heard": stage.heard}
    return observed
