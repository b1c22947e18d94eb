"""Type hints as JSON Schemas, and JSON values as what the hints ask for.

A hint is read once into a tree of kinds (`reading`). A kind writes its schema, and converts a JSON value: an object
becomes a dataclass, a text a date, a list a set (`kinds`; `texts` for what JSON carries as text, `records` for what
has named members). `definitions` holds the schemas that a schema refers to. `docstrings` reads descriptions.

The schemas mean what pydantic's mean for the same hints, so that a tool moves here from the official SDK unchanged, but
for three: bytes are base64, a parameter with the default None accepts null, and unknown arguments are refused.

pydantic itself is never imported. Its models and types are read with it where a hint contains one, for then it is
loaded.
"""
