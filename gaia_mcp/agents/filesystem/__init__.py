"""The built-in agent `filesystem`: reads, writes and lists files below one folder."""
