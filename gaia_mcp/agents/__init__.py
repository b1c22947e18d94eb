"""Agents: the base classes to subclass, the built-in agents, and a loader that finds one by name."""
