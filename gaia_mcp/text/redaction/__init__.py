"""What counts as a secret, and how secrets are masked in all output. There is one definition, and one masker.

A text is a secret by its name, by its look, or by its position, for example in a URL. A path, an ordinary word, a
number or a URL without credentials is not, unless its name is that of a secret. These are heuristics: they miss other
secrets. A configuration is shown with `****` in place of secrets (`finding`).

A server may print the secrets that it was given in another form: quoted, escaped, encoded, cut off. A `Masker`
(`masker`) is created from these secrets, and finds each of them in all its forms.
"""

from __future__ import annotations

from gaia_mcp.text.redaction.finding import (
    looks_secret,
    masked,
    masked_arguments,
    masked_members,
    masked_url,
    masked_value,
)

__all__ = ["looks_secret", "masked", "masked_arguments", "masked_members", "masked_url", "masked_value"]
