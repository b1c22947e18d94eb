"""Code that a child of this program serves."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gaia_mcp.config.command import Command
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.served import MAX_DEPTH, ORDER_VARIABLE, Served, drop_secrets, own_program, read_served, take_order
from gaia_mcp.core.errors import EntryError, VariableUnsetError
from gaia_mcp.importing import MAX_SOURCE_BYTES

SERVE = ["-P", "-m", "gaia_mcp", "serve"]
TOKEN = "lpd_8fK2mQ9xZ7"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A file of servers beside a handler."""
    (tmp_path / "x_handler.py").touch()
    return tmp_path / "servers.json"


def command_of(config: dict[str, Any], source: Path, **environ: str) -> Command:
    command = read_entry("cost", config, source).resolved(environ).target
    assert isinstance(command, Command)
    return command


def order_of(command: Command) -> Any:
    return json.loads(command.env[ORDER_VARIABLE])


def test_a_handler_is_a_child_of_this_program(project: Path) -> None:
    """Ours: what the entry configures is in one variable, and never among the arguments."""
    config = {"handler": "x_handler.py", "timeout": 5, "max_retries": 0, "settings": {"api_key": TOKEN, "n": [1, None]}}
    command = command_of({**config, "env": {"A": "${B}"}, "stages": ["build"]}, project, B="c")

    assert (command.command, command.args) == (sys.executable, [*SERVE, str(project.with_name("x_handler.py"))])
    assert (command.cwd, command.inherit, command.env["A"]) == (None, True, "c")
    assert order_of(command) == {
        "kind": "handler",
        "name": "cost",
        "stages": ["build"],
        "timeout": 5,
        "max_retries": 0,
        "settings": {"api_key": TOKEN, "n": [1, None]},
    }


def test_variables_are_expanded_in_all_members_when_they_are_used(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: at use, never at save; a missing one is named with its place. What is no text stays as it is."""
    monkeypatch.setenv("HOME", str(project.parent))
    settings = {"auth": {"key": "${KEY}", "list": ["${KEY:-x}", 5]}, "on": True, "none": None}
    config = {"handler": "${DIR}/x_handler.py", "settings": settings, "cwd": "${DIR}"}

    command = command_of(config, project, DIR=str(project.parent), KEY="k")
    assert command.args == [*SERVE, str(project.with_name("x_handler.py"))]
    assert command.cwd == str(project.parent)
    assert order_of(command)["settings"] == {"auth": {"key": "k", "list": ["k", 5]}, "on": True, "none": None}
    assert config["settings"] is settings
    assert command_of({"agent": "~/x_handler.py"}, project).args == [*SERVE, str(project.with_name("x_handler.py"))]
    for missing, field in ((config, "handler"), ({**config, "handler": "x_handler.py"}, "settings.auth.key")):
        with pytest.raises(VariableUnsetError) as caught:
            command_of({**missing, "cwd": None}, project)
        assert caught.value.field == field


def test_a_secret_of_the_settings_is_read_from_the_keyring_when_it_is_used(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: as everywhere in an entry."""
    # In place of the package, which the system may not have.
    keyring = SimpleNamespace(get_password=lambda service, account: f"{service} {account}", errors=None)
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    settings = {"auth": {"key": {"$keyring": "gaia.connections:x"}}}

    command = command_of({"handler": "x_handler.py", "settings": settings}, project)

    assert order_of(command)["settings"] == {"auth": {"key": "gaia.connections x"}}
    with pytest.raises(EntryError, match=r"auth\.key refers to a keyring service other than"):
        command_of({"handler": "x_handler.py", "settings": {"auth": {"key": {"$keyring": "login:x"}}}}, project)


def test_code_learns_of_the_file_that_is_used_alone(tmp_path: Path) -> None:
    """Ours: an agent that reads a file of servers reads this one, unless its entry names another. Other code learns
    only of a file whose format is not ours, and none of a pipe, which cannot be read twice.
    """
    json_file, project = tmp_path / "servers.json", tmp_path / "prototype.yaml"
    cases: list[tuple[Served, Path, dict[str, Any]]] = [
        (Served("agent", "agents"), json_file, {"settings": {"config": str(json_file)}}),
        (Served("agent", "agents", order={"settings": {"config": "x"}}), json_file, {"settings": {"config": "x"}}),
        (Served("agent", "agents"), Path("/dev/fd/63"), {}),
        (Served("handler", "x.py"), project, {"project": str(project)}),
        (Served("agent", "demo"), project, {"project": str(project)}),
        (Served("handler", "x.py"), json_file, {}),
    ]

    wrong = []
    for code, file, expected in cases:
        found = json.loads(code.in_file(file).order_variable("x")[ORDER_VARIABLE])
        if found != {"kind": code.transport, "name": "x", **expected}:
            wrong.append((code, file, found))

    assert not wrong


def test_the_files_and_folders_of_the_code_are_found_without_loading_it() -> None:
    """Ours: they are approved with the file of a project. A built-in agent has none."""
    environ = {"WHERE": "lib", "HOME": "/home/ada"}
    cases: list[tuple[Served, list[str], list[str]]] = [
        (Served("handler", "${WHERE}/x.py:X", "/p"), ["/p/lib/x.py"], ["/p/lib"]),
        (Served("handler", "x.py", "/p", env={"PYTHONPATH": "a::/b"}, cwd="c"), ["/p/x.py"], ["/p", "/p/c/a", "/b"]),
        (Served("agent", "pkg.notes:A", "/p", cwd="c"), ["/p/c/pkg/notes.py", "/p/c/pkg/notes/__init__.py"], ["/p/c"]),
        (Served("agent", "notes:A", cwd="c"), ["/w/c/notes.py", "/w/c/notes/__init__.py"], ["/w/c"]),
        (Served("agent", "demo", "/p"), [], []),
        (Served("handler", "${NONE}/x.py", "/p"), ["${NONE}/x.py"], []),
    ]

    wrong = [
        (code, found)
        for code, files, folders in cases
        if (found := code.source_files("x", environ, Path("/w"))) != (files, folders)
    ]

    assert not wrong


def nested(levels: int) -> dict[str, Any]:
    """An object in an object in an object."""
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_an_invalid_member_of_served_code_is_named() -> None:
    """Ours: the member, so that it can be found in the file."""
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("agent", {"handler": "b"}, "'agent' and 'handler'"),
        ("handler", {"agent": "b"}, "'handler' and 'agent'"),
        ("handler", {"max_retries": -1}, "'max_retries'"),
        ("handler", {"max_retries": True}, "'max_retries'"),
        ("handler", {"max_retries": 1.5}, "'max_retries'"),
        ("handler", {"max_retries": "2"}, "'max_retries'"),
        ("handler", {"max_result_bytes": 0}, "'max_result_bytes'"),
        ("handler", {"max_result_bytes": "8k"}, "'max_result_bytes'"),
        ("agent", {"max_result_bytes": 1e4}, "'max_result_bytes'"),
        ("handler", {"settings": []}, "'settings'"),
        ("handler", {"settings": "url=x"}, "'settings'"),
        ("handler", {"settings": nested(MAX_DEPTH + 1)}, "'settings'"),
    ]

    wrong = []
    for kind, members, named in cases:
        try:
            read_served("cost", kind, {kind: "x.py", **members}, None, {})
        except EntryError as error:
            if not (error.server == "cost" and named in error.message):
                wrong.append((kind, members, error))
        else:
            wrong.append((kind, members, None))

    assert not wrong


