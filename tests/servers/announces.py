"""Announces what the lines of the file named by ORDERS say, as they come, in the era whose revision is its argument.

The lines: `add NAME`, `remove NAME`, `touch URI`, `end URI`, `log LEVEL TEXT`, `mutter TEXT` to stderr, `die STATUS`.
WITHHELD names what it does not grant of what it is asked to announce; with `everything` it refuses to.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import _wire

STATELESS = sys.argv[1] >= "2026"
LISTED = {"listChanged": True}
CAPABILITIES = {"tools": LISTED, "prompts": LISTED, "resources": {**LISTED, "subscribe": True}, "logging": {}}
KEY = "io.modelcontextprotocol/subscriptionId"
names = ["echo"]
# The requests that asked to be told, by what they asked for.
asked: dict[str, object] = {}


def notify(method: str, params: _wire.Message, about: str) -> None:
    if STATELESS:
        params = {**params, "_meta": {KEY: asked.get(about)}}
    _wire.send({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params})


def obey(order: str) -> None:
    word, _, rest = order.partition(" ")
    if word == "add":
        names.extend(rest.split())
    if word == "remove":
        names.remove(rest)
    if word in ("add", "remove"):
        notify("tools/list_changed", {}, "lists")
    if word == "touch":
        notify("resources/updated", {"uri": rest}, rest)
    if word == "end":
        _wire.send({"jsonrpc": "2.0", "id": asked[rest], "result": {"resultType": "complete"}})
    if word == "log":
        level, _, text = rest.partition(" ")
        notify("message", {"level": level, "logger": "app", "data": text}, "lists")
    if word == "mutter":
        print(rest, file=sys.stderr, flush=True)
    if word == "die":
        os.unlink(os.environ["ORDERS"])  # noqa: PTH108 (the next process has orders of its own)
        os._exit(int(rest))


def take_orders(done: int) -> int:
    """Obey the orders that have come after the first `done`; how many have been obeyed now."""
    try:
        with open(os.environ["ORDERS"], encoding="utf-8") as file:  # noqa: PTH123
            orders = file.read().split("\n")[:-1]
    except FileNotFoundError:
        orders = []
    for order in orders[done:]:
        obey(order)
    return max(done, len(orders))


def keep_taking_orders(done: int) -> None:
    while True:
        time.sleep(0.01)
        done = take_orders(done)


def result(message: _wire.Message, value: _wire.Message) -> _wire.Message:
    return _wire.result(message, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **value})


def subscription(message: _wire.Message) -> _wire.Message | None:
    if not STATELESS:
        return _wire.result(message, {})
    if os.environ.get("WITHHELD") == "everything":
        return _wire.error(message, -32601, "Method not found")
    wanted = message["params"]["notifications"]
    for about in wanted.get("resourceSubscriptions", ["lists"]):
        asked[about] = message["id"]
    kept = {about: value for about, value in wanted.items() if about not in os.environ.get("WITHHELD", "").split()}
    granted = {"notifications": kept, "_meta": {KEY: message["id"]}}
    _wire.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": granted})
    return None


def answer(message: _wire.Message) -> _wire.Message | None:
    method = message.get("method")
    info = {"name": "announces.py", "version": "1"}
    if method == "server/discover" and STATELESS:
        meta = {"io.modelcontextprotocol/serverInfo": info}
        return result(message, {"supportedVersions": [sys.argv[1]], "capabilities": CAPABILITIES, "_meta": meta})
    if method == "initialize" and not STATELESS:
        first = {"protocolVersion": sys.argv[1], "capabilities": CAPABILITIES, "serverInfo": info}
        return _wire.result(message, first)
    if method in ("subscriptions/listen", "resources/subscribe"):
        return subscription(message)
    if method == "resources/read" and message["params"]["uri"] == "x://gone":
        return _wire.error(message, -32602, "no such resource")
    answers: _wire.Message = {
        "tools/list": {"tools": [_wire.tool(name) for name in names]},
        "prompts/list": {"prompts": [{"name": "review"}]},
        "resources/list": {"resources": [{"uri": "x://a", "name": "a"}]},
        "resources/read": {"contents": [{"uri": "x://a", "text": f"{len(names)} names"}]},
        "logging/setLevel": {},
        "ping": {},
    }
    if method in answers:
        return result(message, answers[method])
    return _wire.error(message, -32601, "Method not found") if "id" in message else None


# The first orders before any answer: on a busy machine a thread may begin only when the last request is answered.
threading.Thread(target=keep_taking_orders, args=(take_orders(0),), daemon=True).start()
_wire.serve(answer)
