"""`gaia mcp add`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia

# Runs a command in this interpreter, and counts how often an entry is read by then, in any thread.
COUNTED = """
import sys, threading
from gaia_mcp.cli.program import _run
reads = []
def seen(frame, event, _):
    if event == "call" and frame.f_code.co_name == "read_entry":
        reads.append(frame)
threading.setprofile(seen)
sys.setprofile(seen)
status = _run(sys.argv[1:])
sys.setprofile(None)
print(len(reads), file=sys.stderr)
sys.exit(status)
"""


def reads_during(gaia: Gaia, *arguments: str) -> int:
    """How often a command that succeeds reads an entry."""
    program = [sys.executable, "-c", COUNTED, "mcp", *arguments]
    done = subprocess.run(program, cwd=gaia.cwd, env=gaia.environ, capture_output=True, timeout=60, check=True)
    return int(done.stderr.split()[-1])


def test_a_server_is_connected_to_and_then_saved(gaia: Gaia) -> None:
    """Ours: name, version and tool count are reported."""
    ran = gaia("add", "demo", "--", "gaia", "mcp", "serve", "demo")

    assert ran.stdout == "added 'demo' to ~/.gaia/mcp_servers.json: demo 0.1.0, 10 tools\n"
    assert gaia.saved == {"demo": {"command": "gaia", "args": ["mcp", "serve", "demo"]}}
    assert gaia.config.stat().st_mode & 0o777 == 0o600
    assert gaia.config.parent.stat().st_mode & 0o777 == 0o700


def test_a_command_line_is_split_without_a_shell(gaia: Gaia) -> None:
    """Ours, and the form of GAIA's documents."""
    assert gaia("add", "demo", "gaia mcp serve 'demo'").code == 0
    assert gaia.saved["demo"] == {"command": "gaia", "args": ["mcp", "serve", "demo"]}
    for line in ("gaia mcp serve demo | cat", "gaia mcp serve $(echo demo)", "a && b", "gaia 'mcp"):
        assert gaia("add", "x", line).code == 3


def test_a_program_whose_path_has_a_space_is_not_split(gaia: Gaia) -> None:
    """Ours: an existing path is a program, whatever characters it has."""
    program = gaia.cwd / "my server"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m gaia_mcp serve demo\n")
    program.chmod(0o755)

    assert gaia("add", "demo", "--", str(program)).code == 0
    assert gaia.saved["demo"] == {"command": str(program), "args": []}


def test_a_name_that_is_taken_needs_force(demo: Gaia) -> None:
    """Ours: an entry is not lost to a typing error."""
    before = demo.saved

    ran = demo("add", "demo", "--no-check", "--", "other")

    assert (ran.code, demo.saved) == (3, before)
    assert demo("add", "demo", "--no-check", "--force", "--", "other").code == 0
    assert demo.saved["demo"] == {"command": "other", "args": []}


def test_every_option_is_saved_in_the_entry(gaia: Gaia) -> None:
    """Ours: an option that is ignored would be noticed only at a call."""
    ran = gaia(
        *("add", "full", "--env", "A=1", "--env", "TOKEN", "--env", "B=x=y", "--cwd", ".", "--request-timeout", "90"),
        *("--disabled", "--no-check", "--", "prog", "-y", "--flag", "a b"),
    )

    assert ran.code == 0
    assert gaia.saved["full"] == {
        "command": "prog",
        "args": ["-y", "--flag", "a b"],
        "env": {"A": "1", "TOKEN": "${TOKEN}", "B": "x=y"},
        "cwd": str(gaia.cwd),
        "timeout": 90,
        "disabled": True,
    }


def test_an_entry_may_be_given_as_json(gaia: Gaia) -> None:
    """Ours; also the whole snippet that READMEs show."""
    entry = {"command": "prog", "args": ["a"], "x-note": "kept"}

    assert gaia("add", "a", "--no-check", "--json", json.dumps(entry)).code == 0
    assert gaia("add", "b", "--no-check", f"--json={json.dumps(entry)}").code == 0
    assert gaia("add", "c", "--no-check", "--json", json.dumps({"mcpServers": {"z": entry}})).code == 0
    assert gaia.saved == {"a": entry, "b": entry, "c": entry}


