"""What was meant is suggested, and never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize(
    ("words", "code", "meant"),
    [
        (("lsit",), 2, "list"),
        (("remove", "dmeo"), 3, "demo"),
        (("tools", "dmeo"), 3, "demo"),
        (("logs", "dmeo"), 3, "demo"),
        (("call", "dmeo", "greet"), 3, "demo"),
        (("call", "demo", "gret"), 7, "greet"),
        (("call", "demo.gret"), 7, "greet"),
        (("call", "demo", "greet", "nam=x"), 7, "name"),
        (("test-client", "demo", "--call", "gret"), 7, "greet"),
        (("prompt", "demo", "introdcue"), 7, "introduce"),
        (("prompt", "demo", "introduce", "nmae=x"), 7, "name"),
        (("read", "demo", "demo://abuot"), 6, "demo://about"),
        (("list", "--jsn"), 2, "--json"),
        (("import", "cursro"), 3, "cursor"),
        (("export", "demo", "--as", "cursro"), 3, "cursor"),
        (("serve", "dmeo"), 3, "demo"),
    ],
)
def test_what_was_meant_is_named(demo: Gaia, words: tuple[str, ...], code: int, meant: str) -> None:
    """Ours: in the two lines of the error, with the exit code of the mistake."""
    assert demo("resources", "demo").code == 0
    before = demo.config.read_bytes()

    ran = demo(*words)

    assert ran.code == code, ran
    assert meant in " ".join(ran.errors)
    assert demo.config.read_bytes() == before


def test_nothing_is_suggested_that_is_far_off(demo: Gaia) -> None:
    """Ours: then it is said where to look."""
    assert demo("call", "xyz", "greet").errors[1] == "hint: see the names with: gaia mcp list"
    assert demo("call", "demo", "zzz").errors[1] == "hint: see its tools with: gaia mcp tools demo"
    assert demo("prompt", "demo", "zzz").errors[1] == "hint: see its prompts with: gaia mcp prompts demo"
    assert demo("read", "demo", "zzz").errors[1] == "hint: see what it offers with: gaia mcp resources demo"
    assert demo("zzz").errors[1] == "hint: see: gaia mcp --help"
    assert demo("list", "--timeout", "soon").errors[0].endswith("'soon' is not a number")
