"""The recipes of the manual work as they are printed there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from gaia_mcp.cli.manual import PROSE, Verbatim, parsed
from tests.cli.conftest import BIN
from tests.client.transports.http.auth.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Gaia

TIME = {"command": str(BIN / "mcp-server-time")}
WORKS = {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}
FAILS = {"command": "false"}


def recipe(part: str) -> str:
    """The example with `part` in it."""
    blocks = parsed((PROSE / "gaia-mcp.txt").read_text("utf-8"))
    texts = ["\n".join(block.lines) for block in blocks if isinstance(block, Verbatim)]
    (found,) = [text for text in texts if part in text]
    return found


def run(gaia: Gaia, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script, run as cron and make do."""
    environ = {**gaia.environ, **variables}
    ran = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, cwd=gaia.cwd, env=environ, timeout=60, check=False
    )
    gaia.rehearse(ran.stderr)
    return ran


def test_the_recipe_for_pre_commit_fails_with_the_server(gaia: Gaia) -> None:
    """Ours: its file of servers is in the repository."""
    (entry,) = re.findall(r"^ +entry: (.+)$", recipe("pre-commit-config.yaml"), re.MULTILINE)
    for server, code in ((WORKS, 0), (FAILS, 4)):
        gaia.write({"time": server})
        gaia.config.replace(gaia.cwd / "servers.json")
        assert run(gaia, entry).returncode == code


def build_of(part: str) -> Any:
    """The build in a recipe, which has twelve lines at most."""
    text = recipe(part)
    assert len([line for line in text.splitlines() if not line.startswith("#")]) <= 12
    return YAML(typ="safe").load(text)


def offer_notes(gaia: Gaia, folder: Path, *words: str) -> dict[str, str]:
    """The variables of a build in which the command `notes` is this one."""
    server = folder / "notes"
    server.write_text("#!/bin/sh\nexec " + shlex.join(words) + "\n")
    server.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{BIN}{os.pathsep}{gaia.environ['PATH']}"}


def test_the_recipe_for_github_tests_the_server_of_a_repository(gaia: Gaia, tmp_path: Path) -> None:
    """Ours: the step that tests is run; the rest of the build needs GitHub."""
    steps = build_of(".github/workflows/mcp.yml")["jobs"]["mcp"]["steps"]
    (line,) = [step["run"] for step in steps if step.get("run", "").startswith("gaia ")]
    file = gaia.cwd / steps[-1]["with"]["sarif_file"]

    works = run(
        gaia, line, **offer_notes(gaia, tmp_path, str(BIN / "gaia"), "mcp", "serve", "demo"), GITHUB_ACTIONS="true"
    )
    assert works.returncode == 0, works.stderr
    assert {one["level"] for one in json.loads(file.read_text())["runs"][0]["results"]} <= {"note"}
    fails = run(gaia, line, **offer_notes(gaia, tmp_path, "false"), GITHUB_ACTIONS="true")
    assert fails.returncode == 4
    assert "::error" in fails.stderr
    assert json.loads(file.read_text())["runs"][0]["results"]


def test_the_recipe_for_gitlab_writes_the_reports_that_it_names(gaia: Gaia, tmp_path: Path) -> None:
    """Ours: as for GitHub."""
    build = build_of(".gitlab-ci.yml")["mcp"]
    (line,) = [line for line in build["script"] if line.startswith("gaia ")]
    (gaia.cwd / "checks.yaml").write_text(
        "checks: [{tool: greet, arguments: {name: Ada}, expect: {text: 'Hello, Ada!'}}]"
    )
    variables = offer_notes(gaia, tmp_path, str(BIN / "gaia"), "mcp", "serve", "demo")

    ran = run(gaia, line, **variables)

    assert ran.returncode == 0, ran.stderr
    assert all((gaia.cwd / name).exists() for name in build["artifacts"]["reports"].values())


