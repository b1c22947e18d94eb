"""`OddServer` behind real pipes: `python odd_stdio_server.py SEED`, at the root of the repository."""

from __future__ import annotations

import sys
from random import Random

from tests.fuzz.odd_server import OddServer
from tests.fuzz.oracles import Fault, read_strictly


def main() -> None:
    """Answer until the input ends, or until the client sends something invalid."""
    # A server that is started again begins in the same way: it must be possible to get past that.
    server = OddServer(Random(int(sys.argv[1])), opens_validly=True)
    for line in sys.stdin.buffer:
        try:
            records = server.answers(read_strictly(line))
        except Fault as fault:
            sys.exit(f"{FOUND} {fault}")
        sys.stdout.buffer.write(b"".join(record + b"\n" for record in records))
        sys.stdout.buffer.flush()


# Begins the last line of stderr where the client is at fault.
FOUND = "FAULT"

if __name__ == "__main__":
    main()
