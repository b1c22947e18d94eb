"""Tool definitions: schemas, arguments, contracts, and signs of tool poisoning."""
