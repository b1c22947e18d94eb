"""A misspelt word gets a suggestion, which is never run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


# What is typed, its exit code, and what is meant.
MISSPELT = [
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
    (("read", "demo", "demo://abuot"), 7, "demo://about"),
    (("list", "--jsn"), 2, "--json"),
    (("import", "cursro"), 3, "cursor"),
    (("export", "demo", "--as", "cursro"), 3, "cursor"),
    (("serve", "dmeo"), 3, "demo"),
]


def test_a_misspelt_word_gets_a_suggestion(demo: Gaia) -> None:
    """Ours: in the error and its hint, with the exit code of the mistake."""
    assert demo("resources", "demo").code == 0
    before = demo.config.read_bytes()

    for words, code, meant in MISSPELT:
        ran = demo(*words)

        assert ran.code == code, ran
        assert meant in " ".join(ran.errors), ran
        assert demo.config.read_bytes() == before, words


def test_an_unrelated_word_gets_no_suggestion(demo: Gaia) -> None:
    """Ours: the hint then names the command that lists what exists."""
    advised = {
        "call xyz greet": "list the servers with: gaia mcp list",
        "call demo zzz": "see its tools with: gaia mcp tools demo",
        "prompt demo zzz": "see its prompts with: gaia mcp prompts demo",
        "read demo zzz": "see its resources with: gaia mcp resources demo",
        "zzz": "see: gaia mcp --help",
    }
    for line, hint in advised.items():
        ran = demo(*line.split())
        assert ran.errors[1:] == [f"hint: {hint}"], ran
    assert demo("list", "--timeout", "soon").errors[0].endswith("'soon' is not a number")


def test_advised_lines_repeat_the_config_option(demo: Gaia) -> None:
    """Ours: without `--config` the line would be about another file."""
    config = ("--config", str(demo.config))

    assert (
        demo("call", "xyz", "greet", *config).errors[1]
        == f"hint: list the servers with: gaia mcp list {' '.join(config)}"
    )
    assert demo("tools", *config, "demo").code == 0
    hint = demo("call", "demo", "zzz", *config).errors[1]
    assert hint == f"hint: see its tools with: gaia mcp tools {' '.join(config)} demo"
    wrong = demo("add", "x", *config, "uvx", "--version").errors[1]
    assert wrong.endswith(f"gaia mcp add {' '.join(config)} NAME -- COMMAND [ARG...]")
    # The line works as it is printed.
    assert demo(*hint.partition("gaia mcp ")[2].split()).code == 0


def test_a_call_that_times_out_is_reported_as_possibly_run(demo: Gaia) -> None:
    """Ours: exit code and kind are those of any request; the person and the program must know before a retry."""
    ran = demo("call", "demo", "countdown", "steps=3", "seconds=60", "--timeout", "10", "--json")

    assert ran.code == 5
    assert ran.errors[1] == (
        "hint: 'countdown' may have run, and was not called again; allow more time with --timeout SECONDS"
    )
    assert (ran.json["error"]["kind"], ran.json["error"]["may_have_run"]) == ("timeout", "countdown")
