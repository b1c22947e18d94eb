"""Agents: the base classes that people subclass, the built-in ones, and how one is found and made."""
