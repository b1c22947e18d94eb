"""`gaia mcp call`."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of, run_on_terminal

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_text_ends_with_a_newline(demo: Gaia) -> None:
    """Ours: as with every other program, so that three calls print three lines; `--raw` leaves the text unchanged."""
    ran = demo("call", "demo", "greet", "name=Ada")
    assert (ran.stdout, ran.stderr, ran.code) == ("Hello, Ada!\n", "", 0)
    assert demo("call", "demo", "greet", "name=Ada", "--raw").stdout == "Hello, Ada!"

    loop = "for name in Ada Alan Grace; do gaia mcp call demo greet name=$name; done"
    ran_by_shell = subprocess.run(["sh", "-c", loop], capture_output=True, env=demo.environ, check=True)
    assert ran_by_shell.stdout.decode().splitlines() == ["Hello, Ada!", "Hello, Alan!", "Hello, Grace!"]


def test_values_are_converted_to_the_types_of_the_schema(demo: Gaia) -> None:
    """Ours: `2` is a number for a number, and a string for a string."""
    assert json.loads(demo("call", "demo", "add", "a=2", "b=3.5").stdout) == {"sum": 5.5}
    assert demo("call", "demo", "greet", "name=2").stdout == "Hello, 2!\n"


def test_the_whole_result_is_printed_as_json(demo: Gaia) -> None:
    """Ours: a program needs the structured content and `isError`."""
    ran = demo("call", "demo", "add", "a=1", "b=2", "--json")

    assert ran.json["structuredContent"] == {"sum": 3}
    assert ran.json["isError"] is False
    assert ran.code == 0


TWO_PICTURES = """
import base64
class Agent:
    def get_mcp_tool_definitions(self):
        return [{"name": "twice", "inputSchema": {}}]
    def execute_mcp_tool(self, name, arguments):
        blobs = [base64.b64encode(data).decode() for data in (b"one", b"two")]
        return {"content": [{"type": "image", "data": blob, "mimeType": "image/png"} for blob in blobs]}