def test_the_json_option_without_an_entry_prints_the_result_as_json(gaia: Gaia) -> None:
    """Ours: every command has `--json`."""
    ran = gaia("add", "demo", "--json", "--", "gaia", "mcp", "serve", "demo")

    assert ran.json["added"] == "demo"
    assert ran.json["tools"] == 10
    assert ran.json["path"] == str(gaia.config)


def test_the_variable_of_a_token_is_saved_in_place_of_its_value(gaia: Gaia) -> None:
    """Ours: the entry refers to it; a header of the same name is replaced, whatever its capitals."""
    ran = gaia("add", "web", "https://example.com/mcp", "--token-env", "T", "--no-check", T="sk-1234567890")
    first = gaia.saved["web"]["headers"]
    gaia.write({"web": {"url": "https://example.com/mcp", "headers": {"authorization": "a", "B": "b"}}})
    edited = gaia("edit", "web", "--token-env", "T", "--no-check")

    assert (ran.code, ran.errors, edited.code) == (0, [], 0)
    assert first == {"Authorization": "Bearer ${T}"}
    assert gaia.saved["web"]["headers"] == {"B": "b", "Authorization": "Bearer ${T}"}


def test_wrong_command_lines_exit_with_2(gaia: Gaia) -> None:
    """Ours: what is wrong and what to type, and nothing is saved."""
    wrong = [
        ("add",),
        ("add", "x"),
        ("add", "x", "prog", "--url", "https://example.com"),
        ("add", "x", "-y", "prog"),
        ("add", "x", "--no-check", "--env", "=1", "--", "prog"),
        ("add", "x", "--no-check", "--header", "A: b", "--", "prog"),
        ("add", "x", "--json", "{"),
        ("add", "x", "--request-timeout", "0", "--", "prog"),
    ]
    for arguments in wrong:
        ran = gaia(*arguments)
        assert (ran.code, len(ran.errors)) == (2, 2), (arguments, ran)
    assert not gaia.config.exists()


def test_an_invalid_server_name_is_refused(gaia: Gaia) -> None:
    """Ours: a name is typed in shells, and is part of file names."""
    for name in ("a b", "", "-x", "a/b", "é", "a" * 65):
        assert gaia("add", "--no-check", "--", name, "prog").code == 3, name


def test_an_entry_with_invalid_members_is_completed_or_refused(gaia: Gaia) -> None:
    """Ours: an invalid member is reported before an option is added to it, and nothing is saved."""
    null = '{"command": "prog", "env": null}'

    assert gaia("add", "a", "--no-check", "--json", null).code == 0
    assert gaia("add", "b", "--no-check", "--json", null, "--env", "A=1").code == 0
    for entry, option in (
        ('{"command": "prog", "env": []}', ("--env", "A=1")),
        ('{"url": "https://example.com", "headers": "q"}', ("--header", "A: b")),
        ('{"mcpServers": {"c": 5}}', ("--cwd", ".")),
    ):
        ran = gaia("add", "c", "--no-check", "--json", entry, *option)
        assert (ran.code, len(ran.errors)) == (3, 2), ran
    assert gaia.saved == {"a": {"command": "prog", "env": None}, "b": {"command": "prog", "env": {"A": "1"}}}


def test_the_named_one_of_several_servers_is_saved(gaia: Gaia) -> None:
    """Ours: READMEs also show whole files."""
    two = json.dumps({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})

    assert gaia("add", "b", "--no-check", "--json", two).code == 0
    assert gaia.saved == {"b": {"command": "y"}}
    for entry, expected in ((two, "contains 2 servers"), ('{"mcpServers": {}}', "contains no server")):
        ran = gaia("add", "c", "--no-check", "--json", entry)
        assert (ran.code, len(ran.errors)) == (2, 2), ran
        assert expected in ran.errors[0]


