from __future__ import annotations

import dis
import functools
import inspect
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock, Mock

import pytest

from gaia_mcp.client.transports.stdio import child as module
from gaia_mcp.client.transports.stdio import processes
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.child_pipes import CutError
from gaia_mcp.client.transports.stdio.processes import VARIABLE, exits_within
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import NotConnectedError, SpawnError
from gaia_mcp.text.redaction.masker import Masker
from tests.processes import living_with
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from types import CodeType, FrameType

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
IGNORES_EOF = "import signal\nprint('up', flush=True)\nwhile True: signal.pause()"
IGNORES_SIGTERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + IGNORES_EOF
DOES_NOT_READ = IGNORES_EOF
WAITS = "import signal; signal.pause()"
LEAVES_OTHERS = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {other!r}], stdin=subprocess.DEVNULL, start_new_session={detached})
sys.stdin.read()
"""
# More than any pipe holds.
TOO_MUCH = b"x" * 4 * 1024 * 1024

MakeChild = Callable[..., Child]


class SlowToStart(Child):
    """A child whose start takes until `may_spawn` is set."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.is_spawning, self.may_spawn = threading.Event(), threading.Event()

    def _spawn(self) -> None:
        self.is_spawning.set()
        self.may_spawn.wait(PATIENCE_SECONDS)
        super()._spawn()


class Patient(Child):
    """A child that is not waited for once its input is closed, but for as long as it takes after a SIGTERM."""

    def _ends_in(self, most_seconds: float) -> bool:
        if most_seconds == module.TERMINATE_GRACE_SECONDS:
            return self.wait(PATIENCE_SECONDS) is not None
        return super()._ends_in(0.0)


@pytest.fixture
def child(nothing_left: dict[str, str]) -> Iterator[MakeChild]:
    """Makes children that run a Python text; they are stopped at the end."""
    made: list[Child] = []

    def make(
        code: str,
        *arguments: str,
        start: bool = True,
        kind: type[Child] = Child,
        cwd: str | None = None,
        **options: Any,
    ) -> Child:
        one = kind("s", sys.executable, ["-c", code, *arguments], environment=nothing_left, cwd=cwd, **options)
        made.append(one)
        if start:
            one.start()
        return one

    yield make
    for one in made:
        one.stop(0.1)
        read_all(one)


def is_in(thread: threading.Thread, function: str) -> bool:
    """Whether a thread runs a function of this name at the moment, or one that it calls."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


def read_all(one: Child) -> bytes:
    """Read to the end, which closes the pipe, as the reader of a transport does."""
    assert one.wait(0) is not None or one.pid is None
    said = b""
    pipe = one._process.stdout if one._process is not None else None
    while pipe is not None and not pipe.closed:
        said += one.read()
    return said


def test_a_child_reads_what_is_written(child: MakeChild) -> None:
    """Ours: pipes are unbuffered, so that a line arrives without more of them."""
    one = child(ECHO)

    one.write(b"hello\n", Deadline(ENOUGH_SECONDS))

    assert one.read() == b"hello\n"
    assert one.is_running()
    assert one.pid is not None


def test_the_output_of_a_child_can_be_selected(child: MakeChild) -> None:
    """Ours: a caller that reads also waits for a cancellation."""
    one = child(ECHO)
    one.write(b"hello\n", Deadline(ENOUGH_SECONDS))

    assert select.select([one.stdout], [], [], 5)[0] == [one.stdout]
    one.stop(5)
    read_all(one)

    assert one.stdout == -1


@pytest.fixture
def stranger(nothing_left: dict[str, str]) -> Iterator[int]:
    """The leader of a group that was started by another program."""
    # The shell waits for it: an orphan may be handed over to us.
    with subprocess.Popen(["sh", "-c", "setsid sleep 60 & echo $!; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        wait_until(lambda: os.getpgid(pid) == pid)
        yield pid
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", [Mock, MagicMock])
@pytest.mark.parametrize("status", [None, 0])
def test_a_process_that_is_not_ours_is_never_signalled(
    child: MakeChild, stranger: int, kind: type[Mock], status: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a program's tests replace `subprocess.Popen`, and any number may be that of a real process."""
    one = child(ECHO, start=False)
    replaced = kind(pid=stranger, returncode=status)
    replaced.poll.return_value = replaced.wait.return_value = status
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: replaced)

    with pytest.raises(SpawnError, match=f"returned process {stranger}$"):
        one.start()
    stopped = one.stop(0)

    assert (one.pid, one.is_running(), stopped.returncode) == (None, False, None)
    assert module.WATCHER.pid is None
    assert os.getpgid(stranger) == stranger


