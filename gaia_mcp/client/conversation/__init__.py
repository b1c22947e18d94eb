"""The conversation with one server: its state, the callers that wait, and the server's own requests."""
