"""`gaia mcp prompt`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


SEVERAL = """
import base64

class Agent:
    def get_mcp_tool_definitions(self):
        return []

    def execute_mcp_tool(self, tool_name, arguments):
        raise ValueError(tool_name)

    def get_mcp_prompts(self):
        return [{"name": "talk", "arguments": [{"name": "b"}, {"name": "a", "required": True}, {"title": "odd"}]}]

    def get_mcp_prompt(self, name, arguments):
        picture = base64.b64encode(b"not really a picture").decode()
        return {"messages": [
            {"role": "user", "content": {"type": "text", "text": str(sorted(arguments.items()))}},
            {"role": "assistant", "content": {"type": "image", "data": picture, "mimeType": "image/png"}},
        ]}
"""


@pytest.fixture
def talking(gaia: Gaia) -> Gaia:
    """The program, with a server whose prompt has two messages."""
    (gaia.cwd / "talk.py").write_text(SEVERAL)
    gaia.write({"talk": {"command": "gaia", "args": ["mcp", "serve", str(gaia.cwd / "talk.py")]}})
    return gaia


def test_a_prompt_is_printed_with_its_arguments(demo: Gaia) -> None:
    """Ours: a single message is printed as plain text, to be piped into a model."""
    ran = demo("prompt", "demo", "introduce", "name=Ada", "language=Latin")

    assert (ran.code, ran.stdout, ran.stderr) == (0, "Introduce Ada in two sentences, in Latin.\n", "")


def test_an_argument_may_come_from_a_file(demo: Gaia) -> None:
    """Ours: as with `call`; what looks like a number stays text."""
    (demo.cwd / "who").write_text("42")

    assert "Introduce 42 in" in demo("prompt", "demo", "introduce", "name=@who").stdout
    assert "Introduce 42 in" in demo("prompt", "demo", "introduce", "name=42").stdout


def test_several_messages_are_printed_with_their_roles_and_pictures_are_saved(talking: Gaia) -> None:
    """Ours: a conversation cannot be read without its roles."""
    ran = talking("prompt", "talk", "talk", "a=1", "-o", "out/")

    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == ["[user]", "[('a', '1')]", "[assistant]", "out/talk.png"]
    assert (talking.cwd / "out" / "talk.png").read_bytes() == b"not really a picture"


def test_json_has_the_whole_result_of_a_prompt(demo: Gaia) -> None:
    """Ours: a program needs the roles and the content blocks."""
    result = json.loads(demo("prompt", "demo", "introduce", "name=Ada", "--json").stdout)

    assert result["messages"][0]["role"] == "user"


@pytest.mark.parametrize(
    ("words", "code", "expected", "hint"),
    [
        (("demo", "intro", "name=Ada"), 7, "no prompt 'intro'", "did you mean 'introduce'?"),
        (("demo", "zzz"), 7, "no prompt 'zzz'", "gaia mcp prompts demo"),
        (("demo", "introduce"), 7, "'name' is missing", "its signature: introduce(name, [language])"),
        (("demo", "introduce", "nme=Ada"), 7, "there is no 'nme', did you mean 'name'?; 'name' is missing", ""),
        (("demo", "introduce", "name"), 2, "'name' is not key=value", ""),
        (("demo", "introduce", "name:=1"), 2, "'name' is not a string", "write name=VALUE"),
        (("dmo", "introduce"), 3, "no server 'dmo'", "did you mean 'demo'?"),
    ],
)
def test_a_mistake_is_reported_with_a_suggestion(
    demo: Gaia, words: tuple[str, ...], code: int, expected: str, hint: str
) -> None:
    """Ours: two lines, before the server is asked for the prompt."""
    ran = demo("prompt", *words)

    error, next_step = ran.errors
    assert (ran.code, ran.stdout) == (code, "")
    assert expected in error
    assert hint in next_step


def test_a_server_without_prompts_has_no_prompt_to_get(gaia: Gaia) -> None:
    """Ours: exit code 7, as for any unknown prompt."""
    gaia.write({"x": entry_of("good-handshake")})

    ran = gaia("prompt", "x", "y")

    assert ran.code == 7
    assert "no prompt 'y'" in ran.errors[0]


def test_prompt_arguments_are_typed_like_tool_arguments(demo: Gaia) -> None:
    """Ours: as options or as JSON, too; an unknown option is an argument."""
    told = "Introduce Ada in two sentences, in French.\n"
    for words in (
        ("--name", "Ada", "--language=French"),
        ('{"name": "Ada"}', "language=French"),
        ("name=Ada", "--language", "French", "--quiet"),
    ):
        assert demo("prompt", "demo", "introduce", *words).stdout == told, words
    assert demo("prompt", "introduce", "--name", "Ada", "language=French", "--", "gmcp", "serve", "demo").stdout == told

    unknown = demo("prompt", "demo", "introduce", "--nme", "Ada")
    assert (unknown.code, "there is no 'nme', did you mean 'name'?" in unknown.errors[0]) == (7, True)
    missing = demo("prompt", "demo", "introduce", "--name")
    assert (missing.code, missing.errors) == (2, ["error: --name needs a value", "hint: write --name=VALUE"])
    for words in (("demo", "--zzz"), ("--zzz", "demo", "introduce"), ("demo", "introduce", "-z")):
        refused = demo("prompt", *words)
        assert (refused.code, refused.errors[0].startswith("error: no such option: -")) == (2, True), words
