"""`gaia mcp call SERVER TOOL --help`: the help page of one tool."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

ENTRY = {"command": "surely-not-installed"}
SCHEMA = {
    "properties": {
        "style": {"enum": ["plain", "warm"], "default": "plain", "description": "How\nto say it"},
        "point": {"type": "object"},
        "points": {"type": "array", "items": {"type": "object"}},
        "count": {"type": "integer"},
        "loud": {"type": "boolean"},
        "full name": {"type": "string", "description": "Who"},
    },
    "required": ["full name", "count", "point", "points", "loud", "extra"],
}
TOOL = {"name": "greet", "description": "Say hello.\x1b[2J\n\nPolitely.", "inputSchema": SCHEMA}


def know(gaia: Gaia, *tools: dict[str, Any], name: str = "s") -> None:
    """Configure a server whose tools have been seen, and that cannot be started."""
    gaia.write({name: ENTRY})
    ServerCache(Path(gaia.environ["GAIA_HOME"]) / "cache", read_entry(name, ENTRY)).keep_seen(tools)


@pytest.fixture(autouse=True)
def home(gaia: Gaia) -> None:
    """With a cache of its own, whatever the platform's is."""
    gaia.environ["GAIA_HOME"] = str(gaia.home / ".gaia")


@pytest.mark.parametrize(
    "words",
    [
        ("s", "greet", "--help"),
        ("s.greet", "--help"),
        ("--help", "s", "greet"),
        ("--json", "s", "--timeout", "3", "greet", "x=1", "--help"),
    ],
)
def test_a_cached_tool_has_a_help_page(gaia: Gaia, words: tuple[str, ...]) -> None:
    """Ours: its arguments are shown as options are, required ones first, without connecting."""
    know(gaia, TOOL)

    ran = gaia("call", *words, COLUMNS="100")

    assert (ran.code, ran.stderr) == (0, "")
    usage, arguments = ran.stdout.partition("Arguments:\n")[::2]
    assert usage.startswith("Usage: gaia mcp call s greet ")
    assert "full name= count= point:= points:= loud= [style=] [OPTIONS]" in " ".join(usage.split())
    assert "Say hello.\\x1b[2J" in usage
    assert "Politely." in usage
    assert [line.strip() for line in arguments.splitlines()[:6]] == [
        "full name=  string. Who  [required]",
        "count=      integer  [required]",
        "point:=     object  [required]",
        "points:=    array of object  [required]",
        "loud=       boolean  [required]",
        'style=      "plain" | "warm". How to say it  [default: "plain"]',
    ]
    assert "-o, --output FILE" in arguments
    assert ran.stdout.splitlines()[-1] == (
        "Example: gaia mcp call s greet 'full name=VALUE' count=1 point:='{}' points:='[]' loud=true extra=VALUE"
    )


