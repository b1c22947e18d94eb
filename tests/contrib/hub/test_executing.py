"""Requests to agents that are programs. A stand-in is a real process, which the hub starts as it starts any agent."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path

import pytest

from gaia_mcp.contrib.hub.executing import MAX_OUTPUT_BYTES
from tests.contrib.hub.conftest import Agents, execute
from tests.waiting import wait_until

pytestmark = pytest.mark.story

REPORT = "data = sys.stdin.buffer.read()\nimport hashlib\nanswer(hashlib.sha256(data).hexdigest())\n"
ARGUMENTS = "sys.stdin.read()\nanswer(json.dumps(sys.argv[1:]))\n"


@pytest.mark.parametrize(
    "prompt",
    ["--help", "-", "--\nrm", "@/etc/passwd", "two\r\nlines\n", " x", "$(id) `id`", "ünï\0", "y" * 1_000_000],
    ids=lambda prompt: repr(prompt[:12]),
)
def test_the_prompt_arrives_byte_for_byte(agents: Agents, prompt: str) -> None:
    """B4: a leading `--`, newlines, a megabyte."""
    agents.write(REPORT)

    found = agents.execute(prompt)

    assert (found["status"], found["error"]) == ("success", None)
    assert found["content"] == hashlib.sha256(prompt.encode()).hexdigest()


def test_the_context_reaches_the_agent(agents: Agents) -> None:
    """B4: as JSON behind the prompt."""
    agents.write("answer(sys.stdin.read())\n")

    found = agents.execute("fix", context={"language": "python"})

    assert found["content"] == 'fix\n\nContext (JSON):\n{\n  "language": "python"\n}\n'


def test_a_result_has_every_member(agents: Agents) -> None:
    """B4: also those that are null."""
    agents.write('sys.stdin.read()\nanswer("ok", usage={"input_tokens": 1, "output_tokens": 2}, session_id="s")\n')

    found = agents.execute()

    assert found.pop("execution_time") > 0
    metadata = {"agent": "claude", "kind": "claude", "session_id": "s"}
    assert found == {"status": "success", "content": "ok", "error": None, "tokens_used": 3, "metadata": metadata}


def test_the_model_of_the_request_wins_over_the_configured_one(agents: Agents) -> None:
    """B4: `config.model` becomes the model flag."""
    agents.write(ARGUMENTS)
    agents.configure({"claude": {"model": "small"}})

    configured, chosen = agents.execute(), agents.execute(config={"model": "big"})

    assert json.loads(configured["content"])[-2:] == ["--model", "small"]
    assert json.loads(chosen["content"])[-2:] == ["--model", "big"]


def test_a_model_name_that_could_be_an_option_is_refused(agents: Agents) -> None:
    """B4: config can never add flags."""
    agents.write(ARGUMENTS)
    models = ["--dangerously-skip-permissions", "-x", "a b", "", "a\n--b", "a\0", 7, None, ["a"]]

    wrong = []
    for model in models:
        found = agents.execute(config={"model": model})
        if found["status"] != "error" or "'model'" not in found["error"]:
            wrong.append((model, found))

    assert not wrong


def test_unknown_members_of_config_are_warnings_and_never_flags(agents: Agents) -> None:
    """B4: the caller sees that a member had no effect."""
    agents.write(ARGUMENTS)
    plain = agents.execute()
    found = agents.execute(config={"--add-dir": "/", "args": ["--verbose"], "temperature": 0.7})

    assert found["content"] == plain["content"]
    assert [warning.split("'")[1] for warning in found["metadata"]["warnings"]] == ["--add-dir", "args", "temperature"]


def test_unsupported_capabilities_are_warnings(agents: Agents) -> None:
    """B5: the request succeeds."""
    agents.write("answer('ok')\n")

    found = agents.execute(capabilities=["code_generation", "vision", "telepathy"])

    assert found["status"] == "success"
    assert ["vision" in each or "telepathy" in each for each in found["metadata"]["warnings"]] == [True, True]


def test_an_unknown_agent_is_named_with_the_available_ones(agents: Agents) -> None:
    """B5: the caller can choose another one at once."""
    agents.write("", "claude")
    agents.write("", "codex")
    agents.configure({"local": {"endpoint": "http://127.0.0.1:1/v1"}, "codex": {"disabled": True}})

    found = agents.execute(agent_name="claud")

    assert found["status"] == "error"
    assert "'claud'" in found["error"]
    assert "available: claude, local (did" in found["error"]


def test_an_agent_that_is_not_installed_is_reported_with_its_program(agents: Agents) -> None:
    """B5: the user knows what to install."""
    found = agents.execute(agent_name="gemini")

    assert found["status"] == "error"
    assert "'gemini' was not found on PATH" in found["error"]


@pytest.mark.parametrize("prompt", ["", " ", "\n\t"])
def test_an_empty_prompt_is_an_error(agents: Agents, prompt: str) -> None:
    """B5: nothing is started for it."""
    agents.write(f"open({str(agents.folder / 'ran')!r}, 'w')\n")

    assert agents.execute(prompt)["error"] == "the prompt is empty"
    assert not (agents.folder / "ran").exists()


def test_a_lone_surrogate_in_a_prompt_is_an_error(agents: Agents) -> None:
    """B6: it is in no Unicode text."""
    agents.write("answer('ok')\n")

    assert "not Unicode" in agents.execute("\ud800")["error"]


def test_an_agent_is_ended_with_its_child_processes_at_the_timeout(agents: Agents) -> None:
    """B5: also when it ignores SIGTERM and its child has left the group; the hub goes on answering."""
    agents.write_shell("trap '' TERM HUP\nsetsid sleep 600 &\nsleep 600 &\nwhile :; do sleep 600; done\n")
    agents.write("answer('ok')\n", "codex")
    hub = agents.hub()

    found = execute(hub, timeout=1)

    assert found["status"] == "error"
    assert "within 1 s" in found["error"]
    assert agents.left() == []
    assert execute(hub, agent_name="codex")["status"] == "error"  # It does not write as Codex does.


def test_child_processes_left_by_an_agent_are_ended(agents: Agents) -> None:
    """Ours: although they hold its output open, the answer is there at once."""
    agents.write_shell('sleep 600 &\nsetsid sleep 600 &\necho \'{"type": "result", "result": "ok"}\'\n')

    found = agents.execute(timeout=60)

    assert found["content"] == "ok"
    assert agents.left() == []


def test_an_agent_with_too_much_output_is_ended(agents: Agents) -> None:
    """Ours: no more is kept than an answer can have."""
    agents.write_shell("exec cat /dev/zero\n")

    found = agents.execute(timeout=60)

    assert f"more than {MAX_OUTPUT_BYTES >> 20} MiB" in found["error"]
    assert agents.left() == []


def test_an_agent_may_write_any_amount_to_stderr(agents: Agents) -> None:
    """Ours: of stderr only the end is kept."""
    agents.write("for _ in range(2000): sys.stderr.write('noise ' * 1000)\nanswer('ok')\n")

    assert agents.execute(timeout=60)["content"] == "ok"


@pytest.mark.parametrize(
    "output", ['{"result": "half', "", "no JSON", "[1]", "\\xff\\xfe", '{"type": "result", "result": 7}']
)
def test_a_truncated_or_missing_answer_is_an_error(agents: Agents, output: str) -> None:
    """B5, B6."""
    agents.write(f"sys.stdin.read()\nsys.stdout.buffer.write(b'{output}')\n")

    found = agents.execute()

    assert (found["status"], found["content"]) == ("error", "")
    assert "claude" in found["error"]


def test_an_exit_status_other_than_0_is_a_failure_even_with_output(agents: Agents) -> None:
    """B5: with the agent's own words."""
    agents.write("answer('done')\nprint('quota exceeded', file=sys.stderr)\nsys.exit(3)\n")

    found = agents.execute()

    assert found["status"] == "error"
    assert found["error"] == "quota exceeded (claude ended with exit status 3)"