def test_a_child_reaped_by_another_thread_is_not_running(child: MakeChild) -> None:
    """Ours: some programs wait for whatever child of theirs ends."""
    one = child("")
    assert one.pid is not None

    os.waitpid(one.pid, 0)

    process: Any = one._process
    with process._waitpid_lock:  # As the thread that has reaped it has it until it has recorded the exit status.
        assert not one.is_running()
    assert not one.is_running()


def test_a_large_message_is_written_whole(child: MakeChild) -> None:
    """Ours: in as many pieces as the pipe takes."""
    one = child("import sys\nprint(len(sys.stdin.buffer.readline()), flush=True)")

    one.write(TOO_MUCH + b"\n", Deadline(20))

    assert one.read() == b"%d\n" % (len(TOO_MUCH) + 1)


def _refused(pid: int) -> int:
    raise PermissionError(pid)


@pytest.mark.parametrize("pidfd_open", [getattr(os, "pidfd_open", None), None, _refused])
def test_several_threads_may_wait_for_the_exit_of_a_child(
    child: MakeChild, monkeypatch: pytest.MonkeyPatch, pidfd_open: Callable[[int], int] | None
) -> None:
    """Linux: a process descriptor can be polled, but not in every sandbox; other systems have no such descriptors."""
    # What the system lacks or forbids elsewhere.
    monkeypatch.setattr(os, "pidfd_open", pidfd_open, raising=False)
    if pidfd_open is None:
        monkeypatch.delattr(os, "pidfd_open")
    one = child("import sys; sys.stdin.read(); sys.exit(3)")
    before = len(list(Path("/dev/fd").iterdir()))
    ends: list[int | None] = []
    waiting = [threading.Thread(target=lambda: ends.append(one.wait(20))) for _ in range(4)]

    assert one.wait(0.05) is None
    for thread in waiting:
        thread.start()
    one.close_stdin()
    for thread in waiting:
        thread.join()

    assert ends == [3, 3, 3, 3]
    assert one.wait(0) == 3
    assert len(list(Path("/dev/fd").iterdir())) < before


def test_an_ended_child_cannot_be_written_to(child: MakeChild) -> None:
    """Ours: an OSError is translated by the channel, which adds the exit status."""
    one = child("pass")
    assert one.wait(ENOUGH_SECONDS) == 0

    with pytest.raises(BrokenPipeError):
        one.write(b"hello\n", Deadline(ENOUGH_SECONDS))


def test_a_child_with_closed_stdin_cannot_be_written_to(child: MakeChild) -> None:
    """Ours: its descriptor may already belong to another file."""
    one = child(IGNORES_EOF)
    one.close_stdin()

    assert one.is_closing
    with pytest.raises(BrokenPipeError):
        one.write(b"hello\n", Deadline(ENOUGH_SECONDS))


def test_the_stderr_of_a_child_is_stored_and_passed_on(child: MakeChild) -> None:
    """Ours: its end is for errors, and the listener for a person who watches. `Drain` decides how much is stored."""
    heard: list[bytes] = []
    one = child("import sys\nsys.stderr.write('flood of secrets ' * 500_000 + 'last words')", on_stderr=heard.append)

    assert one.wait(20) == 0
    one.settle_stderr(ENOUGH_SECONDS)

    assert b"".join(heard) == b"flood of secrets " * 500_000 + b"last words"
    assert one.stderr_tail().endswith("secrets last words")
    assert one.stderr_tail(Masker(["secrets"])).endswith("**** last words")


