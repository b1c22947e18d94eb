"""The built-in agents of AgentVault: `filesystem` and `code-runner`."""
