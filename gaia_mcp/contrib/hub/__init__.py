"""The agents hub: three tools for the programs of Claude, Codex and Gemini, and for OpenAI-compatible endpoints."""
