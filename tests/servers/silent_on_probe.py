"""Says nothing to `server/discover`, and answers everything else."""

import _wire

_wire.serve(lambda message: None if message.get("method") == "server/discover" else _wire.handshake(message))
