"""The process that runs untrusted code: it confines itself, then runs the code as `__main__`.

It is started as a script in Python's isolated mode, with `{"code", "seconds", "memory", "file"}` as JSON on stdin, and
imports only the standard library. With the argument `probe` it prints `true` if this system lets it isolate the code
from the network, and `false` if not.
"""

from __future__ import annotations

import ctypes
import json
import linecache
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

# From linux/sched.h, linux/prctl.h and linux/capability.h.
_NEW_IPC, _NEW_USER, _NEW_PROCESSES, _NEW_NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000
_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES = 1, 38
_CAPABILITIES_VERSION = 0x20080522
# The file name of the code in tracebacks.
NAME = "<code>"


def cut_off() -> bool:
    """Enter new user, network, PID and IPC namespaces, where Linux allows it to an unprivileged user; False where not.

    The processes that this one starts afterwards are in the new PID namespace, and end with the first of them.
    """
    user, group = os.getuid(), os.getgid()
    try:
        unshare = ctypes.CDLL(None).unshare
    except (AttributeError, OSError):
        return False
    if unshare(_NEW_USER | _NEW_NETWORK | _NEW_PROCESSES | _NEW_IPC) != 0:
        return False
    # Without these mappings the user would be unknown in the namespace; the access to files stays the same.
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with suppress(OSError):
            Path("/proc/self", name).write_text(line, encoding="ascii")
    return True


def limit(given: dict[str, Any]) -> None:
    """Set the resource limits of each process, as far as the system supports them."""
    try:
        import resource
    except ImportError:  # Windows.
        return
    bounds = {
        "RLIMIT_AS": given["memory"],
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": given["seconds"],
        "RLIMIT_FSIZE": given["file"],
    }
    for name, most in bounds.items():
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        with suppress(ValueError, OSError):  # macOS does not support all of them.
            bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(number, (bound, bound))


def renounce() -> None:
    """Drop the capabilities of the user namespace and the ability to gain privileges, also for child processes."""
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        header, none = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
        library.capset(header, none)


def go_on_in_child() -> None:
    """Fork and return in the child, which is killed when its parent ends. The parent exits as the child does."""
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        return
    while True:
        ended, status = os.waitpid(-1, 0)  # Also reaps orphans of the code.
        if ended == child:
            # As an exit status: the first process of a PID namespace cannot end by a signal that it sends itself.
            os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def run(code: str) -> None:
    """Run the code as `python -c` would, but with its source lines in tracebacks."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.argv[:] = [""]
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        exec(compile(code, NAME, "exec"), module.__dict__)  # noqa: S102 (its purpose)
    except SystemExit:
        raise
    except BaseException as problem:  # noqa: BLE001 (any exception is printed, as Python does)
        trace = problem.__traceback__
        # The first frame is that of this function.
        traceback.print_exception(problem.with_traceback(trace.tb_next if trace is not None else None))
        sys.exit(1)


def main() -> None:
    """Confine this process, and run the code from stdin."""
    if sys.argv[1:] == ["probe"]:
        sys.stdout.write(json.dumps(hasattr(os, "fork") and cut_off()))
        return
    given = json.load(sys.stdin)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    if hasattr(os, "fork") and cut_off():
        # The first process of the PID namespace only waits: signals have their usual effect only on the second.
        go_on_in_child()
        go_on_in_child()
    renounce()
    limit(given)
    run(given["code"])


if __name__ == "__main__":
    main()