def test_an_agent_need_not_read_its_input(agents: Agents) -> None:
    """Ours: a megabyte that is not read holds up nothing."""
    agents.write("answer('ok')\n")

    assert agents.execute("x" * 1_000_000)["content"] == "ok"


def test_an_agent_has_no_terminal(agents: Agents) -> None:
    """Ours: its input is the prompt, and there is no terminal in its session."""
    agents.write("""
try:
    open("/dev/tty")
except OSError as problem:
    answer(f"{type(problem).__name__} {sys.stdin.isatty()} {os.getsid(0) == os.getpid()}")
""")

    assert agents.execute()["content"] == "OSError False True"


def test_an_agent_gets_the_variables_of_the_hub_and_its_own(agents: Agents, monkeypatch: pytest.MonkeyPatch) -> None:
    """B5, and ours: it runs with the hub's own environment; a variable of its entry wins."""
    monkeypatch.setenv("SOME_CHOICE", "hub")
    monkeypatch.setenv("OTHER_CHOICE", "hub")
    agents.write("answer(os.environ['SOME_CHOICE'] + os.environ['OTHER_CHOICE'])\n")
    agents.configure({"claude": {"env": {"OTHER_CHOICE": "-${SOME_CHOICE}-own"}}})

    assert agents.execute()["content"] == "hub-hub-own"


def test_another_program_and_folder_may_be_configured(agents: Agents, tmp_path: Path) -> None:
    """Ours: its own arguments come before those of the driver."""
    (tmp_path / "work").mkdir()
    program = agents.write("answer(json.dumps([os.getcwd(), *sys.argv[1:3]]))\n", "other")
    entry = {"kind": "claude", "command": str(program), "args": ["--first"], "cwd": str(tmp_path / "work")}
    agents.configure({"mine": entry})

    found = agents.execute(agent_name="mine")

    assert json.loads(found["content"]) == [str(tmp_path / "work"), "--first", "-p"]


