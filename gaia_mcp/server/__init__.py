"""Serving providers to MCP clients.

A provider describes itself and answers requests (`provider`); `agent` adapts an agent to one. `calls` holds the running
requests of one client, and knows no transport. A front reads records, runs the calls in its threads and sends the
outgoing messages: `stdio` does so over this process's pipes.
"""
