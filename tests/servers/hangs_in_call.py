"""Never answers a call, but notes that it was cancelled."""

import _wire

_wire.serve(lambda message: None if message.get("method") == "tools/call" else _wire.handshake(message))
