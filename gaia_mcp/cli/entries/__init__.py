"""Entries as commands find, read and edit them."""