def test_a_folder_named_like_a_variable_is_not_expanded(tmp_path: Path) -> None:
    """Ours: nothing in the folder of a file is a variable, nor in what was typed."""
    folder = tmp_path / "${HOME}"
    folder.mkdir()
    (folder / "x.py").touch()

    assert command_of({"agent": "x.py"}, folder / "s.json").args == [*SERVE, str(folder / "x.py")]
    typed = Served("agent", f"{folder}/x.py", is_typed=True, options=["--debug"])
    assert typed.resolved("x", {}) == Command(sys.executable, [*SERVE, "--debug", str(folder / "x.py")], inherit=True)


def test_the_working_folder_of_an_entry_is_relative_to_its_file(project: Path) -> None:
    """Ours: as the path of the code."""
    assert command_of({"agent": "m:C", "cwd": "sub"}, project).cwd == str(project.with_name("sub"))
    assert command_of({"agent": "m:C", "cwd": "/sub"}, project).cwd == "/sub"
    assert command_of({"agent": "m:C", "cwd": "~"}, project).cwd == str(Path.home())


def test_a_module_and_a_built_in_agent_are_found_by_name(project: Path) -> None:
    """Ours: no path is made of them."""
    for target in ("package.module:Class", "demo"):
        assert command_of({"agent": target}, project).args == [*SERVE, target]
        assert Served("agent", target).file is None


