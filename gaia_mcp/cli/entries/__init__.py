"""Finding, reading and editing the entries of servers."""
