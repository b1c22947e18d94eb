"""The conversation with one server: its state, waiting callers, and the server's requests."""
