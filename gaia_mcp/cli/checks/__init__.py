"""The checks of `test-client`, and their reports."""