@pytest.mark.parametrize("grace", [0.1, 5])
def test_a_stderr_listener_may_stop_the_child(child: MakeChild, grace: float) -> None:
    """Ours: `stop` never raises, whatever thread calls it."""
    stopped: list[Any] = []
    one = child(
        "import sys\nsys.stderr.write('no use')\nsys.stderr.flush()\nsys.stdin.read()",
        start=False,
        on_stderr=lambda _: stopped.append(one.stop(grace)),
    )

    one.start()
    wait_until(lambda: stopped)

    assert stopped == [one.stop()]
    assert not one.is_running()


def test_a_child_runs_in_its_folder_with_its_environment_alone(child: MakeChild, tmp_path: Path) -> None:
    """Ours: and the variable by which what it starts is found again."""
    one = child("import os; print(os.getcwd(), sorted(set(os.environ) - {'LC_CTYPE'}))", cwd=str(tmp_path))
    one.wait(ENOUGH_SECONDS)

    assert read_all(one).decode() == f"{tmp_path} {sorted(['MARK', VARIABLE])}\n"


def test_a_child_leads_a_group_of_its_own(child: MakeChild) -> None:
    """Ours: Ctrl-C in our terminal is ours to handle."""
    one = child(IGNORES_EOF)
    assert one.pid is not None

    assert os.getpgid(one.pid) == one.pid != os.getpgid(0)


@pytest.mark.parametrize(
    ("command", "arguments", "cwd", "reason"),
    [
        ("no-such-program", [], None, "was not found on PATH"),
        (sys.executable, [], "/no/such/folder", "has no working folder '/no/such/folder'"),
        (sys.executable, ["a\0b"], None, "cannot be run: embedded null byte"),
    ],
)
@pytest.mark.story
def test_a_failed_start_raises_an_error_with_the_reason(
    command: str, arguments: list[str], cwd: str | None, reason: str
) -> None:
    """Ours: each reason has another remedy, and each is a mistake in the entry."""
    one = Child("s", command, arguments, environment={"PATH": "/nowhere"}, cwd=cwd)

    with pytest.raises(SpawnError) as caught:
        one.start()

    assert caught.value.reason == reason
    assert one.stop().returncode is None


@pytest.mark.story
def test_a_file_of_an_unknown_format_raises_an_error_with_the_reason(tmp_path: Path) -> None:
    """Ours: the system's own words."""
    (tmp_path / "data").write_bytes(b"\x7fELF nothing")
    (tmp_path / "data").chmod(0o755)

    with pytest.raises(SpawnError) as caught:
        Child("s", str(tmp_path / "data"), [], environment={}, cwd=None).start()

    assert caught.value.reason == "cannot be run: Exec format error"


@pytest.mark.story
def test_a_missing_interpreter_of_a_script_is_reported(tmp_path: Path) -> None:
    """Ours: the system says "No such file" about a file that is there."""
    script = tmp_path / "server"
    script.write_text("#!/nowhere/python\n")
    script.chmod(0o755)

    with pytest.raises(SpawnError) as caught:
        Child("s", str(script), [], environment={}, cwd=None).start()

    assert "interpreter" in caught.value.reason
    assert (caught.value.program, caught.value.case) == (str(script), "no-interpreter")


def test_a_child_that_was_stopped_before_it_started_never_starts(child: MakeChild) -> None:
    """Ours: who disconnects while a server is being started must not leave one behind."""
    one = child(IGNORES_EOF, start=False)

    assert one.stop().how == "by itself"
    with pytest.raises(NotConnectedError):
        one.start()
    assert one.pid is None


def test_stopping_waits_for_a_start_that_is_under_way(child: MakeChild) -> None:
    """Ours: a process that is not known would stay for ever."""
    one = child(ECHO, start=False, kind=SlowToStart)
    assert isinstance(one, SlowToStart)
    starter, stopper = threading.Thread(target=one.start), threading.Thread(target=one.stop)
    starter.start()
    assert one.is_spawning.wait(PATIENCE_SECONDS)
    stopper.start()
    one.may_spawn.set()
    starter.join(PATIENCE_SECONDS)
    stopper.join(PATIENCE_SECONDS)

    assert one.pid is not None
    assert not one.is_running()


