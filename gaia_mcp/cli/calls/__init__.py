"""What a call needs in addition to its session: its plan, its arguments, and answers to the server's requests."""
