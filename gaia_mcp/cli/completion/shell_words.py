"""How a shell writes words: read from a line that is still being typed, and written so that it reads them again.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from typing import NamedTuple

_BLANKS = " \t\n"
# What ends a word without being part of one, and names a file as the next.
_REDIRECTIONS = "<>"
# Beside letters and digits. Every other ASCII character has a meaning in some shell, at least somewhere in a word.
_SAFE = "_%+,./:=@^-"
# What has a meaning between double quotes, too.
_SPECIAL_IN_QUOTES = '"\\$`'


class Line(NamedTuple):
    """A line up to the cursor: its words without quotes, the last of them unfinished, perhaps in an open `quote`."""

    words: list[str]
    quote: str
    is_file: bool = False


def read_line(text: str) -> Line:
    """The words of a command line that ends anywhere. The names of files that it is redirected to are left out, but for
    one that is the last word: then `is_file`.
    """
    words: list[str] = []
    word, quote = "", ""
    begun = is_file = False
    rest = iter(text)
    for character in rest:
        if quote:
            if character == quote:
                quote = ""
            elif character == "\\" and quote == '"':
                escaped = next(rest, "")
                word += escaped if escaped in ('"', "\\", "$", "`", "") else f"\\{escaped}"
            else:
                word += character
        elif character in _BLANKS or character in _REDIRECTIONS:
            if begun and not is_file and not (character in _REDIRECTIONS and word.rstrip("&").isdecimal()):
                words.append(word)
            is_file = character in _REDIRECTIONS or (is_file and not begun)
            word, begun = "", False
        else:
            begun = True
            if character in "\"'":
                quote = character
            else:
                word += next(rest, "") if character == "\\" else character
    return Line([*words, word], quote, is_file)


def quoted(text: str, quote: str = "") -> str:
    """`text` as a shell reads it in `quote`, which is open; outside of one with backslashes."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return "".join(f"\\{character}" if character in _SPECIAL_IN_QUOTES else character for character in text)
    return "".join(
        # Letters of other alphabets mean nothing to any shell.
        character if character in _SAFE or character.isalnum() or not character.isascii() else f"\\{character}"
        for character in text
    )
