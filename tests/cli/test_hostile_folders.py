"""Files in a folder may come from anywhere: none makes a command hang, use much memory, or fail without need."""

from __future__ import annotations

import os
import resource
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BIN, SERVERS, Ran

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Gaia

# More than any of ours takes, and less than anything that reads on and on.
SECONDS = 20
MEMORY_BYTES = 1 << 30

# A server that begins with a line for its log.
NOISY = {"command": "sh", "args": ["-c", f"echo noise >&2; exec {sys.executable} {SERVERS / 'good_stateless.py'}"]}
# Paths that no file can have.
LONG = {"name": "x" * 300, "path": "y/" * 3000 + "x", "loop": "loop/x", "file": "file/x"}
LONG_LINES = [
    "list --config LONG",
    "list --config LONG/x",
    "remove x --config LONG",
    "add x --no-check --config LONG -- true",
    "call demo greet --args @LONG",
    "call demo greet name=@LONG",
    "call demo picture -o LONG",
    "call demo picture -o LONG/",
    "test-client demo --junit LONG",
    "test-client demo --lock-file LONG",
    "lock demo --lock-file LONG",
    "record demo --to LONG",
    "replay LONG",
    "import ./LONG",
    "import LONG",
    "export cursor LONG",
    "init LONG",
    "serve ./LONG.py",
    "tools ./LONG.py",
    "tools LONG",
    "call LONG x",
    "trust LONG",
    "untrust LONG",
    "generate LONG",
    "add with-folder --cwd LONG --no-check -- true",
    "add with-entry @LONG",
    "add with-file LONG.json",
    "logs LONG",
    "show LONG",
]


def huge(path: Path) -> None:
    """Three gigabytes that take no room."""
    with path.open("wb") as file:
        file.truncate(3 << 30)


OBSTACLES: dict[str, Callable[[Path], Any]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path.name),
    "huge": huge,
}


