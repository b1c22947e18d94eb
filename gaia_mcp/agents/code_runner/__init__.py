"""The built-in agent `code-runner`: runs Python code in a separate process."""
