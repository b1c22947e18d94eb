"""Stands for the command that the test process runs with the standard streams of this one, until either ends.

    python -I -S stand_in.py SOCKET

It starts as fast as Python can.
"""

import socket
import sys

with socket.socket(socket.AF_UNIX) as channel:
    channel.connect(sys.argv[1])
    socket.send_fds(channel, [b"."], [0, 1, 2])
    channel.recv(1)
