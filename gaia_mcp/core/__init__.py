"""Facts that every floor may use: errors, deadlines, names, paths, files, spans. They know no rule of MCP."""
