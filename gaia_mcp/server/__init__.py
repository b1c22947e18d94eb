"""Serving providers to MCP clients.

A provider describes itself and answers requests (`provider`; `agent` makes one of an agent). `calls` holds the requests
of one client that a provider answers, and knows no transport. A front reads records, runs the calls in its threads and
sends the outgoing messages: `stdio` does so over this process's pipes.
"""
