"""Handlers to copy and to change, each complete in a file that can be used as it is."""