def test_a_missing_working_folder_is_an_error(agents: Agents, tmp_path: Path) -> None:
    """B6: the agent must not work in another folder."""
    agents.write("answer('ok')\n")
    agents.configure({"claude": {"cwd": str(tmp_path / "gone")}})

    assert "no working folder" in agents.execute()["error"]


def test_an_unset_variable_is_an_error_with_its_name(agents: Agents) -> None:
    """B6: an agent that starts with an empty key fails later and less clearly."""
    agents.write("answer('ok')\n")
    agents.configure({"claude": {"env": {"A_KEY": "${HUB_IS_NOT_SET}"}}})

    assert agents.execute()["error"] == "agent 'claude': env A_KEY refers to ${HUB_IS_NOT_SET}, which is not set"


@pytest.mark.parametrize(
    "body",
    [
        "answer(secret)",
        "answer(json.dumps({'a': [secret]}))",
        "answer('ok', session_id=secret)",
        "print(json.dumps({'type': 'result', 'is_error': True, 'result': secret}))",
        "print('bad ' + secret, file=sys.stderr); sys.exit(1)",
        "print(secret); sys.exit(1)",
    ],
)
def test_values_of_secret_variables_are_masked_in_an_answer(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """B5: the agent's own words are scrubbed."""
    names = ["MY_KEY", "SOME_TOKEN_2", "my_secret", "DB_PASSWORD"]
    for number, name in enumerate(names):
        monkeypatch.setenv(name, f"plain words 4711{number} abc")
    agents.write(f"secret = ' / '.join(os.environ[name] for name in {names!r})\n{body}\n")

    found = json.dumps(agents.execute())

    assert "4711" not in found
    assert found.count("****") >= len(names)


def test_a_secret_of_the_entry_is_masked(agents: Agents) -> None:
    """B5: as one of the hub's environment."""
    agents.write("answer('it is ' + os.environ['ANTHROPIC_API_KEY'])\n")
    agents.configure({"claude": {"env": {"ANTHROPIC_API_KEY": "sk-very-private"}}})

    assert agents.execute()["content"] == "it is ****"


@pytest.mark.parametrize("shown", range(1, 14))
def test_a_secret_cut_by_a_long_error_is_masked_whole(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, shown: int
) -> None:
    """B2 and B5: not even a prefix."""
    monkeypatch.setenv("MY_KEY", "private-words")
    agents.write(f"answer('x' * {4000 - shown} + os.environ['MY_KEY'] + ' y' * 99, is_error=True)\n")

    error = agents.execute()["error"]

    assert error.endswith("…")
    assert "p" not in error


def test_a_run_is_never_repeated(agents: Agents) -> None:
    """Ours: whatever becomes of it."""
    runs = agents.folder / "runs"
    agents.write(f"open({str(runs)!r}, 'a').write('x')\nsys.exit(1)\n")

    agents.execute()

    assert runs.read_text() == "x"


def test_the_file_is_read_for_every_request(agents: Agents) -> None:
    """Ours: an agent that is added while the hub runs is there; an invalid entry is an error that names it."""
    agents.write("answer('ok')\n", "other")
    hub = agents.hub()

    agents.configure({"new": {"kind": "claude", "command": "other"}})
    assert execute(hub, agent_name="new")["content"] == "ok"

    agents.configure({"new": {"kind": "claude", "timeout": 0}})
    problem = execute(hub, agent_name="new")["error"]
    assert str(agents.config) in problem
    assert "agent 'new': 'timeout'" in problem


def test_a_run_leaves_no_process_thread_or_descriptor(agents: Agents) -> None:
    """Ours: also no thread and no descriptor."""
    agents.write("answer('ok')\n")
    agents.execute()

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, threads = descriptors(), threading.active_count()
    for _ in range(3):
        agents.execute()

    assert agents.left() == []
    wait_until(lambda: (descriptors(), threading.active_count()) <= (before, threads))


def test_a_timeout_error_contains_the_last_report_of_the_agent(agents: Agents) -> None:
    """B5: its own words, such as why each of its attempts failed, without secrets."""
    retry = {"type": "system", "subtype": "api_retry", "attempt": 3, "max_retries": 10, "error": "no such model"}
    agents.write_shell(f"echo '{json.dumps(retry)}'\nprintf half\nexec sleep 600\n")
    found = agents.execute(timeout=4)

    assert found["error"].endswith("and was ended; it last reported: attempt 3 of 10 failed: no such model")
    assert agents.left() == []


def test_a_temperature_is_a_number(agents: Agents) -> None:
    """Ours: Gemini expands variables in texts of its settings, so that one could be sent to a stranger's model."""
    agents.write("", "gemini")

    refused = [agents.execute(agent_name="gemini", config={"temperature": each})["error"] for each in ("$KEY", True)]

    assert refused == [
        "config member 'temperature' must be a number, not a string",
        "config member 'temperature' must be a number, not a boolean",
    ]