def put(path: Path, kind: str) -> None:
    """Put it there, in the place of what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    OBSTACLES[kind](path)


def run(gaia: Gaia, *words: str, stdin: bytes = b"") -> Ran:
    """Run `gaia` with little time and memory; what it writes to a terminal is not a traceback."""
    limits = {resource.RLIMIT_AS: (MEMORY_BYTES, MEMORY_BYTES)}
    done = gaia.command(BIN / "gaia", *words, input=stdin, timeout=SECONDS, limits=limits)
    ran = Ran(done.stdout.decode(), done.stderr.decode(), done.returncode)
    assert "Traceback" not in ran.stderr
    assert "bug in gaia mcp" not in ran.stderr
    return ran


def tab(gaia: Gaia, *words: str) -> list[str]:
    """The lines that a TAB gets; it never writes anything else."""
    ran = run(gaia, "complete", "fish", "--", "mcp", *words)
    assert (ran.stderr, ran.code) == ("", 0)
    return ran.stdout.splitlines()


@pytest.mark.parametrize("kind", OBSTACLES)
@pytest.mark.parametrize("name", [".mcp.json", "mcp_servers.json"])
def test_an_unreadable_project_file_is_reported_in_a_note(demo: Gaia, name: str, kind: str) -> None:
    """Ours: every command runs in some folder. Only the command that is about the file fails."""
    put(demo.cwd / name, kind)

    listed, called = run(demo, "mcp", "list"), run(demo, "mcp", "call", "demo", "greet", "name=Ada")

    assert (listed.code, called.code) == (0, 0)
    assert "demo" in listed.stdout
    assert called.stdout == "Hello, Ada!\n"
    for ran in (listed, called):
        assert f"{name} is not used, since it cannot be read: " in ran.stderr
        assert len(ran.stderr.splitlines()) == 1
    assert [line.partition("\t")[0] for line in tab(demo, "call", "")] == ["demo"]
    trusted = run(demo, "mcp", "trust")
    assert (trusted.code, len(trusted.errors)) == (3, 2)
    assert "cannot be read" in trusted.errors[0]


@pytest.mark.parametrize("kind", OBSTACLES)
def test_an_unreadable_cache_is_ignored(demo: Gaia, kind: str) -> None:
    """Ours: a cache is never a reason to fail."""
    assert run(demo, "mcp", "tools", "demo").code == 0
    cached = [path for path in (demo.home / ".cache" / "gaia-mcp").rglob("*") if path.is_file()]
    assert cached
    for path in cached:
        put(path, kind)

    assert tab(demo, "call", "demo", "") == []
    assert run(demo, "mcp", "call", "demo", "greet", "name=Ada").stdout == "Hello, Ada!\n"
    assert run(demo, "mcp", "tools", "demo").code == 0


@pytest.mark.parametrize("kind", OBSTACLES)
def test_an_unreadable_log_is_skipped_and_replaced(demo: Gaia, kind: str) -> None:
    """Ours: nor are they in the way of new ones."""
    demo.write({"demo": NOISY})
    assert run(demo, "mcp", "call", "demo", "echo").code == 0
    (log,) = (demo.home / ".local" / "state" / "gaia-mcp" / "log").rglob("*.log")
    put(log, kind)

    ran = run(demo, "mcp", "logs", "demo")

    assert ran.code == 0
    assert "noise" not in ran.stdout
    assert run(demo, "mcp", "call", "demo", "echo").code == 0
    assert "noise" in run(demo, "mcp", "logs", "demo").stdout


@pytest.mark.parametrize("kind", OBSTACLES)
def test_import_lists_the_other_hosts_when_a_file_is_unreadable(gaia: Gaia, kind: str) -> None:
    """Ours: `import` shows the hosts that are here; one of them is reported, and `import` of it is an error."""
    put(gaia.home / ".cursor" / "mcp.json", kind)
    other = gaia.home / ".gemini" / "settings.json"
    other.parent.mkdir()
    other.write_text('{"mcpServers": {"x": {"command": "true"}}}')

    shown, meant = run(gaia, "mcp", "import"), run(gaia, "mcp", "import", "cursor")

    assert "gemini" in shown.stdout
    for ran in (shown, meant):
        assert (ran.code, len(ran.errors)) == (3, 2)
        assert "cannot be read" in ran.errors[0]
        assert str(gaia.home / ".cursor") in ran.errors[0]


@pytest.mark.parametrize("kind", OBSTACLES)
def test_an_unreadable_user_file_is_an_error_and_is_not_replaced(demo: Gaia, kind: str) -> None:
    """Ours: it is what these commands are about, and nothing is put in its place."""
    put(demo.config, kind)
    before = os.lstat(demo.config)

    for line in ("list", "call demo greet name=x", "add x --no-check -- true", "remove demo"):
        ran = run(demo, "mcp", *line.split())

        assert (ran.code, len(ran.errors)) == (3, 2), line
        assert "mcp_servers.json: " in ran.errors[0]
        assert os.lstat(demo.config).st_ino == before.st_ino
    assert tab(demo, "call", "") == []


@pytest.mark.parametrize("kind", ["device", "folder"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list", "--config", "FILE"), 3),
        (("call", "demo", "greet", "--args", "@FILE"), 2),
        (("call", "demo", "greet", "name=@FILE"), 2),
        (("import", "./FILE"), 3),
        (("add", "x", "@FILE"), 3),
        (("replay", "FILE"), 3),
        (("lock", "demo", "--lock-file", "FILE"), 3),
        (("record", "demo", "--to", "FILE"), 3),
        (("test-client", "demo", "--lock-file", "FILE"), 3),
    ],
)
def test_an_unreadable_file_on_the_command_line_is_an_error(
    demo: Gaia, words: tuple[str, ...], code: int, kind: str
) -> None:
    """Ours: a device without end is read no further than its limit."""
    put(demo.cwd / "FILE", kind)

    ran = run(demo, "mcp", *words)

    assert (ran.code, len(ran.errors)) == (code, 2), ran.stderr


@pytest.mark.parametrize(
    ("words", "data", "answer"),
    [
        ("mcp list --config {}", '{"mcpServers": {"piped": {"command": "true"}}}', "piped"),
        ("mcp call demo greet --args @{}", '{"name": "Ada"}', "Hello, Ada!"),
        ("mcp call demo greet name=@{}", "Ada", "Hello, Ada!"),
        ("mcp import --dry-run {}", '{"mcpServers": {"piped": {"command": "true"}}}', "new  piped  standard input"),
        ("mcp add --no-check piped @{}", '{"command": "true"}', "piped"),
    ],
)
def test_a_pipe_on_the_command_line_is_read(demo: Gaia, words: str, data: str, answer: str) -> None:
    """Ours: `<(command)`, /dev/stdin, and a pipe with a name."""
    os.mkfifo(demo.cwd / "pipe")
    text, wrong = data.encode(), {}
    for place in ("/dev/fd/{}", "/dev/stdin", "pipe"):
        # As a shell does it: the other end of a pipe has a number of its own, or is the standard input.
        ours, theirs = os.pipe()
        os.write(theirs, text)
        os.close(theirs)
        writer = threading.Thread(target=(demo.cwd / "pipe").write_bytes, args=(text,), daemon=True)
        if place == "pipe":
            writer.start()
        line = words.format(place.format(ours)) + (" --force" if "mcp add" in words else "")
        ran = demo.command(BIN / "gaia", *line.split(), pass_fds=[ours], input=text * (place == "/dev/stdin"))
        os.close(ours)
        if (ran.returncode, answer in ran.stdout.decode()) != (0, True):
            wrong[place] = ran
        elif place == "pipe":
            writer.join()

    assert not wrong


@pytest.mark.parametrize("long", LONG)
def test_an_impossible_path_is_an_error_with_a_hint(demo: Gaia, long: str) -> None:
    """Ours: it is never an internal error. Some commands can use the word as something else."""
    (demo.cwd / "loop").symlink_to("loop")
    (demo.cwd / "file").touch()

    wrong = []
    for line in LONG_LINES:
        ran = run(demo, "mcp", *line.replace("LONG", LONG[long]).split())
        codes = [0, 3, 4] if line.startswith(("untrust", "add", "logs")) else [1, 2, 3, 4]
        if line.startswith("list --config"):
            codes = [3]
        if ran.code not in codes or len(ran.errors) != (2 if ran.code else 0):
            wrong.append((line, ran))

    assert not wrong


def test_a_folder_of_2000_files_is_listed(demo: Gaia) -> None:
    """Ours: at a TAB, where one that is a link to itself hides none of the others, and among logs."""
    demo.write({"demo": NOISY})
    assert run(demo, "mcp", "call", "demo", "echo").code == 0
    (logs,) = (demo.home / ".local" / "state" / "gaia-mcp" / "log").iterdir()
    for number in range(2000):
        (demo.cwd / f"file{number}").touch()
        (logs / f"strange{number}").symlink_to("nowhere")
    (demo.cwd / "loop").symlink_to("loop")
    (demo.cwd / "folder").mkdir()

    assert len(tab(demo, "call", "demo", "greet", "--args", "@")) == 2002
    assert [line.partition("\t")[0] for line in tab(demo, "add", "x", "--cwd", "")] == ["folder/"]
    assert "noise" in run(demo, "mcp", "logs", "demo").stdout
    assert run(demo, "mcp", "call", "demo", "echo").code == 0


@pytest.mark.parametrize("kind", ["missing", "file", "loop", "unset"])
def test_commands_work_without_a_home_folder(demo: Gaia, kind: str) -> None:
    """Ours: a service or a container may have none. Commands that need none work, and no command hangs."""
    put_there: dict[str, Callable[[Path], Any]] = {"file": lambda path: path.touch(), "loop": OBSTACLES["loop"]}
    home, config = demo.cwd / "home", str(demo.config)
    put_there.get(kind, lambda _: None)(home)
    demo.environ["HOME"] = str(home)
    if kind == "unset":
        del demo.environ["HOME"]

    called = run(demo, "mcp", "call", "--config", config, "demo", "greet", "name=Ada")

    assert (called.stdout, called.code) == ("Hello, Ada!\n", 0)
    tab(demo, "call", "")
    for words in (
        ("list",),
        ("import",),
        ("logs", "demo"),
        ("add", "x", "--config", config, "--no-check", "--", "true"),
    ):
        assert run(demo, "mcp", *words).code in (0, 3)


def test_a_removed_working_folder_is_an_error_only_for_commands_that_need_it(demo: Gaia) -> None:
    """Ours: another terminal has removed it."""
    for words, code in (("list", 0), ("call demo greet name=Ada", 0), ("trust", 1), ("import", 0), ("init", 3)):
        gone = demo.cwd / "gone"
        gone.mkdir()
        held = os.open(gone, os.O_RDONLY)
        gone.rmdir()
        options = {"cwd": f"/proc/{os.getpid()}/fd/{held}", "env": {**demo.environ, "PWD": str(gone)}}
        ran = demo.command(BIN / "gaia", "mcp", *words.split(), timeout=SECONDS, **options)
        completed = demo.command(BIN / "gaia", "complete", "fish", "--", "mcp", "call", "", timeout=SECONDS, **options)
        os.close(held)

        errors = ran.stderr.decode().splitlines()
        assert ran.returncode == code, (words, ran)
        assert "Traceback" not in ran.stderr.decode()
        assert len([each for each in errors if not each.startswith("note: ")]) == (2 if code else 0)
        assert completed.stdout.startswith(b"demo\t")
        assert completed.stderr == b""
