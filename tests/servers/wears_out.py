"""Answers as many calls as its second argument says, then does what the first one says, for ever."""

import os
import sys

import _wire

what, left = sys.argv[1], int(sys.argv[2])


def answer(message: _wire.Message) -> _wire.Message | None:
    global left
    if message.get("method") != "tools/call":
        return _wire.handshake(message)
    left -= 1
    if left >= 0:
        return _wire.handshake(message)
    if what == "dies":
        print("fatal: out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    if what == "refuses":
        return _wire.error(message, -32000, f"no more calls for {os.environ.get('API_KEY')}")
    if what == "fails":
        return _wire.result(message, {**_wire.text(f"busy with {os.environ.get('API_KEY')}"), "isError": True})
    if what == "garbles":
        _wire.say(f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {{"content": [')
    return None  # It hangs.


_wire.serve(answer)
