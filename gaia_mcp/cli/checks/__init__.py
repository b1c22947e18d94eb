"""What `test-client` looks at, and how it tells."""
