"""Does nothing wrong: the handshake era, with tools that echo, take long, report progress, and ask."""

from __future__ import annotations

import json
import os
import sys
import threading
from queue import Queue

import _wire
from _wire import Message

answers: dict[str, Queue[Message]] = {}
cancelled = {"none": threading.Event()}


def ask(method: str, params: Message | None = None) -> Message:
    key = f"q{len(answers) + 1}"
    answers[key] = Queue()
    _wire.send({"jsonrpc": "2.0", "id": key, "method": method, **({} if params is None else {"params": params})})
    reply = answers[key].get()
    return reply.get("result") or reply["error"]


def call(asked: Message) -> None:
    name, arguments = asked["params"]["name"], asked["params"].get("arguments", {})
    token = asked["params"].get("_meta", {}).get("progressToken")
    gone = cancelled.setdefault(str(asked["id"]), threading.Event())
    if name == "slow":
        # Ends when it is cancelled, or after the given time.
        if gone.wait(arguments.get("seconds", 60)):
            _wire.note("cancelled slow")
            return
        value = "done"
    elif name == "steps":
        for number in range(arguments["count"]):
            gone.wait(arguments["seconds"])
            progress = {"progressToken": token, "progress": number + 1, "total": arguments["count"]}
            _wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        value = "done"
    elif name == "ask":
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        value = json.dumps(ask("elicitation/create", {"message": "Which city?", "requestedSchema": schema}))
    elif name == "roots":
        value = json.dumps(ask("roots/list"))
    elif name == "any":
        value = json.dumps(ask(arguments["method"], {}))
    elif name == "log":
        data = {"level": "warning", "logger": "l", "data": "hot"}
        _wire.send({"jsonrpc": "2.0", "method": "notifications/message", "params": data})
        value = "logged"
    elif name == "die":
        print("told to die", file=sys.stderr, flush=True)
        os._exit(3)
    elif name == "environment":
        value = json.dumps(dict(os.environ))
    elif name == "refuse":
        _wire.send(_wire.error(asked, -32602, "no such luck", {"why": "x"}))
        return
    else:
        value = json.dumps(arguments)
    _wire.send(_wire.result(asked, _wire.text(value)))


for message in _wire.messages():
    method = message.get("method")
    if method is None:
        answers[message["id"]].put(message)
    elif method == "initialize":
        _wire.note(json.dumps(message["params"]["capabilities"]))
        _wire.send(_wire.initialized(message, logging={}))
    elif method == "tools/list":
        names = ("echo", "slow", "steps", "ask", "roots", "any", "log", "die", "environment", "refuse")
        _wire.send(_wire.result(message, {"tools": [_wire.tool(name) for name in names]}))
    elif method == "tools/call":
        threading.Thread(target=call, args=(message,), daemon=True).start()
    elif method == "notifications/cancelled":
        cancelled.setdefault(str(message["params"]["requestId"]), threading.Event()).set()
    elif method == "logging/setLevel":
        _wire.send(_wire.result(message, {}))
    elif "id" in message:
        answer = _wire.handshake(message)
        assert answer is not None
        _wire.send(answer)
