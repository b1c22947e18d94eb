"""The agents hub: the programs of Claude, Codex and Gemini, and OpenAI-compatible endpoints, behind three tools."""