def test_a_child_that_was_not_started_has_no_process(child: MakeChild) -> None:
    """Ours: a transport may be asked for its state, or closed, before its start."""
    one = child(ECHO, start=False)

    assert (one.pid, one.is_running(), one.wait(0), one.stderr_tail()) == (None, False, None, "")
    one.settle_stderr(0)
    one.close_stdin()
    one.close_stdout()


@pytest.mark.parametrize(
    ("code", "kind", "grace", "how", "returncode"),
    [
        (ECHO, Child, ENOUGH_SECONDS, "on closed input", 0),
        (IGNORES_EOF, Patient, ENOUGH_SECONDS, "on SIGTERM", -signal.SIGTERM),
        (IGNORES_SIGTERM, Child, 0, "on SIGKILL", -signal.SIGKILL),
    ],
)
def test_a_child_is_ended_with_as_little_force_as_it_takes(
    child: MakeChild, code: str, kind: type[Child], grace: float, how: str, returncode: int
) -> None:
    """Spec, stdio shutdown: close its input, wait, SIGTERM, wait, SIGKILL."""
    one = child(code, kind=kind)
    if code is not ECHO:
        assert one.read() == b"up\n"

    stopped = one.stop(grace)

    assert (stopped.how, stopped.returncode, stopped.left_others) == (how, returncode, False)
    assert stopped.seconds >= 0


def test_a_child_that_has_ended_was_not_ended_by_us(child: MakeChild) -> None:
    """Ours: its own exit status."""
    one = child("raise SystemExit(3)")
    one.wait(ENOUGH_SECONDS)

    stopped = one.stop()

    assert (stopped.how, stopped.returncode) == ("by itself", 3)


def test_stopping_twice_changes_nothing(child: MakeChild) -> None:
    """Ours: may be called again."""
    one = child(ECHO)

    assert one.stop() is one.stop()


def test_the_shortest_grace_period_of_concurrent_stops_applies(child: MakeChild) -> None:
    """Ours: after a Ctrl-C, what another thread had time for is waited for no longer."""
    one = child(IGNORES_EOF)
    assert one.read() == b"up\n"
    patient = threading.Thread(target=one.stop, args=(3600,))
    patient.start()
    wait_until(lambda: one.is_closing)

    stopped = one.stop(0.1)

    patient.join(ENOUGH_SECONDS)
    # After a tenth of a second it may be killed before it has noticed the SIGTERM.
    assert stopped.how in ("on SIGTERM", "on SIGKILL")
    assert not patient.is_alive()


def test_the_process_group_of_a_child_is_ended_too(child: MakeChild) -> None:
    """Ours: wrappers such as npx start the real server as a process of their own."""
    one = child(LEAVES_OTHERS.format(other=IGNORES_EOF, detached=False))
    assert one.read() == b"up\n"

    stopped = one.stop(ENOUGH_SECONDS)

    assert (stopped.how, stopped.left_others) == ("on closed input", True)


def test_a_descendant_in_another_process_group_is_ended_too(child: MakeChild) -> None:
    """Ours: browsers are started so, and what ends them is the server that has just been killed."""
    one = child(LEAVES_OTHERS.format(other=IGNORES_EOF, detached=True))
    assert one.read() == b"up\n"

    stopped = one.stop(ENOUGH_SECONDS)

    assert (stopped.how, stopped.left_others) == ("on closed input", True)


