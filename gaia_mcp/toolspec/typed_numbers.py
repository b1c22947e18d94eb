"""The one definition of a number as a person types it: for arguments, forms, and options of the command line."""

import re

# The digits of other scripts, `1_000` and `nan`, which Python reads as well, are text. Compiled when it is used: at a
# TAB few values are numbers.
_NUMBER = r"(?P<whole>[+-]?[0-9]+)|[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def number_in(text: str) -> int | float | None:
    """The number that `text` is, blanks around it left aside: `3`, `+3`, `-3.5`, `.5`, `1e3`. None for any other text,
    also where the number is infinite as a float, or has more digits than Python reads.
    """
    found = re.fullmatch(_NUMBER, text.strip())
    if found is None:
        return None
    if found["whole"] is None:
        number = float(found[0])
        return number if abs(number) < float("inf") else None
    try:
        return int(found[0])
    except ValueError:
        return None
