"""Recorded conversations: written as a transcript, taken apart into requests and responses, and replayed. Pure."""
