"""Never answers a call, and has no moment for anything else."""

import _wire

for message in _wire.messages():
    answer = _wire.handshake(message)
    while answer is not None and message["method"] == "tools/call":
        pass
    if answer is not None:
        _wire.send(answer)
