"""The built-in agent `filesystem`: reading, writing and listing below one folder."""