"""


def add_two_pictures(demo: Gaia) -> None:
    """Configure a server `several` as well, whose tool `twice` returns two pictures."""
    (demo.cwd / "several.py").write_text(TWO_PICTURES)
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "several": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "several.py"]}})


def test_no_file_is_written_without_an_option(demo: Gaia) -> None:
    """Ours: a pipe gets the text; other content is described on stderr, with the command that saves it."""
    ran = demo("call", "demo", "attach")

    assert (ran.code, ran.stdout.splitlines()) == (
        0,
        [
            "Two resources and a link:",
            "This agent comes with gaia-mcp. It needs no network and keeps nothing.",
            "demo://about",
        ],
    )
    (note,) = ran.stderr.splitlines()
    assert note.startswith("note: image/png, ")
    assert list(demo.cwd.iterdir()) == []
    saves = shlex.split(note.partition("save it with: ")[2])
    assert saves == ["gaia", "mcp", "call", "demo", "attach", "-o", "logo.png"]
    assert demo("call", "demo", "attach", "--quiet").stderr == ""

    assert demo(*saves[2:]).code == 0
    assert (demo.cwd / "logo.png").read_bytes().startswith(b"\x89PNG")

    # What is too long, or a secret, is not repeated.
    add_two_pictures(demo)
    for word in ("x=" + "y" * 300, "api_key=sk-verysecret123"):
        value = word.partition("=")[2]
        shown = demo("call", "several", "twice", word).stderr
        assert shown.splitlines() == ["note: 2 files not shown: save them with -o ./"]
        assert value not in shown


def test_files_are_saved_at_the_given_path_and_their_paths_are_printed(demo: Gaia) -> None:
    """Ours: in a folder, which is created, or as the named file; the text is printed all the same."""
    assert demo("call", "demo", "picture", "-o", "out/new/").stdout == "out/new/picture.png\n"
    assert demo("call", "demo", "sound", "--output", "here.wav").stdout == "here.wav\n"
    assert demo("call", "demo", "picture", "--output-dir", "old").stdout == "old/picture.png\n"
    attached = demo("call", "demo", "attach", "-oout/")

    assert (demo.cwd / "out/new/picture.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert (demo.cwd / "here.wav").read_bytes().startswith(b"RIFF")
    assert (demo.cwd / "old/picture.png").is_file()
    assert attached.stdout.splitlines() == [
        "Two resources and a link:",
        "out/about.txt",
        "out/logo.png",
        "demo://about",
    ]
    assert (demo.cwd / "out/about.txt").read_text().startswith("This agent")


def test_only_the_named_file_is_overwritten(demo: Gaia) -> None:
    """Ours: as by curl. A second file of the same result is saved beside it, under another name."""
    for name in ("picture.png", "mine", "mine-2.png"):
        (demo.cwd / name).write_text("mine")
    add_two_pictures(demo)

    assert demo("call", "demo", "picture", "-o", ".").stdout == "picture-2.png\n"
    assert demo("call", "demo", "attach", "-o", "mine").stdout.splitlines()[1:3] == [
        "This agent comes with gaia-mcp. It needs no network and keeps nothing.",
        "mine",
    ]
    assert demo("call", "several", "twice", "-o", "mine").stdout == "mine\nmine-3.png\n"

    assert (demo.cwd / "picture.png").read_text() == "mine"
    assert (demo.cwd / "mine").read_text() == "one"
    assert (demo.cwd / "mine-2.png").read_text() == "mine"
    assert (demo.cwd / "mine-3.png").read_text() == "two"


def test_a_result_without_files_is_saved_in_the_named_file(demo: Gaia) -> None:
    """Ours: `-o FILE` is then like `> FILE`; a folder takes only what has a name."""
    assert demo("call", "demo", "greet", "name=Ada", "-o", "hello").stdout == "hello\n"
    assert (demo.cwd / "hello").read_text() == "Hello, Ada!\n"
    ran = demo("call", "demo", "add", "a=1", "b=2", "--json", "-o", "sum.json")
    assert (ran.stdout, ran.stderr) == ("", "note: saved sum.json\n")
    assert json.loads((demo.cwd / "sum.json").read_text())["structuredContent"] == {"sum": 3}
    assert demo("call", "demo", "greet", "name=Ada", "-o", "-").stdout == "Hello, Ada!"
    assert demo("call", "demo", "greet", "name=Ada", "-o", "out/").stdout == "Hello, Ada!\n"
    # The file of an earlier success is not lost to a failure.
    assert demo("call", "demo", "fail", "-o", "hello").code == 9
    assert (demo.cwd / "hello").read_text() == "Hello, Ada!\n"


def test_an_empty_text_is_the_result_though_there_is_structured_content(gaia: Gaia) -> None:
    """Spec: the text repeats the structured content. An empty file is read as one, not as `{"content": ""}`."""
    (gaia.cwd / "files_agent.py").write_text(
        "from gaia_mcp import MCPAgent, tool\n\n\nclass Files(MCPAgent):\n    @tool\n    def read(self) -> str:\n"
        "        'Read.'\n        return ''\n"
    )
    line = ("call", "./files_agent.py", "read")

    found = gaia(*line, "--json").json
    assert (found["content"], found["structuredContent"]) == ([{"type": "text", "text": ""}], {"result": ""})
    assert gaia(*line).stdout == ""
    assert gaia(*line, "--max-chars", "5").stdout == ""
    assert run_on_terminal(gaia, *line, "--quiet")[0] == ""
    assert gaia(*line, "-o", "-").stdout == ""
    assert gaia(*line, "-o", "out.txt").stdout == "out.txt\n"
    assert (gaia.cwd / "out.txt").read_bytes() == b""


def test_a_dash_as_output_prints_the_bytes_on_stdout(demo: Gaia) -> None:
    """Ours: the text goes to stderr then, so that `> FILE` holds a picture and nothing else."""
    called = demo.popen("call", "demo", "attach", "-o", "-")
    stdout, stderr = called.communicate()

    assert called.returncode == 0
    assert stdout.startswith(b"\x89PNG")
    assert stderr.decode().splitlines() == [
        "Two resources and a link:",
        "This agent comes with gaia-mcp. It needs no network and keeps nothing.",
        "demo://about",
    ]


def test_json_and_an_output_folder_can_be_combined(demo: Gaia) -> None:
    """Ours: `--json` changes the form, and the files are saved all the same."""
    ran = demo("call", "demo", "picture", "--json", "-o", "out/")

    (block,) = ran.json["content"]
    assert (demo.cwd / "out/picture.png").read_bytes() == base64.b64decode(block["data"])
    assert ran.stderr == "note: saved out/picture.png\n"


def test_an_unwritable_output_path_is_reported_before_the_call(demo: Gaia) -> None:
    """Ours: the tool must not run for nothing."""
    (demo.cwd / "file").write_text("")
    demo.write({"demo": {"command": "false"}})
    for words in (
        ("-o", "file/"),
        ("-o", "file/deeper/"),
        ("-o", "file/deeper"),
        ("--output-dir", "file"),
        ("-o", ""),
        ("-o", "-", "--json"),
        ("-o", "out/", "--output-dir", "out"),
    ):
        ran = demo("call", "demo", "picture", *words)
        assert (ran.code, len(ran.errors)) == (2, 2), (words, ran)
    seen, code = run_on_terminal(demo, "call", "demo", "picture", "-o", "-")
    assert code == 2
    assert "a terminal shows text" in seen


def test_a_failing_tool_exits_with_9_and_its_text(demo: Gaia) -> None:
    """Ours: printed once, on stderr, so that what a script has captured is a result and never a failure."""
    ran = demo("call", "demo", "fail", "message=out of cheese")

    assert (ran.code, ran.stdout) == (9, "")
    assert ran.errors == [
        "error: tool 'fail' of 'demo' failed: out of cheese",
        "hint: show its parameters: gaia mcp call demo fail --help",
    ]
    assert demo("call", "demo", "fail", "--json").json["isError"] is True

    several = demo("call", "demo", "fail", "message=Traceback:\n  line 3\nout of cheese")
    assert several.stdout == ""
    assert several.errors[:4] == [
        "Traceback:",
        "  line 3",
        "out of cheese",
        "error: tool 'fail' of 'demo' failed",
    ]


def test_refused_arguments_lead_to_the_parameters_of_the_tool(gaia: Gaia) -> None:
    """Spec, server/tools: -32602 for arguments that the server finds invalid, though its schema allows them."""
    gaia.use("refuses-arguments")

    ran = gaia("call", "refuses-arguments", "book", "day=32")
    assert ran.code == 6
    assert ran.errors == [
        "error: server 'refuses-arguments' answered tools/call with error -32602: no such day: 32",
        "hint: show its description: gaia mcp call refuses-arguments book --help",
    ]
    unset = gaia("call", "refuses-arguments", "book").errors[1]
    assert unset == (
        "hint: the server mentions ACME_TOKEN; set it with: gaia mcp edit refuses-arguments --env ACME_TOKEN=VALUE"
    )


def test_the_error_member_of_a_result_is_the_error_message(gaia: Gaia) -> None:
    """Ours: where the text is too long for one line, and with `--json`; secrets are masked."""
    (gaia.cwd / "tests_agent.py").write_text(
        "from gaia_mcp import MCPAgent, tool\n"
        "class Tests(MCPAgent):\n"
        "    @tool\n"
        "    def run(self, error: str) -> dict:\n"
        '        """Run tests."""\n'
        "        return {'success': False, 'error': error, 'log': ['one', 'two']}\n"
    )
    entry = {"agent": str(gaia.cwd / "tests_agent.py"), "settings": {}, "env": {"API_KEY": "sk-private-123456"}}
    gaia.write({"tests": entry})
    line = ("call", "tests", "run", "error=2 of 7 failed with sk-private-123456")

    for ran in (gaia(*line), gaia(*line, "--json")):
        assert (ran.code, ran.errors[-2]) == (9, "error: tool 'run' of 'tests' failed: 2 of 7 failed with ****")
    assert '"two"' in gaia(*line).stderr
    screen, _ = run_on_terminal(gaia, *line)
    assert "error: tool 'run' of 'tests' failed: 2 of 7 failed with ****\r\n" in screen
    assert gaia("call", "tests", "run", "error=").errors[-2] == "error: tool 'run' of 'tests' failed"


def test_arguments_refused_by_an_agent_are_reported_without_the_schema(gaia: Gaia) -> None:
    """Ours: a date is a string to the schema, so that its agent finds out; the report for a model is in `--json`."""
    (gaia.cwd / "calendar_agent.py").write_text(
        "import datetime\n"
        "from gaia_mcp import MCPAgent, tool\n"
        "class Calendar(MCPAgent):\n"
        "    @tool\n"
        "    def book(self, day: datetime.date) -> str:\n"
        '        """Book a day."""\n'
        "        return str(day)\n"
    )
    line = ("call", "./calendar_agent.py", "book", "day=2024-13-45")

    ran = gaia(*line)
    assert (ran.code, ran.stdout) == (9, "")
    assert ran.errors == [
        "error: tool 'book' of './calendar_agent.py' failed: day: '2024-13-45' is not a date",
        "hint: show its parameters: gaia mcp call ./calendar_agent.py book --help",
    ]
    assert "Expected tool schema:" in gaia(*line, "--json").json["content"][0]["text"]

    screen, _ = run_on_terminal(gaia, *line)
    assert screen.count("is not a date") == 1
    assert "schema" not in screen


def test_the_text_of_a_failure_is_shown_once_on_a_terminal(demo: Gaia) -> None:
    """Ours: with `--json` the error line has it, since it is hard to find in the object."""
    screen, code = run_on_terminal(demo, "call", "demo", "fail", "message=out of cheese")
    assert code == 9
    assert screen.count("out of cheese") == 1
    assert "error: tool 'fail' of 'demo' failed\r\n" in screen

    screen, _ = run_on_terminal(demo, "call", "demo", "fail", "message=out of cheese", "--json")
    assert "failed: out of cheese\r\n" in screen


def test_error_messages_of_a_call_mask_secrets(gaia: Gaia) -> None:
    """Ours: the result is the server's own; what we print on a terminal or into logs is ours."""
    gaia.use("blurts-secrets", env={"TOKEN": "xyzzy-plugh"})

    assert gaia("call", "blurts-secrets", "echo").errors[0].endswith(" failed: no entry with ****")
    screen, code = run_on_terminal(gaia, "call", "blurts-secrets", "echo", "--json")
    assert code == 9
    assert "xyzzy" not in screen.partition("{")[0]


