"""Agents: the base classes to subclass, the built-in agents, and loading one by its name."""
