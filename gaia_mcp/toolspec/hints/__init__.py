"""Converts type hints to JSON Schemas, and JSON values to the types of the hints.

A hint is read once into a tree of kinds (`reading`, which also reads descriptions from docstrings and limits from
`Annotated`). A kind creates its schema, and converts a JSON value: an object becomes a dataclass, a string a date, a
list a set (`kinds`, which also collects the schemas that are referenced).

The schemas are equivalent to pydantic's for the same hints, so that a tool can be moved here from the official SDK
unchanged, with three exceptions: bytes are base64, a parameter with the default None accepts null, and unknown
arguments are rejected.

pydantic itself is never imported. If a hint contains one of its models or types, it is loaded already, and is used.
"""