def test_an_argument_similar_to_a_missing_one_is_named(gaia: Gaia) -> None:
    """Ours: a schema that allows additional properties reports only what is missing."""
    gaia.use("asks-much")

    ran = gaia("call", "asks-much", "book", "hotle=Ritz")

    assert ran.code == 7
    assert "'hotel' is missing; it does not mention 'hotle', did you mean 'hotel'?" in ran.errors[0]
    assert "gaia mcp call asks-much book --help" in ran.errors[1]
    assert "hotel=" in gaia("call", "asks-much", "book", "--help").stdout


def test_a_configuration_may_come_from_a_pipe(demo: Gaia) -> None:
    """Ours: as `<(…)` gives it."""
    ran = demo("call", "demo", "greet", "name=Ada", "--config", "/dev/stdin", stdin=demo.config.read_text())

    assert (ran.code, ran.stdout) == (0, "Hello, Ada!\n")


def test_invalid_arguments_are_refused_before_anything_is_sent(demo: Gaia) -> None:
    """Ours: all validation errors at once, with the signature of the tool; only a program gets the schema."""
    assert demo("call", "demo", "add", "a=x", "c=3").errors == [
        """error: tool 'add' of 'demo': 'b' is missing; there is no 'c'; a: "x" is not of type "number\"""",
        "hint: its signature: add(a: number, b: number)",
    ]
    ran = demo("call", "demo", "add", "a=x", "c=3", "--json")

    assert ran.code == 7
    error = ran.json["error"]
    assert error["kind"] == "arguments"
    assert len(error["problems"]) == 3
    assert error["arguments"] == {"a": "x", "c": "3"}
    assert error["schema"]["required"] == ["a", "b"]
    assert len(ran.errors) == 2


