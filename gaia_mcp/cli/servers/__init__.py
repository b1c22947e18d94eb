"""Servers while a command uses them: started, asked, all at once, and ended."""
