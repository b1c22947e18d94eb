"""The output for a person: results, remarks, tables, colours, images, and progress."""