@pytest.mark.parametrize("args", ["-", "@/dev/stdin"])
def test_arguments_from_standard_input_are_shown_in_the_error(demo: Gaia, args: str) -> None:
    """Ours: those that were typed are on the screen already."""
    (error, _) = demo("call", "demo", "greet", "--args", args, stdin='{"nmae": "Ada"}').errors
    assert error.endswith("""'name' is missing; Your arguments: {"nmae": "Ada"}""")
    for words in (("nmae=Ada",), ("--args", '{"nmae": "Ada"}'), ('{"nmae": "Ada"}',)):
        assert "Your arguments" not in demo("call", "demo", "greet", *words).stderr


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "add", "a=x", "b=y", "c=z"),
        ("demo", "add", f"a={'x' * 5000}", "b=1"),
        ("asks-much", "book", "hotle=Ritz"),
        ("asks-much", "book", *(f"wish{number}:=1" for number in range(30))),
        ("asks-much", "book", "--args", "-"),
    ],
)
def test_an_error_about_arguments_fits_three_lines(demo: Gaia, words: tuple[str, ...]) -> None:
    """Ours: of 100 columns each; it begins with the validation errors, and its hint is the signature."""
    demo.write({**json.loads(demo.config.read_text())["mcpServers"], "asks-much": entry_of("asks-much")})

    given = json.dumps({f"wish{number}": number for number in range(30)})
    ran = demo("call", *words, stdin=given)

    lines = [line[at : at + 100] for line in ran.errors for at in range(0, len(line), 100)]
    assert len(lines) <= 3, lines
    error, hint = ran.errors
    assert ran.code == 7
    assert hint.startswith(f"hint: its signature: {words[1]}(")
    assert "is missing" in error or "is not of type" in error


