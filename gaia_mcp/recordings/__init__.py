"""Recorded conversations: written as a transcript, divided into requests with their responses, and replayed. Pure."""
