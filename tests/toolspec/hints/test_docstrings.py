"""Descriptions in the three styles of docstrings."""

from __future__ import annotations

import pytest

from gaia_mcp.toolspec.hints.docstrings import read_docstring

GOOGLE = """Send a letter.

    It is sent at once.

    Args:
        to (str): Who gets it,
            in one line.
        text: What it says: all of it.
        *copies: Others.

    Returns:
        The number of the letter.

    Note:
        Stamps are not checked.
    """
NUMPY = """Send a letter.

    It is sent at once.

    Parameters
    ----------
    to : str
        Who gets it,
        in one line.
    text, copies : str, optional
        What it says: all of it.

    Returns
    -------
    int
        The number of the letter.

    Notes
    -----
    Stamps are not checked.
    """
SPHINX = """Send a letter.

    It is sent at once.

    :param str to: Who gets it,
        in one line.
    :param text: What it says: all of it.
    :type text: str
    :returns: The number of the letter.
    """


@pytest.mark.parametrize(
    ("text", "after", "parameters"),
    [
        (
            GOOGLE,
            "\n\nNote:\n    Stamps are not checked.",
            {"to": "Who gets it, in one line.", "text": "What it says: all of it.", "copies": "Others."},
        ),
        (
            NUMPY,
            "\n\nNotes\n-----\nStamps are not checked.",
            {
                "to": "Who gets it, in one line.",
                "text": "What it says: all of it.",
                "copies": "What it says: all of it.",
            },
        ),
        (SPHINX, "", {"to": "Who gets it, in one line.", "text": "What it says: all of it."}),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_a_docstring_describes_the_tool_and_its_parameters(text: str, after: str, parameters: dict[str, str]) -> None:
    """Ours: what a model need not know is left out, and everything else is kept."""
    found = read_docstring(text)

    assert found.description == f"Send a letter.\n\nIt is sent at once.{after}"
    assert found.parameters == parameters


def test_other_docstrings_are_read_as_far_as_possible() -> None:
    """Ours: no docstring is an error."""
    cases = [
        (None, "", {}),
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("\n    Args:\n        a: first\n    ", "", {"a": "first"}),
        ("Do.\n\nArgs:\n    a: first\nThen more.", "Do.\n\nThen more.", {"a": "first"}),
        ("Do.\n\nArgs:\n    no colon here\n    a: first\n\n      second", "Do.", {"a": "first second"}),
        ("Do.\n\nArgs:\n    a:\n        below\n    b: ", "Do.", {"a": "below"}),
        ("Do: it.\nExample: a colon", "Do: it.\nExample: a colon", {}),
        ("Do.\n:raises ValueError: never", "Do.", {}),
        ("Do.\n:param: none", "Do.", {}),
        ("Do.\n:note: this stays", "Do.\n:note: this stays", {}),
        ("Do.\n:param a: first\nThis stays.", "Do.\nThis stays.", {"a": "first"}),
        ("Do.\n\nParameters\n----------\n(odd)\n    what\na\n    first", "Do.", {"a": "first"}),
        ("Do.\n\nRaises:\n    KeyError: a thing", "Do.", {}),
    ]

    wrong = []
    for text, description, parameters in cases:
        found = read_docstring(text)
        if (found.description, found.parameters) != (description, parameters):
            wrong.append((text, found))

    assert not wrong
