"""Entries on their way to other hosts and back, and their editing."""