def test_unknown_names_get_a_suggestion(demo: Gaia) -> None:
    """Ours: suggested, never run."""
    tool = demo("call", "demo", "gret", "name=x")
    argument = demo("call", "demo", "greet", "nmae=x")
    server = demo("call", "dmeo", "greet", "name=x")

    assert (tool.code, tool.errors[1]) == (7, "hint: did you mean 'greet'?")
    assert argument.code == 7
    assert "did you mean 'name'?" in argument.errors[0]
    assert (server.code, server.errors[1]) == (3, "hint: did you mean 'demo'?")


def test_a_wrong_command_line_exits_with_2(demo: Gaia) -> None:
    """Ours: what is wrong and what to type; stdout stays empty for a script."""
    wrong = [
        ("call",),
        ("call", "demo"),
        ("call", "demo", "greet", "Ada"),
        ("call", "demo", "greet", "--args", "[1]"),
        ("call", "demo", "greet", "--args", "{"),
        ("call", "demo", "greet", "--args", "@nowhere.json"),
        ("call", "demo", "greet", "--nonsense"),
        ("call", "demo", "greet", "name=x", "--timeout", "soon"),
        ("call", "demo", "greet", "name=x", "--timeout", "-1"),
        ("call", "demo", "greet", "name:=nope"),
        ("call", "demo", "greet", "name=@nowhere.txt"),
        ("call", "demo", "greet", "name=a", "name=b"),
    ]
    for arguments in wrong:
        ran = demo(*arguments)
        assert ran.code == 2, (arguments, ran)
        assert len(ran.errors) == 2, (arguments, ran)
        assert ran.stdout == ""


def test_a_timeout_exits_with_5(demo: Gaia) -> None:
    """Ours: a script may call again after a timeout, but not after an error of the server."""
    ran = demo("call", "demo", "countdown", "seconds=30", "--timeout", "1", "--json")

    assert ran.code == 5
    assert ran.json["error"]["kind"] == "timeout"
    assert ran.json["exit"] == 5


def test_progress_is_not_shown_in_a_pipe(demo: Gaia) -> None:
    """Ours: bars are for terminals."""
    ran = demo("call", "demo", "countdown", "steps=3", "seconds=0.1")

    assert (ran.stdout, ran.stderr) == ("counted down from 3\n", "")


def test_an_elicitation_without_a_terminal_ends_the_call_unless_it_is_declined(gaia: Gaia) -> None:
    """Ours: to decline is a decision, made by a person or by `--decline`."""
    for name in ("good-handshake", "good-stateless"):
        gaia.use(name)

        refused = gaia("call", name, "ask")
        declined = gaia("call", name, "ask", "--decline")

        assert refused.code == 8, refused
        assert refused.errors[1].endswith(f"gaia mcp call {name} ask --answer city=VALUE")
        assert declined.code == 0, declined
        assert "decline" in declined.stdout


def test_an_unset_variable_is_named(gaia: Gaia) -> None:
    """Ours: references are expanded at use."""
    gaia.write({"x": {"command": "true", "env": {"TOKEN": "${GAIA_TEST_UNSET}"}}})

    ran = gaia("call", "x", "y")

    assert ran.code == 3
    assert "GAIA_TEST_UNSET" in ran.errors[0]