def test_an_unmarked_descendant_is_reported_and_does_not_block(
    child: MakeChild, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: neither its group nor its environment shows whose it is, and it may be intended. Its pipes may stay open
    for ever, but our threads must end.
    """
    code = LEAVES_OTHERS.format(other="import os; print(os.getpid(), flush=True);" + WAITS, detached=True)
    one = child(f"import os\ndel os.environ[{VARIABLE!r}]\n{code}")
    other = int(one.read())
    try:
        stopped = one.stop(5)

        assert not stopped.left_others
        assert one._stderr._thread is not None
        one._stderr._thread.join(PATIENCE_SECONDS)
        assert not one._stderr._thread.is_alive()
        assert [record.getMessage() for record in caplog.records] == [
            f"MCP server 's' has left a process running: {other} ({Path(f'/proc/{other}/comm').read_text().strip()})"
        ]
    finally:
        os.kill(other, signal.SIGKILL)


def test_a_blocked_writer_does_not_delay_stopping(child: MakeChild) -> None:
    """Ours: Windows, where a child that does not read holds the thread that writes to it."""
    one = child(DOES_NOT_READ, kind=Patient, pipes_block=True)
    assert one.read() == b"up\n"
    with pytest.raises(CutError):
        one.write(TOO_MUCH, Deadline(0))
    # Until the writer is stuck.
    stdin = one._stdin
    wait_until(lambda: not select.select([], [stdin], [], 0)[1])
    stopper = threading.Thread(target=one.stop, args=(60,), daemon=True)

    stopper.start()
    stopper.join(PATIENCE_SECONDS)

    assert one._stdin is not None
    assert (one.stop().how, one._stdin.is_closed) == ("on SIGTERM", True)


@contextmanager
def ctrl_c(true: Callable[[], Any]) -> Iterator[None]:
    """Raises one KeyboardInterrupt in the main thread when something has become true."""
    # No event: its lock may be held by what the signal interrupts, such as the handler itself.
    has_come = False

    def on_signal(*_: object) -> None:
        nonlocal has_come
        if not has_come:
            has_come = True
            raise KeyboardInterrupt

    def press() -> None:
        wait_until(lambda: has_come or true())
        # A signal wakes whatever the main thread waits in; one that comes just as it goes to wait is not noticed.
        while not has_come:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            threading.Event().wait(0.1)

    before = signal.signal(signal.SIGINT, on_signal)
    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        has_come = True
        # The handler stays until no signal can come any more.
        presser.join()
        signal.signal(signal.SIGINT, before)


def test_an_interruption_while_stopping_kills_at_once(child: MakeChild) -> None:
    """Ours: a second Ctrl-C means no more patience, but nothing is left behind either."""
    one = child(IGNORES_SIGTERM)
    one.read()

    with ctrl_c(lambda: one.is_closing):
        one.stop(60)

    assert one.wait(0) == -signal.SIGKILL


# An interruption may come between the opening of a file and the `with` that closes it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_after_an_interruption_at_any_point_of_stopping_it_can_be_stopped(child: MakeChild) -> None:
    """Ours: the caller stops it again, and would wait forever. `Popen` alone does not bear it."""
    code = {inspect.getsourcefile(each) for each in (module, processes, subprocess)}
    tried: list[int] = []

    def interrupted_at(point: int) -> int:
        """The number of points passed while a child stops, with an interruption the first time at one of them."""
        passed: set[tuple[CodeType, int]] = set()

        def trace(frame: FrameType, event: str, _: object) -> Any:
            # What is raised in a finalizer is ignored.
            names = [each.f_code.co_name for each in (frame, frame.f_back) if each is not None]
            if frame.f_code.co_filename not in code or "__del__" in names:
                return None
            frame.f_trace_opcodes = True
            place = (frame.f_code, frame.f_lasti)
            if event == "opcode" and place not in passed and frame.f_lasti in signal_points(frame.f_code):
                passed.add(place)
                if len(passed) == point:
                    raise KeyboardInterrupt
            return trace

        one = child("", start=False)
        one._command, one._arguments = "/bin/cat", []
        one.start()
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            one.stop()
        except KeyboardInterrupt:
            tried.append(point)
        finally:
            sys.settrace(before)
        assert one.stop(0.1).returncode is not None
        assert module.WATCHER.pid is None
        read_all(one)
        return len(passed)

    def work() -> None:
        interrupted_at(0)
        point = 1
        while interrupted_at(point) >= point:
            point += 1

    working = threading.Thread(target=work, daemon=True)
    working.start()
    working.join(ENOUGH_SECONDS)
    assert not working.is_alive(), tried
    assert len(tried) > 50


@functools.cache
def signal_points(code: CodeType) -> set[int]:
    """Where the interpreter may run a signal handler: after a call, a jump back and the beginning of a function."""
    before = ""
    points = set()
    for instruction in dis.get_instructions(code):
        if before.startswith(("CALL", "JUMP_BACKWARD", "RESUME")):
            points.add(instruction.offset)
        before = instruction.opname
    return points


def test_an_interruption_while_a_start_is_under_way_leaves_nothing_running(child: MakeChild) -> None:
    """Ours: there is nothing yet to kill, so the start does it."""
    one = child(IGNORES_SIGTERM, start=False, kind=SlowToStart)
    assert isinstance(one, SlowToStart)
    starter = threading.Thread(target=one.start)
    starter.start()
    assert one.is_spawning.wait(PATIENCE_SECONDS)

    with ctrl_c(lambda: one.is_closing):
        one.stop(60)
    assert one.pid is None
    one.may_spawn.set()
    starter.join(PATIENCE_SECONDS)

    assert one.wait(0) == -signal.SIGKILL


def test_running_children_are_ended_at_exit(child: MakeChild) -> None:
    """Ours: a program that ends without closing its client must not leave a server behind."""
    one = child(IGNORES_EOF)
    assert one.read() == b"up\n"

    module._stop_all()

    assert not one.is_running()
    assert one.stop().returncode in (-signal.SIGTERM, -signal.SIGKILL)


def test_the_grace_periods_are_two_seconds() -> None:
    """Spec's SDKs: two seconds for each step."""
    assert (module.CLOSE_GRACE_SECONDS, module.TERMINATE_GRACE_SECONDS) == (2.0, 2.0)


def test_a_second_start_has_the_outcome_of_the_first(child: MakeChild, nothing_left: dict[str, str]) -> None:
    """Ours: one thread begins to start it early, another needs it, and both may ask."""
    one = child(ECHO)
    pid = one.pid

    one.start()

    assert one.pid == pid
    bad = Child("s", "no-such-program-anywhere", [], environment=nothing_left, cwd=None)
    for _ in range(2):
        with pytest.raises(SpawnError):
            bad.start()
    bad.stop(0.1)


def test_a_configured_command_becomes_a_child(nothing_left: dict[str, str]) -> None:
    """Ours: the short inherited list, and the entry's own variables over it."""
    line = f"{sys.executable} -c 'import os; print(sorted(os.environ))'"
    one = Child.of("s", line, None, env={**nothing_left, "MINE": "1"}, cwd=None)
    one.start()

    assert one.stop(ENOUGH_SECONDS).returncode == 0
    said = read_all(one)

    assert b"'MINE'" in said
    assert b"'PATH'" in said
    assert b"PYTEST" not in said


@pytest.mark.story
def test_a_forked_process_does_not_end_what_its_parent_has_started(tmp_path: Path) -> None:
    """Ours: a worker that tidies up at its end must not take the server from everybody."""
    program = (
        "import os, sys\n"
        "from gaia_mcp.client.transports.stdio.child import Child\n"
        "child = Child('s', sys.executable, ['-c', 'import sys; sys.stdin.read()'], environment={}, cwd=None)\n"
        "child.start()\n"
        "worker = os.fork()\n"
        "if worker == 0:\n"
        "    child.stop(0.1)\n"
        "    os._exit(0)\n"
        "os.waitpid(worker, 0)\n"
        "print(child.wait(0), child.stop(20).how)\n"
    )

    words = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)

    assert (done.stdout, done.stderr) == ("None on closed input\n", "")


