"""Keeps what a client has told it, as a server for one client may: its roots, a word, and a tool that it switched on.

Asks about a call only once two calls are open, or, unless they are to be together, after half a second.
"""

import itertools
import os
import threading

import _wire

numbers = itertools.count(1)
# The calls that wait for an answer, by the id of the question; and the calls that a question is still to be asked for.
asked: dict[str, tuple[_wire.Message, str]] = {}
unasked: list[_wire.Message] = []
lock = threading.Lock()
subscribed: set[str] = set()
kept: dict[str, object] = {"roots": None, "word": "", "tools": []}
URI = "mem://word"
FORM = {"type": "object", "properties": {"word": {"type": "string"}}}


def ask_all() -> None:
    with lock:
        waiting = unasked[:]
        unasked.clear()
    for call in waiting:
        label = call["params"]["arguments"]["label"]
        send_question(call, "answer", "elicitation/create", {"message": f"asked for {label}", "requestedSchema": FORM})


def send_question(call: _wire.Message, about: str, method: str, params: _wire.Message) -> None:
    name = f"q{next(numbers)}"
    asked[name] = (call, about)
    _wire.send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})


def answered(message: _wire.Message) -> None:
    call, about = asked.pop(message["id"])
    label = call["params"]["arguments"].get("label", "")
    if about == "roots" and "result" in message:
        kept["roots"] = message["result"]["roots"]
    told = message.get("result", {}).get("content", {}).get("word") or message.get("error", {}).get("message")
    _wire.send(_wire.result(call, _wire.text(str(kept["roots"]) if about == "roots" else f"{label}: {told}")))


def called(message: _wire.Message) -> _wire.Message | None:
    name, given = message["params"]["name"], message["params"].get("arguments", {})
    if name in ("ask", "ask_together"):
        with lock:
            unasked.append(message)
            is_full = len(unasked) > 1
        if is_full:
            ask_all()
        elif name == "ask":
            threading.Timer(0.5, ask_all).start()
        return None
    if name == "roots" and kept["roots"] is None:
        send_question(message, "roots", "roots/list", {})
        return None
    if name == "switch":
        kept["tools"] = [_wire.tool(given["label"])]
        _wire.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if name == "log":
        params = {"level": "warning", "data": given["label"]}
        _wire.send({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
    if name == "keep":
        kept["word"], before = given["label"], kept["word"]
        if URI in subscribed:
            _wire.send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": URI}})
        return _wire.result(message, _wire.text(str(before)))
    return _wire.result(message, _wire.text(str(kept["roots"] if name == "roots" else os.getpid())))


def answer(message: _wire.Message) -> _wire.Message | None:
    if "method" not in message:
        answered(message)
        return None
    if message["method"] == "initialize":
        return _wire.initialized(message, tools={"listChanged": True}, logging={}, resources={"subscribe": True})
    if message["method"] == "resources/list":
        return _wire.result(message, {"resources": [{"uri": URI, "name": "word"}]})
    if message["method"] == "resources/templates/list":
        return _wire.result(message, {"resourceTemplates": []})
    if message["method"] == "resources/read":
        return _wire.result(message, {"contents": [{"uri": URI, "text": kept["word"]}]})
    if message["method"] == "resources/subscribe":
        subscribed.add(message["params"]["uri"])
        return _wire.result(message, {})
    if message["method"] == "tools/list":
        names = ["ask", "ask_together", "roots", "switch", "log", "keep", "pid"]
        return _wire.result(message, {"tools": [*map(_wire.tool, names), *kept["tools"]]})  # type: ignore[misc]
    if message["method"] == "logging/setLevel":
        return _wire.result(message, {})
    return called(message) if message["method"] == "tools/call" else _wire.handshake(message)


if __name__ == "__main__":
    _wire.serve(answer)
