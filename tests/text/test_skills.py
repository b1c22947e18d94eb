"""What a SKILL.md tells, good ones and others."""

from __future__ import annotations

import re

from gaia_mcp.text.skills import digest_of, frontmatter_of


def test_the_frontmatter_is_json() -> None:
    """Extension: as it stands, whatever YAML makes of it."""
    text = "\ufeff---\r\nname: a-1\r\ndescription: b\r\nmetadata:\r\n  on: 2026-01-02\r\n  n: [1, null]\r\n---"

    found = frontmatter_of(text.encode())
    assert found == {"name": "a-1", "description": "b", "metadata": {"on": "2026-01-02", "n": [1, None]}}
    assert frontmatter_of(b"---\nname: a\ndescription: b\n---  \n\nText.") == {"name": "a", "description": "b"}


def test_an_invalid_skill_is_refused_with_the_reason() -> None:
    """Extension: name and description are required, and a name is part of a URI."""
    cases = [
        ("no frontmatter", "does not begin with YAML between two lines of ---"),
        ("---\nname: a\n", "does not begin with YAML between two lines of ---"),
        ("---\nname: [\n---\n", "begins with YAML that cannot be read: "),
        ("---\n- a\n---\n", "begins with YAML that is not a mapping"),
        ("---\nname: a\nx: .inf\ndescription: b\n---\n", "begins with YAML that cannot be read: "),
        ("---\ndescription: b\n---\n", "has no name made of"),
        ("---\nname: 7\ndescription: b\n---\n", "has no name made of"),
        ("---\nname: A\ndescription: b\n---\n", "has no name made of"),
        ("---\nname: a--b\ndescription: b\n---\n", "has no name made of"),
        ("---\nname: ../../etc\ndescription: b\n---\n", "has no name made of"),
        (f"---\nname: {'a' * 65}\ndescription: b\n---\n", "has no name made of"),
        ("---\nname: a\ndescription: ' '\n---\n", "has no description"),
        ("---\nname: a\ndescription: [b]\n---\n", "has no description"),
        (b"---\nname: \xff\n---\n", "is not UTF-8"),
    ]

    wrong = []
    for text, problem in cases:
        try:
            frontmatter_of(text if isinstance(text, bytes) else text.encode())
        except ValueError as error:
            if not re.search(problem, str(error)):
                wrong.append((text, problem, error))
        else:
            wrong.append((text, problem, None))

    assert not wrong


def test_a_digest_is_that_of_the_bytes() -> None:
    """Extension: SHA-256 in lower-case hexadecimal digits."""
    assert digest_of(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
