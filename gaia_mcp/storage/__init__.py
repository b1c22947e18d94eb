"""What is kept on disk: files replaced in one step, JSON files, caches, the lock file, run logs."""
