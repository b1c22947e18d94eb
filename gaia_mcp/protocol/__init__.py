"""The MCP conversation as pure rules: no input or output, no clock, no thread, no environment.

Bytes become records (`lines`), records become messages (`jsonrpc`), a connection (`client`, `server`, both built on
`connection`) turns messages into events and says what to send. Whoever owns the pipe feeds it and writes what it says.
"""
