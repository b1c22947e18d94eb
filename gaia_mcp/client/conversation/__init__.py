"""The conversations with one server: how one is opened and replaced, its callers, and the server's requests."""
