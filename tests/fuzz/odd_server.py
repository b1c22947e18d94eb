"""A server that sends mutated messages, as a function of what it is asked.

To each request it sends some mutated messages and then the valid response, so that no request may wait for its time to
run out: whatever came before, a client that gets its response has an outcome.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol import ALL_VERSIONS, STATELESS_VERSIONS
from tests.fuzz.clients import OTHERS, response_to
from tests.fuzz.mutations import Mutator
from tests.fuzz.oracles import check_from_client
from tests.protocol_support import note, rpc_error, rpc_result

if TYPE_CHECKING:
    from random import Random

Wire = dict[str, Any]
# Given to the server, and so looked for in all that it sends.
SECRET = "hunter22"
INPUT_REQUIRED = {
    "resultType": "input_required",
    "requestState": "s",
    "inputRequests": {"name": {"method": "elicitation/create", "params": {"message": "Who?"}}},
}
OPENING = ("server/discover", "initialize")
# The tool after whose call it sends valid messages only, and the result of that call.
QUIET = "quiet"
LAST = {"content": [], "structuredContent": {"nonce": "last"}}
TASK = {"resultType": "task", "taskId": "t1", "status": "working", "pollIntervalMs": 50, "ttlMs": 1000}


class OddServer:
    """One server, for one conversation at a time; after a call of `QUIET` it sends valid messages only. `has_task` says
    whether it has made a task of a call. With `opens_validly` its clients are sure to agree with it on a revision.
    """

    def __init__(self, random: Random, *, opens_validly: bool = False) -> None:
        self.random = random
        self._opens_validly = opens_validly
        self.is_noisy = True
        self.has_task = False
        self._version = random.choice(ALL_VERSIONS)
        self._mutator = Mutator(random)

    def answers(self, asked: Any) -> list[bytes]:
        """The records that follow a message of the client's. Raises `Fault` if that is invalid."""
        check_from_client(asked, None)
        if "method" not in asked or "id" not in asked:
            return []
        if asked.get("params", {}).get("name") == QUIET:
            self.is_noisy = False
        is_noisy = self.is_noisy and not (self._opens_validly and asked["method"] in OPENING)
        noise = range(self.random.choice((1, 1, 2, 4)) if is_noisy else 0)
        records = [self._mutator.record(self._near(asked)) for _ in noise]
        return [*records, json.dumps(self._valid(asked)).encode()]

    def _valid(self, asked: Wire) -> Wire:
        if asked["method"] == "tasks/get":
            valid = rpc_result(asked["id"], {**TASK, "status": "completed", "result": LAST})
        elif asked["method"] == "tools/call" and not self.is_noisy:
            valid = rpc_result(asked["id"], LAST)
        else:
            valid = response_to(asked, self._version, self.random)
        if "result" in valid and self._version in STATELESS_VERSIONS:
            valid["result"] = {"resultType": "complete", **valid["result"]}
        return valid

    def _near(self, asked: Wire) -> Wire:
        """Something that a server may send when it is asked this."""
        random, kind = self.random, self.random.random()
        if kind < 0.6:
            return response_to(asked, self._version, random)
        if kind < 0.7:
            token = {"progressToken": asked["id"], "progress": random.random(), "total": 1, "message": f"is {SECRET}"}
            return note("notifications/progress", token)
        if kind < 0.75:
            return rpc_error(asked["id"], random.choice((-32601, -32602, -32603)), f"no {SECRET}", {"a": [SECRET]})
        if kind < 0.78:
            return rpc_result(asked["id"], INPUT_REQUIRED)
        if kind < 0.785:
            self.has_task = True
            return rpc_result(asked["id"], TASK)
        return random.choice(OTHERS)
