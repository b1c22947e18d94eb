"""Entries on their way to other hosts and back: which files are meant, what is compared, what is printed."""
