"""The quoting rules of shells: reads the words of an unfinished line, and quotes text so that a shell reads it
unchanged.

Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

from typing import NamedTuple

_BLANKS = " \t\n"
# Each ends a word without being part of it; the next word is the name of a file.
_REDIRECTIONS = "<>"
# Safe in addition to letters and digits. Every other ASCII character is special in some shell, at some position.
_SAFE = "_%+,./:=@^-"
# Special within double quotes, too.
_SPECIAL_IN_QUOTES = '"\\$`'


class Line(NamedTuple):
    """A line up to the cursor: its words without quotes, the last one unfinished, possibly within an open `quote`."""

    words: list[str]
    quote: str
    is_file: bool = False


def read_line(text: str) -> Line:
    """The words of an unfinished command line, without the file names of redirections. If the last word is such a file
    name, it is included, and `is_file` is true.
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
    """`text` escaped for a shell: for use within the open `quote`, or with backslashes if there is none."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        return "".join(f"\\{character}" if character in _SPECIAL_IN_QUOTES else character for character in text)
    return "".join(
        # Non-ASCII letters are not special in any shell.
        character if character in _SAFE or character.isalnum() or not character.isascii() else f"\\{character}"
        for character in text
    )
