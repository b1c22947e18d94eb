"""What is secret, and how it is kept out of all that is printed and written. There is one definition, and one masker.

A text is a secret by the name that stands before it (`names`), by its look (`looks`), or by its place, as in a URL
(`finding`). Never is a path, an ordinary word, a number or a URL without credentials, unless its name says so. This is
guesswork: what no rule knows is missed. What is shown of a configuration has `****` in these places (`arguments`).

What a server was given (`given`) it may repeat, in a form of its own: quoted, escaped, encoded, cut off. A `Masker`
(`masker`) is made of these secrets and finds each of them in all of its forms (`forms`).
"""

from __future__ import annotations

from gaia_mcp.redaction.arguments import masked, masked_arguments, masked_members, masked_url, masked_value
from gaia_mcp.redaction.names import looks_secret

__all__ = ["looks_secret", "masked", "masked_arguments", "masked_members", "masked_url", "masked_value"]