def test_a_relative_program_is_saved_with_its_absolute_path(gaia: Gaia) -> None:
    """Ours: the working folder of today is not that of tomorrow. Links are not followed, and any other word stays
    unchanged.
    """
    (gaia.cwd / "real").mkdir()
    (gaia.cwd / "sub").symlink_to("real")

    ran = gaia("add", "a", "--no-check", "--", "sub/../sub/run.sh", "x/y")
    gaia("add", "b", "--no-check", "./run.sh x")
    for name, command in (("c", "prog"), ("d", "~/run.sh"), ("e", "${HOME}/run.sh"), ("f", "/opt/../runs")):
        kept = gaia("add", name, "--no-check", "--", command)
        assert "is saved as" not in kept.stderr
    gaia("add", "g", "--no-check", "--cwd", "sub", "--", "./run.sh")

    assert f"note: the program is saved as {str(gaia.cwd / 'sub/run.sh')!r}\n" in ran.stderr
    assert {name: entry["command"] for name, entry in gaia.saved.items()} == {
        "a": str(gaia.cwd / "sub/run.sh"),
        "b": str(gaia.cwd / "run.sh"),
        "c": "prog",
        "d": "~/run.sh",
        "e": "${HOME}/run.sh",
        "f": "/opt/../runs",
        "g": "./run.sh",
    }
    assert gaia.saved["a"]["args"] == ["x/y"]


def test_members_written_by_other_programs_are_preserved(gaia: Gaia) -> None:
    """Ours: other hosts read the same file; the indentation stays, too."""
    gaia.config.parent.mkdir()
    gaia.config.write_text(
        '{\n    "theme": "dark",\n    "mcpServers": {"old": {"command": "x", "autoApprove": ["y"]}}\n}'
    )

    assert gaia("add", "new", "--no-check", "--", "prog").code == 0

    document = json.loads(gaia.config.read_text())
    assert document["theme"] == "dark"
    assert document["mcpServers"]["old"] == {"command": "x", "autoApprove": ["y"]}
    assert list(document) == ["theme", "mcpServers"]
    assert '\n    "theme"' in gaia.config.read_text()


def test_concurrent_writers_lose_no_entry(gaia: Gaia) -> None:
    """Ours: a lock orders them, and they leave no temporary file."""
    running = [gaia.popen("add", f"s{number}", "--no-check", "--", "prog") for number in range(8)]
    for process in running:
        process.communicate()

    assert [process.returncode for process in running] == [0] * 8
    assert sorted(gaia.saved) == [f"s{number}" for number in range(8)]
    assert [path.name for path in gaia.config.parent.iterdir()] == [gaia.config.name]


def test_the_config_option_names_another_file(gaia: Gaia) -> None:
    """Ours: a project may have a file of its own; that of the user is not created."""
    other = gaia.cwd / "other.json"
    other.write_text(json.dumps({"servers": {"x": entry_of("good-handshake")}}))

    assert gaia("add", "y", "--no-check", "--config", str(other), "--", "prog").code == 0
    assert list(json.loads(other.read_text())["servers"]) == ["x", "y"]
    assert gaia("tools", "x", "--config", str(other)).code == 0
    assert not gaia.config.exists()


def test_an_entry_is_parsed_once(gaia: Gaia) -> None:
    """Ours: the parsed entry is passed on, from the command line to the server and to the file."""
    assert reads_during(gaia, "add", "demo", "--", "gaia", "mcp", "serve", "demo") == 1
    assert reads_during(gaia, "list", "--check", "--json") == 1
    assert reads_during(gaia, "add", "web", "--no-check", "--url", "https://host") == 1


def test_an_option_does_not_repair_an_invalid_entry(gaia: Gaia) -> None:
    """Ours: an entry is given to be saved, not to be corrected."""
    for entry in ({"command": "x", "env": 5}, {"command": "x", "timeout": -1}):
        ran = gaia("add", "x", "--no-check", "--json", json.dumps(entry), "--env", "A=1", "--request-timeout", "5")
        assert ran.code == 3