@pytest.mark.parametrize(
    "command", [("gaia", "mcp", "serve", "demo"), ("env", f"A={'a' * 100}", "gaia", "mcp", "serve", "demo")]
)
def test_a_tool_of_a_command_line_has_a_help_page(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: after two dashes or as one word; the example can be copied, however long the command is."""
    assert gaia("tools", "--", *command).code == 0

    after = gaia("call", "greet", "--help", "--", *command)
    assert (after.code, after.stderr) == (0, "")
    assert after.stdout == gaia("call", shlex.join(command), "greet", "--help").stdout
    example = shlex.split(after.stdout.splitlines()[-1].removeprefix("Example: gaia mcp "))
    assert example == ["call", shlex.join(command), "greet", "name=VALUE"]


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"readOnlyHint": True}, "Its server marks it as read-only."),
        ({"destructiveHint": True}, "Its server marks it as destr"),
    ],
)
def test_annotations_of_a_tool_are_on_its_help_page(gaia: Gaia, annotations: Any, said: str) -> None:
    """Spec, ToolAnnotations: hints of the server, so the page names the server as their source."""
    know(gaia, {**TOOL, "annotations": annotations}, {"name": "odd", "annotations": 7})

    assert f"\n  {said}" in gaia("call", "s", "greet", "--help").stdout
    assert "Its server" not in gaia("call", "s", "odd", "--help").stdout


def test_the_example_uses_a_valid_value(gaia: Gaia) -> None:
    """Ours: an example that is copied must be accepted, so a closed list gives its first value."""
    schema = {"properties": {"mode": {"enum": ["very fast", "slow"]}}, "required": ["mode"]}
    know(gaia, {"name": "it's", "inputSchema": schema})

    last = gaia("call", "s", "it's", "--help").stdout.splitlines()[-1]

    assert last == """Example: gaia mcp call s 'it'"'"'s' 'mode=very fast'"""


@pytest.mark.parametrize(
    ("items", "example"),
    [
        ({"type": "string"}, "xs=VALUE xs=VALUE"),
        ({"type": "integer"}, "xs=1 xs=2"),
        ({"type": "number"}, "xs=1.5 xs=2.5"),
        ({"type": "boolean"}, "xs=true xs=false"),
        ({}, "xs=VALUE xs=VALUE"),
        ({"enum": ["a b", "c", "d"]}, "'xs=a b' xs=c"),
        ({"const": "a"}, "xs=a"),
        ({"type": "array", "items": {"type": "integer"}}, "xs:='[]'"),
    ],
)
def test_the_example_repeats_the_key_of_an_array(gaia: Gaia, items: Any, example: str) -> None:
    """Ours: nothing else on the page shows how an array is typed."""
    xs = {"type": "array", "items": items}
    know(gaia, {"name": "sum", "inputSchema": {"properties": {"xs": xs}, "required": ["xs"]}})

    assert gaia("call", "s", "sum", "--help").stdout.splitlines()[-1] == f"Example: gaia mcp call s sum {example}"


def test_a_description_keeps_its_line_breaks(gaia: Gaia) -> None:
    """Ours: lists and docstring sections need them; a long line is wrapped."""
    lines = ["When to use:", "- Breaking", "- Planning " + "far " * 30, "", "Args:", "    x: one"]
    know(gaia, {"name": "think", "description": "\n".join(lines)})

    page = gaia("call", "s", "think", "--help", COLUMNS="80").stdout.splitlines()

    start = page.index("  When to use:")
    shown = [line.removeprefix("  ") for line in page[start : page.index("Options:") - 1]]
    assert shown[:2] == lines[:2]
    assert shown[-3:] == lines[-3:]
    assert " ".join(shown[2:-3]) == lines[2].strip()
    assert max(map(len, page[start:-1])) <= 80


@pytest.mark.parametrize("schema", [None, "x", {}, {"properties": {"a": 7}}, {"properties": 7, "required": [7]}])
def test_a_tool_with_an_invalid_schema_has_a_help_page(gaia: Gaia, schema: Any) -> None:
    """Ours, bad input: a server may send anything as a schema."""
    know(gaia, {"name": "odd", "inputSchema": schema, "description": 7})

    ran = gaia("call", "s", "odd", "--help")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "Example: gaia mcp call s odd"


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        (("s", "other"), 7, "server 's' has no tool 'other'", "see its tools with: gaia mcp tools s"),
        (("s.Greeet",), 7, "server 's' has no tool 'Greeet'", "did you mean 'greet'?"),
        (("nobody", "greet"), 3, "no server 'nobody' in ", "list the servers with: gaia mcp list"),
        (("nobody.greet",), 3, "no server 'nobody' in ", "list the servers with: gaia mcp list"),
        (("nobody",), 3, "no server 'nobody' in ", "list the servers with: gaia mcp list"),
        (("S", "greet"), 3, "no server 'S' in ", "did you mean 's'?"),
    ],
)
def test_help_for_an_unknown_tool_or_server_is_an_error(
    gaia: Gaia, words: tuple[str, ...], code: int, error: str, hint: str
) -> None:
    """Ours: the help of `call` instead would hide the mistake."""
    know(gaia, TOOL)

    ran = gaia("call", *words, "--help")

    assert (ran.code, ran.stdout) == (code, "")
    assert ran.errors[0].startswith(f"error: {error}")
    assert ran.errors[1] == f"hint: {hint}"
    assert gaia("call", *words, "--json", "-h").json["exit"] == code


def test_help_without_a_tool_is_that_of_call(gaia: Gaia) -> None:
    """Ours: there is no tool whose page could be shown."""
    know(gaia, TOOL)

    for words in ((), ("s",)):
        ran = gaia("call", *words, "--help")
        assert (ran.code, ran.stderr) == (0, "")
        assert ran.stdout.splitlines()[-1].endswith("Show this message and exit.")


def test_help_for_a_tool_that_is_not_cached_is_an_error(gaia: Gaia) -> None:
    """Ours: help never connects, so the hint names the command that lists the tools."""
    know(gaia, TOOL)
    gaia.write({"s": {"command": "changed"}, "broken": 7})

    ran = gaia("call", "s", "other", "--help")
    assert (ran.code, ran.stdout) == (7, "")
    assert ran.errors == [
        "error: the parameters of 'other' of 's' are not known yet",
        "hint: list its tools first: gaia mcp tools s",
    ]
    assert gaia("call", "broken", "other", "--help").code == 3


def test_advised_lines_repeat_the_config_option(gaia: Gaia) -> None:
    """Ours: without `--config` the lines would be about another file."""
    know(gaia, TOOL)
    other = gaia.config.rename(gaia.cwd / "my servers.json")

    known = gaia("call", "s", "greet", "--config", other, "--help", COLUMNS="100").stdout.splitlines()[-1]
    assert known.startswith(f"Example: gaia mcp call --config '{other}' s greet 'full name=VALUE'")

    other.write_text('{"mcpServers": {"s": {"command": "changed"}}}')
    unknown = gaia("call", "s", "other", "--config", other, "--help").errors[1]
    assert unknown.endswith(f"gaia mcp tools --config '{other}' s")


def test_help_with_a_corrupt_cache_or_configuration_is_an_error(gaia: Gaia) -> None:
    """Ours, bad input: a corrupt cache counts as empty, a corrupt configuration is reported."""
    know(gaia, TOOL)
    (gaia.home / ".gaia" / "cache" / "tools" / "s.json").write_text("{")
    assert gaia("call", "s", "greet", "--help").code == 7

    gaia.config.write_text("{")
    ran = gaia("call", "s", "greet", "--help")
    assert (ran.code, ran.stdout, len(ran.errors)) == (3, "", 2)


def test_the_help_page_fits_a_narrow_terminal(gaia: Gaia) -> None:
    """Ours: a line that the terminal breaks is hard to read; only the example stays whole."""
    know(gaia, TOOL)

    ran = gaia("call", "s", "greet", "--help", COLUMNS="50")

    assert max(len(line) for line in ran.stdout.splitlines()[:-2]) <= 50


def test_members_of_an_object_are_listed(gaia: Gaia) -> None:
    """Ours: in nested objects too; a schema that refers to itself is followed once."""
    span = {"type": "object", "properties": {"start": {"type": "integer", "description": "First line"}, "end": {}}}
    file = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "ranges": {"type": "array", "items": span}, "in": {"$ref": "#"}},
        "required": ["path"],
    }
    schema = {"properties": {"files": {"type": "array", "items": {"anyOf": [file, {"type": "null"}]}}}}
    know(gaia, {"name": "read", "inputSchema": schema})

    ran = gaia("call", "s", "read", "--help", COLUMNS="100")

    arguments = ran.stdout.partition("Arguments:\n")[2].partition("Options:")[0]
    assert [" ".join(line.split()) for line in arguments.splitlines() if line.strip()] == [
        "files= array of (object | null)",
        "path string [required]",
        "ranges array of object",
        "start integer. First line",
        "end any",
        "in object",
        "files array of (object | null)",
    ]
    assert arguments.index("  path") < arguments.index("    start")
