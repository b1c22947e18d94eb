"""Import and export of entries: finds other hosts' files, compares entries, and prints the results."""