@pytest.mark.parametrize("begins", ["it runs", "it is being started"])
@pytest.mark.story
def test_a_child_is_ended_after_its_parent_was_killed(nothing_left: dict[str, str], begins: str) -> None:
    """Ours: at whatever moment, and although it ignores the end of its input and SIGTERM; what left its group too."""
    program = (
        "import os, subprocess, sys\n"
        "from gaia_mcp.client.transports.stdio import child as module\n"
        "from gaia_mcp.client.transports.stdio.child import Child\n"
        "mark, code, begins = sys.argv[1:]\n"
        "child = Child('s', sys.executable, ['-c', code], environment={'MARK': mark}, cwd=None)\n"
        "if begins == 'it is being started':\n"
        # The last moment at which nothing is known of it.
        "    module.WATCHER.watch = lambda key, group: os.kill(os.getpid(), 9)\n"
        "child.start()\n"
        # The child prints a line, and so does what it starts.
        "printed = b''\n"
        "while printed != b'up\\nup\\n':\n"
        "    printed += child.read() or sys.exit('it has ended')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    code = LEAVES_OTHERS.format(other=IGNORES_SIGTERM, detached=True).replace("sys.stdin.read()", IGNORES_SIGTERM)
    words = [sys.executable, "-c", program, nothing_left["MARK"], code, begins]

    done = subprocess.run(words, capture_output=True, timeout=20, check=False)

    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")
    wait_until(lambda: not living_with(nothing_left["MARK"]), ENOUGH_SECONDS)


def test_no_watcher_stays_for_a_child_that_has_ended(child: MakeChild) -> None:
    """Ours: a process and a descriptor for nothing."""
    one = child(ECHO)
    assert module.WATCHER.pid is not None
    one.stop(5)

    with pytest.raises(SpawnError):
        child("a\0b")

    assert module.WATCHER.pid is None


def test_the_descendants_of_a_killed_child_are_ended(child: MakeChild) -> None:
    """Ours: its output would stay open, and callers would wait for an answer that does not come."""
    one = child(LEAVES_OTHERS.format(other=IGNORES_EOF, detached=True))
    assert one.read() == b"up\n"
    assert one.pid is not None

    os.kill(one.pid, signal.SIGKILL)

    assert one.read() == b""
    stopped = one.stop(5)
    assert (stopped.how, stopped.returncode, stopped.left_others) == ("by itself", -signal.SIGKILL, True)


def test_ending_the_descendants_of_a_killed_child_does_not_reap_it(child: MakeChild) -> None:
    """Ours: the thread that reads the exit status would find none."""
    one = child(WAITS)
    assert one.pid is not None

    with one._reap_lock:  # As the thread that reads has it while it reaps the child.
        os.kill(one.pid, signal.SIGKILL)
        assert exits_within(one.pid, PATIENCE_SECONDS)
        # Until the thread waits for that too, or has gone on.
        drain = one._stderr._thread
        assert drain is not None
        wait_until(lambda: not drain.is_alive() or is_in(drain, "_reap"))

    assert one.wait(PATIENCE_SECONDS) == -signal.SIGKILL


def test_a_child_that_exits_may_leave_a_server_running(child: MakeChild) -> None:
    """Ours: a wrapper. Only at the end it is ended too."""
    other = "import os, sys\nprint(os.getppid(), flush=True)\n" + ECHO
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {other!r}])"
    one = child(code)
    assert one.wait(ENOUGH_SECONDS) == 0
    assert one.read()

    one.write(b"hello\n", Deadline(ENOUGH_SECONDS))

    assert one.read() == b"hello\n"


def test_a_child_reports_whether_its_input_has_been_read(child: MakeChild) -> None:
    """IO-10, ours: one that reads nothing may still be starting."""
    reads, does_not = child(ECHO), child(DOES_NOT_READ)
    new = child(ECHO, start=False)
    assert (new.is_drained(), new.is_unread()) == (False, False)

    for one in (reads, does_not):
        one.write(b"hello\n", Deadline(ENOUGH_SECONDS))

    wait_until(reads.is_drained)
    assert not reads.is_unread()
    assert (does_not.is_drained(), does_not.is_unread()) == (False, True)


def test_an_interrupt_during_the_start_leaves_no_process(child: MakeChild, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: also one between the making of the process and our knowing of it."""
    made: list[int] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            made.append(self.pid)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    child(WAITS)  # The watcher runs from then on.
    one = child(WAITS, start=False)
    # No signal can be sent at this very moment from outside.
    monkeypatch.setattr(module.subprocess, "Popen", Interrupted)

    with pytest.raises(KeyboardInterrupt):
        one.start()
    one.stop(0.0)

    (pid,) = made
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