def test_only_the_variables_of_the_entry_reach_the_server(gaia: Gaia) -> None:
    """Ours: the environment of a person holds secrets that a server has no need of."""
    script = gaia.cwd / "show.py"
    script.write_text(
        "class Show:\n"
        "    def get_mcp_tool_definitions(self):\n"
        "        return [{'name': 'env', 'inputSchema': {}}]\n"
        "    def execute_mcp_tool(self, name, arguments):\n"
        "        import os\n"
        "        return {key: os.environ.get(key) for key in ('MINE', 'SECRET', 'HOME')}\n"
    )
    gaia.write({"show": {"command": "gaia", "args": ["mcp", "serve", "show.py:Show"], "env": {"MINE": "${SECRET}!"}}})

    ran = gaia("call", "show", "env", SECRET="s3cret")

    assert json.loads(ran.stdout) == {"MINE": "s3cret!", "SECRET": None, "HOME": str(gaia.home)}


def test_a_call_ignores_invalid_and_disabled_entries_of_other_servers(demo: Gaia) -> None:
    """Ours: only the entry of the called server is read."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({"broken": {"args": 5}, **servers, "off": entry_of("exits-at-once", disabled=True)})

    assert demo("call", "demo", "greet", "name=Ada").code == 0
    assert demo("call", "broken", "x").code == 3


def test_max_chars_and_json_exclude_each_other(demo: Gaia) -> None:
    """Ours: JSON that is cut off is invalid."""
    assert demo("call", "demo", "greet", "name=Ada", "--max-chars", "5").stdout == "Hello\n"
    assert demo("read", "demo", "demo://about", "--max-chars", "3").stdout != ""
    # The path of a file is not part of the answer.
    assert demo("read", "demo", "demo://logo", "--max-chars", "3", "-o", "logo.png").stdout == "logo.png\n"
    ran = demo("call", "demo", "greet", "name=Ada", "--max-chars", "5", "--json")
    assert (ran.code, ran.errors[1]) == (2, "hint: leave out one of the two")


def test_a_validation_error_inside_an_argument_shows_the_type_of_the_argument(gaia: Gaia) -> None:
    """Ours: with its members; the signature has only `array of object`."""
    item = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["name"],
    }
    many = {**item, "properties": {**item["properties"], **{f"another_member_{n}": {} for n in range(20)}}}
    tools = [
        {
            "name": name,
            "description": name,
            "inputSchema": {"type": "object", "properties": {"items": {"type": "array", "items": of}}},
        }
        for name, of in (("take", item), ("take_many", many))
    ]
    (gaia.cwd / "agent.py").write_text(
        f"class Agent:\n    def get_mcp_tool_definitions(self): return {tools!r}\n"
        "    def execute_mcp_tool(self, name, arguments): return {}\n"
    )
    gaia.write({"s": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "agent.py:Agent"]}})

    wrong = gaia("call", "s", "take", 'items:=[{"n": "x"}]')
    too_long = gaia("call", "s", "take_many", 'items:=[{"n": 1}]')
    outside = gaia("call", "s", "take", "items:=5")

    assert (wrong.code, wrong.errors) == (
        7,
        [
            "error: tool 'take' of 's': items[0]: 'name' is missing; items[0].n: \"x\" is not of type \"integer\"",
            "hint: the type of items: array of {name: string, [n: integer]}",
        ],
    )
    shortened = "hint: its signature: take_many([items: array of object]); see: gaia mcp call s take_many --help"
    assert too_long.errors[1] == shortened
    assert outside.errors[1] == "hint: its signature: take([items: array of {name: string, [n: integer]}])"


def test_arguments_of_branches_are_shown_and_converted(gaia: Gaia) -> None:
    """Ours: of a union at the root, and of a condition. Which of them a call needs is for the server to check."""
    branches = [
        {"properties": {"app": {"type": "string"}}, "required": ["app"]},
        {"properties": {"tags": {"type": "array", "items": {"type": "integer"}}}, "required": ["tags"]},
    ]
    condition = {"if": {"required": ["app"]}, "then": {"properties": {"wait": {"type": "number"}}}}
    tools = [{"name": "focus", "inputSchema": {"type": "object", "oneOf": branches, **condition}}]
    (gaia.cwd / "agent.py").write_text(
        f"class Agent:\n    def get_mcp_tool_definitions(self): return {tools!r}\n"
        "    def execute_mcp_tool(self, name, arguments): return arguments\n"
    )
    gaia.write({"s": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "agent.py:Agent"]}})

    assert "focus([app: string], [tags: array of integer], [wait: number])" in gaia("tools", "s").stdout
    assert "[app=] [tags=] [wait=]" in gaia("call", "s", "focus", "--help").stdout
    ran = gaia("call", "s", "focus", "tags=1", "tags=2")
    assert (ran.json, ran.errors) == ({"tags": [1, 2]}, [])
    ran = gaia("call", "s", "focus", "app=x", "wait=2.5")
    assert (ran.json, ran.errors) == ({"app": "x", "wait": 2.5}, [])
    assert gaia("call", "s", "focus", "app=x", "tags=1").code == 7


def test_a_missing_required_argument_is_sent_with_its_default(gaia: Gaia) -> None:
    """JSON Schema: `default` is what stands for a missing value. Servers whose schema describes what their parser
    returns require such an argument, and accept calls without it.
    """
    gaia.use("requires-defaults")

    ran = gaia("call", "requires-defaults", "echo", "name=a", 'area:={"x": 1}')
    assert (json.loads(ran.stdout), ran.errors) == ({"name": "a", "scale": "css", "area": {"scale": "css", "x": 1}}, [])
    assert json.loads(gaia("call", "requires-defaults", "echo", "name=a", "scale=device").stdout)["scale"] == "device"

    ran = gaia("call", "requires-defaults", "echo")
    assert ran.errors[0] == "error: tool 'echo' of 'requires-defaults': 'name' is missing"
    area = '{x: integer, [scale: "css" | "device"]}'
    shown = f'echo(name: string, [area: {area}], [scale: "css" | "device" = "css"])'
    assert ran.errors[1] == f"hint: its signature: {shown}"
    assert shown in gaia("tools", "requires-defaults").stdout
    page = gaia("call", "requires-defaults", "echo", "--help").stdout
    assert "name= [area:=] [scale=]" in page
    assert '"css" | "device"  [default: "css"]' in page
    checked = gaia("test-client", "requires-defaults", "--call", "echo", "name=a", "--json")
    assert [check["outcome"] for check in checked.json["servers"][0]["checks"] if check["name"] == "call"] == ["ok"]


OPEN_AGENT = """
class Open:
    def get_mcp_tool_definitions(self):
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        return [{"name": "echo", "inputSchema": schema}, {"name": "any", "inputSchema": {"type": "object"}}]
    def execute_mcp_tool(self, name, arguments):
        return arguments
