"""Frames its messages with Content-Length, as language servers do."""

import json

import _wire

for message in _wire.messages():
    body = json.dumps(_wire.handshake(message)).encode()
    _wire.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
