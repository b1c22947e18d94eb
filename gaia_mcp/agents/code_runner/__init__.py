"""The built-in agent `code-runner`: Python code in a process of its own."""
