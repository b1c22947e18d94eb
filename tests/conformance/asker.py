"""Has the `PlayingServer` of `client.py` play a scenario, and ends as the client would.

    python -I -S asker.py PORT URL

It starts as fast as Python can.
"""

import os
import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as channel:
    names = ("MCP_CONFORMANCE_SCENARIO", "MCP_CONFORMANCE_PROTOCOL_VERSION", "MCP_CONFORMANCE_CONTEXT")
    channel.sendall("\n".join([*(os.environ.get(name, "") for name in names), sys.argv[2]]).encode())
    channel.shutdown(socket.SHUT_WR)
    with channel.makefile() as replied:
        reply = replied.read()
if reply != "done":
    sys.exit(reply or "the client has not replied")
print(reply)