"""


def test_arguments_unknown_to_the_schema_are_reported_in_one_note(gaia: Gaia) -> None:
    """Ours: they are sent, since the schema allows them; a typing error would not be noticed."""
    (gaia.cwd / "open.py").write_text(OPEN_AGENT)

    ran = gaia("call", "./open.py:Open", "echo", "city=Oslo", "a=1", "b=2")
    assert (json.loads(ran.stdout), ran.code) == ({"city": "Oslo", "a": "1", "b": "2"}, 0)
    assert ran.stderr == "note: 'echo' does not mention 'a'; 'b'\n"
    assert gaia("call", "./open.py:Open", "echo", "city=Oslo").stderr == ""
    # A schema without properties leaves all names open.
    assert gaia("call", "./open.py:Open", "any", "a=1").stderr == ""


def test_the_messages_are_printed_with_debug(gaia: Gaia) -> None:
    """Ours: what was sent and received, without secrets, for somebody who writes a server."""
    gaia.write({"s": {**entry_of("good-handshake"), "env": {"API_TOKEN": "s3cret-value"}}})

    ran = gaia("call", "s", "echo", "a=s3cret-value", "--debug")

    sent, received = (
        [line for line in ran.stderr.splitlines() if line.startswith(f"MCP server 's' {way} ")] for way in ("->", "<-")
    )
    assert any('"method": "tools/call"' in line for line in sent)
    assert any('"result"' in line for line in received)
    assert "s3cret-value" not in ran.stderr
