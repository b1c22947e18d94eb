"""Recorded conversations: a file format, their division into requests and responses, and a replay. Pure."""
