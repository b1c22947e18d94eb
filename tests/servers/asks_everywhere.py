"""The stateless era: wants to know something before it answers anything, also where it may not ask."""

from __future__ import annotations

import json

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if "id" not in message:
        return None
    method, params = message["method"], message.get("params", {})
    if method == "server/discover":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "prompts": {}, "resources": {}}}
        return _wire.result(message, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **found})
    if "inputResponses" in params:
        own = {key: value for key, value in params.items() if key != "_meta"}
        return _wire.result(message, {"resultType": "complete", **_wire.text(json.dumps(own))})
    question = {"method": "roots/list"}
    return _wire.result(
        message, {"resultType": "input_required", "requestState": "s", "inputRequests": {"r": question}}
    )


_wire.serve(answer)