def test_a_file_that_cannot_be_loaded_is_reported_before_the_start(tmp_path: Path) -> None:
    """Ours: a handler path that is a folder, a device, 3 GB, missing, not Python. The error names the member."""
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "loop.py").symlink_to("loop.py")
    os.mkfifo(tmp_path / "pipe.py")
    with (tmp_path / "huge_handler.py").open("wb") as huge:
        huge.truncate(3 << 30)  # Without taking the space.
    assert MAX_SOURCE_BYTES < 3 << 30
    cases = [
        ("gone_handler.py", "No such file"),
        ("./", "it is a folder"),
        ("folder.py", "it is a folder"),
        ("folder.py:Class", "it is a folder"),
        ("pipe.py", "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("device.py", "it is a device"),
        ("loop.py", "symbolic links"),
        ("./notes.txt", "must end in .py"),
        ("huge_handler.py", "is larger than"),
        ("x", "path/to/file.py"),
    ]

    wrong = []
    for target, problem in cases:
        try:
            command_of({"handler": target}, tmp_path / "servers.json")
        except EntryError as error:
            if problem not in error.message or "'handler'" not in error.message or error.server != "cost":
                wrong.append((target, error))
        else:
            wrong.append((target, None))

    assert not wrong


@pytest.mark.parametrize("settings", [{"a": object()}, {"a": float("nan")}, {"a": "x" * 200_000}])
def test_settings_that_do_not_fit_a_variable_are_refused(project: Path, settings: dict[str, Any]) -> None:
    """Ours: a variable holds text, and not much of it."""
    with pytest.raises(EntryError, match="'settings'"):
        command_of({"handler": "x_handler.py", "settings": settings}, project)


def test_served_code_is_shown_without_secrets() -> None:
    """Ours: those of its settings by their names and looks, those that are references as they are."""
    settings = {
        "api_key": "abc",
        "url": f"https://ada:{TOKEN}@host/?token={TOKEN}",
        "auth": {"user": "ada", "other": "hunter2", "list": ["pw"]},
        "pin": 123456,
        "retries": 5,
        "bearer": "${TOKEN}",
        "kept": {"$keyring": "gaia.connections:x:KEY"},
        "verbose": True,
        "nothing": None,
    }
    config = {"handler": "\x1b[2Jx.py", "settings": settings, "max_retries": 1, "timeout": 5, "env": {"TOKEN": TOKEN}}
    entry = read_entry("cost", {**config, "inherit": False, "cwd": "/c"}, Path("/p/s.json"))

    assert entry.masked() == {
        "name": "cost",
        "transport": "handler",
        "handler": "\\x1b[2Jx.py",
        "max_retries": 1,
        "settings": {
            "api_key": "****",
            "url": "https://****@host/?token=****",
            "auth": {"user": "****", "other": "****", "list": ["****"]},
            "pin": "****",
            "retries": 5,
            "bearer": "${TOKEN}",
            "kept": {"$keyring": "gaia.connections:x:KEY"},
            "verbose": True,
            "nothing": None,
        },
        "env": {"TOKEN": "****"},
        "cwd": "/c",
        "inherit": False,
        "timeout": 5,
        "disabled": False,
        "source": "/p/s.json",
    }
    assert entry.described() == "\\x1b[2Jx.py"
    assert Served("agent", "demo").masked() == {"agent": "demo"}


def test_the_summary_for_a_lock_file_is_the_same_on_every_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it is kept beside the code, in version control; of its settings only the names are in it."""
    monkeypatch.chdir(tmp_path)
    handler = {"handler": "a.py:A", "settings": {"key": TOKEN}, "env": {"B": TOKEN}}

    assert Served("agent", f"{tmp_path}/a.py:A", is_typed=True).summary() == {"agent": "a.py:A"}
    assert Served("agent", "demo").summary() == {"agent": "demo"}
    assert read_entry("x", handler, tmp_path / "s.json").target.summary() == {
        "handler": "a.py:A",
        "settings": ["key"],
        "env": ["B"],
    }


def test_the_identity_of_typed_code_is_that_of_earlier_versions() -> None:
    """Ours: what they have remembered is still found; a module is another one in another folder."""
    assert Served("agent", "/x/a.py:A", is_typed=True).identity() == ["agent", "/x/a.py:A", None]
    assert Served("agent", "m:A", cwd="/one", is_typed=True).identity() == ["agent", "m:A", "/one"]


def test_a_child_removes_its_settings_from_the_environment() -> None:
    """Ours: what the code starts itself does not get the secrets of its settings."""
    cases = [('{"settings": {"a": 1}}', {"settings": {"a": 1}}), (None, {}), ("", {}), ("[]", {}), ("[" * 100_000, {})]

    wrong = []
    for text, order in cases:
        environ = {"A": "b"} if text is None else {"A": "b", ORDER_VARIABLE: text}
        found = take_order(environ)
        if (found, environ) != (order, {"A": "b"}):
            wrong.append((text, found, environ))

    assert not wrong


def test_the_secrets_of_the_server_itself_are_removed_from_the_environment() -> None:
    """Ours: code that it loads, and programs that this code starts, must not have its token."""
    environ = {"GAIA_MCP_TOKEN": "t0ken", "GAIA_MCP_STATE_KEYS": "k", "A": "b"}
    drop_secrets(environ)
    assert environ == {"A": "b"}


def test_this_program_is_started_by_its_script_or_by_its_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: `python -m` puts the working folder before all packages, and nothing of it may be loaded by accident. A
    program of another kind may be called like ours.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gmcp").touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", ["./gmcp"])
    monkeypatch.setitem(sys.modules, "gaia_mcp.cli.program", sys)
    assert own_program() == [str(tmp_path / "gmcp"), "mcp"]
    for program in ("./gone/gaia", "/usr/bin/python-m/__main__.py"):
        monkeypatch.setattr(sys, "argv", [program])
        assert own_program() == [sys.executable, "-P", "-m", "gaia_mcp"]
    monkeypatch.setattr(sys, "argv", ["./gmcp"])
    monkeypatch.delitem(sys.modules, "gaia_mcp.cli.program")
    assert own_program() == [sys.executable, "-P", "-m", "gaia_mcp"]
