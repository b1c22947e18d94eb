"""Rules about a tool's definition: schemas, arguments, contract, poisoned texts."""