def test_the_revision_of_a_server_is_fixed_and_unset(gaia: Gaia) -> None:
    """IO-10, ours: for a server that does not respond to unknown methods."""
    fixed = gaia("add", "demo", "--protocol", "2025-06-18", "--json", "--", "gaia", "mcp", "serve", "demo")

    assert fixed.json["protocolVersion"] == "2025-06-18"
    assert gaia.saved["demo"]["protocolVersion"] == "2025-06-18"
    assert gaia("show", "demo", "--check", "--json").json["server"]["era"] == "handshake"
    assert gaia("edit", "demo", "--protocol", "2026-07-28", "--json").json["protocolVersion"] == "2026-07-28"
    free = gaia("edit", "demo", "--unset", "protocolVersion")
    assert (free.code, "protocolVersion" in gaia.saved["demo"]) == (0, False)


def test_a_fixed_revision_that_the_server_does_not_support_is_named(gaia: Gaia) -> None:
    """IO-10, ours: nothing is saved then; for a saved one the hint is the command that unsets it."""
    server = ("--json", json.dumps(entry_of("good_handshake")), "--protocol", "2025-06-18")
    wrong = gaia("add", "new", *server)

    error, hint = wrong.stderr.splitlines()
    assert (wrong.code, error) == (6, "error: server 'new' supports 2025-11-25; this client supports 2025-06-18")
    assert "--protocol" in hint
    gaia("add", "new", "--no-check", *server)
    later = gaia("tools", "new")
    assert later.code == 6
    assert "gaia mcp edit new --unset protocolVersion" in later.stderr
    assert gaia("add", "x", "--protocol", "1.0.0", "--", "y").code == 2


def test_keep_alive_is_saved_with_the_time_after_an_equals_sign(gaia: Gaia) -> None:
    """Ours: alone it is `true`; an entry that has it already, and a line of another program, keep their meaning."""
    cases = [
        (["--keep-alive", "a", "--", "x", "--keep-alive=1d"], {"command": "x", "args": ["--keep-alive=1d"]}, True),
        (["a", "--keep-alive=30m", "--", "x"], {"command": "x", "args": []}, "30m"),
        (["--keep-alive=true", "a", "--", "x"], {"command": "x", "args": []}, True),
        (["a", '{"command": "x", "keepAlive": "2h"}', "--keep-alive"], {"command": "x"}, True),
        (["a", '{"command": "x", "keepAlive": "2h"}'], {"command": "x"}, "2h"),
        (["--keep-alive=1h", "claude mcp add a -- x"], {"command": "x", "args": []}, "1h"),
    ]

    for words, entry, kept in cases:
        assert gaia("add", "--no-check", "--force", *words).code == 0, words
        assert gaia.saved == {"a": {**entry, "keepAlive": kept}}, words


def test_an_invalid_time_of_keep_alive_is_refused(gaia: Gaia) -> None:
    """Ours: a time after a space would be the name of the server, or its command."""
    for words in (["a", "--keep-alive", "30m", "--", "x"], ["--keep-alive", "30m", "a", "--", "x"]):
        ran = gaia("add", "--no-check", *words)
        assert (ran.code, ran.errors[1]) == (2, "hint: write --keep-alive=30m")
    for time in ("30", "0s", "8d", "", "soon"):
        ran = gaia("add", "--no-check", "a", f"--keep-alive={time}", "--", "x")
        assert (ran.code, ran.errors[0]) == (2, f"error: --keep-alive takes a time from 1s to 7d, not {time!r}")
    assert "given twice" in gaia("add", "a", "--keep-alive", "--keep-alive=1h", "--", "x").stderr
    assert not gaia.config.exists()


def test_a_pasted_entry_that_trusts_hints_is_warned_about(gaia: Gaia) -> None:
    """B-10: the author of the server may have written it so."""
    entry = json.dumps({**entry_of("good_handshake"), "trustHints": True})
    pasted = gaia("add", "s", "--no-check", "--json", entry)
    own = gaia("add", "t", "--no-check", "--trust-hints", "--json", entry)

    assert "gaia mcp edit s --no-trust-hints" in pasted.stderr
    assert "--no-trust-hints" not in own.stderr
    assert gaia.saved["s"]["trustHints"] is True