def test_the_recipe_for_cron_is_silent_until_something_is_wrong(gaia: Gaia) -> None:
    """Ours: run with the variables that the table sets."""
    variables, line = recipe("0 6 * * *").split("\n")
    *_, command = line.split(" ", 5)
    assert "%" not in command
    path = variables.removeprefix("PATH=").replace("/home/ada/.venv/bin", str(BIN))

    gaia.write({"time": WORKS})
    ran = run(gaia, command, PATH=path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")

    gaia.write({"time": FAILS})
    ran = run(gaia, command, PATH=path)
    assert ran.returncode == 4
    assert "time" in ran.stdout


def test_the_recipe_with_jq_prints_one_value(gaia: Gaia, jq: str) -> None:
    """Ours: `--json` prints nothing else on stdout."""
    gaia.write({"time": TIME})

    ran = run(gaia, recipe("| jq -r .datetime"))

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00\n", ran.stdout), ran


def test_the_recipe_for_a_script_distinguishes_failures(gaia: Gaia) -> None:
    """Ours: by the exit codes that the manual lists."""
    script = recipe("case $? in")
    for server, said in ((TIME, "it worked"), (FAILS, "the server does not run")):
        gaia.write({"time": server})
        assert run(gaia, script).stdout.endswith(f"{said}\n")


def test_the_recipe_for_a_login_distinguishes_authorization(gaia: Gaia, jq: str) -> None:
    """Ours: exit code 4 is both that of a server that is not there and that of one that requires a login."""
    world = World()
    script = recipe("4 authorization").replace("gaia mcp login web", "echo logs in")
    try:
        gaia.write({"web": {"url": world.url}})
        assert run(gaia, script).stdout == "logs in\n"
    finally:
        world.close()
    for server, said in ((FAILS, "the server does not run\n"), ({"url": world.url}, "the server does not run\n")):
        gaia.write({"web": server})
        assert run(gaia, script).stdout == said
    gaia.write({"web": WORKS})
    assert '"tool-unknown"' in run(gaia, script).stdout


def test_the_recipe_for_an_agent_ends_in_an_editor(gaia: Gaia) -> None:
    """Ours: and under its name the shell has it too."""
    ran = run(gaia, f"set -e\n{recipe('gaia mcp init notes.py')}")

    assert ran.returncode == 0, ran
    assert "notes" in (gaia.home / ".cursor" / "mcp.json").read_text()
    assert gaia("call", "notes", "greet", "name=Ada").stdout == "Hello, Ada!\n"


def test_the_recipe_for_a_snippet_saves_the_servers_of_the_file(gaia: Gaia) -> None:
    """Ours: then its tools are approved."""
    (gaia.cwd / "snippet.json").write_text(json.dumps({"mcpServers": {"time": TIME}}))

    assert run(gaia, recipe("snippet.json")).stdout.startswith("added 'time'")
    assert run(gaia, f"set -e\n{recipe('--locked')}").returncode == 0


def test_the_recipe_for_a_handler_shows_the_tools_of_its_stage(gaia: Gaia) -> None:
    """Ours: and another stage has none."""
    ran = run(gaia, f"set -e\n{recipe('init --handler')}")

    assert ran.returncode == 0, ran
    assert "greet(name: string)" in ran.stdout
    assert "greet" not in gaia("tools", "--stage", "deploy").stdout


def test_the_recipe_for_a_prompt_prints_the_answer_alone(gaia: Gaia, jq: str) -> None:
    """Ours: with a program in the place of Claude Code, which gets the prompt."""
    program = gaia.cwd / "claude"
    program.write_text("""#!/bin/sh\nprintf '{"type": "result", "result": "%s"}' "$(cat)"\n""")
    program.chmod(0o755)

    ran = run(gaia, recipe("agent_name=claude"), PATH=f"{gaia.cwd}:{gaia.environ['PATH']}")

    assert ran.stdout == "What is 6 * 7?\n", ran


def test_the_recipe_for_the_agents_prints_an_entry(gaia: Gaia) -> None:
    """Ours: as the editor reads it."""
    ran = run(gaia, recipe("serve agents --print-config cursor"))

    assert json.loads(ran.stdout)["mcpServers"]["agents"]["args"][-2:] == ["serve", "agents"]


def test_the_recipe_for_all_servers_prints_an_entry_that_restricts_and_records(gaia: Gaia) -> None:
    """Ours: started as it is printed, as an editor does."""
    gaia.write({"notes": {"command": str(BIN / "gaia"), "args": ["mcp", "serve", "demo"]}})

    ran = run(gaia, recipe("serve --all --read-only"))
    entry = json.loads(ran.stdout)["mcpServers"]["gaia"]
    command = ["--", entry["command"], *entry["args"]]

    assert gaia("call", "greet", "name=Ada", *command).stdout == "Hello, Ada!\n"
    assert gaia("call", "note", "text=x", *command).code == 7
    (line,) = (gaia.cwd / "calls.jsonl").read_text().splitlines()
    assert (json.loads(line)["server"], json.loads(line)["tool"]) == ("notes", "greet")
