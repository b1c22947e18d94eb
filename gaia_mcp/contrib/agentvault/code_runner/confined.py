"""The process that runs untrusted code: it confines itself, then runs the code as `__main__`.

It is started as a script in Python's isolated mode, imports only the standard library, and reads
`{"code", "seconds", "memory", "file", "files", "isolated"}` as JSON from stdin. With the argument `probe` it prints
`true` if this system lets it isolate the code from the network, and `false` if not.

Isolated code is in namespaces of its own, in which it sees no process and no network of the system, and a filter of
system calls keeps it from sockets that are files. Elsewhere only the processes that it started are held together: the
first process adopts those whose parents ended, and kills them at the end.
"""

from __future__ import annotations

import ctypes
import errno
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
_DIE_WITH_PARENT, _DUMPABLE, _FILTER, _ADOPT_ORPHANS, _NO_NEW_PRIVILEGES = 1, 4, 22, 36, 38
_CAPABILITIES_VERSION = 0x20080522
# From linux/audit.h and the tables of system calls: the architecture, `socket` and `socketpair`.
_SYSTEM_CALLS = {"x86_64": (0xC000003E, 41, 53), "aarch64": (0xC00000B7, 198, 199)}
# The same on both. A ring performs system calls that no filter sees.
_NEW_RING = 425
# On x86-64, numbers from here on are another table of the same system calls.
_OTHER_TABLE = 0x40000000
# The families of sockets that belong to a network namespace. Unix sockets are files, and others reach, for example, the
# host of a virtual machine.
_INET, _INET6, _NETLINK = 2, 10, 16
# Pairs of these types can send only to each other, unlike datagrams.
_STREAM, _PACKETS = 1, 5
# From linux/bpf_common.h and linux/seccomp.h.
_LOAD, _AND, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _DENY = 0x7FFF0000, 0x00050000 | errno.EPERM
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
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


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def filter_sockets() -> bool:
    """Forbid sockets outside of a network namespace, also to child processes. False if the system cannot do it."""
    numbers = _SYSTEM_CALLS.get(os.uname().machine)
    if numbers is None:
        return False
    architecture, socket, pair = numbers
    # A test skips as many of the following instructions as its first number says if it holds, else as its second.
    rules = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _DENY),
        (_LOAD, 0, 0, _NUMBER), (_IF_AT_LEAST, 0, 1, _OTHER_TABLE), (_RETURN, 0, 0, _DENY),
        (_IF_EQUAL, 0, 1, _NEW_RING), (_RETURN, 0, 0, _DENY),
        (_IF_EQUAL, 0, 6, socket), (_LOAD, 0, 0, _FIRST),
        (_IF_EQUAL, 3, 0, _INET), (_IF_EQUAL, 2, 0, _INET6), (_IF_EQUAL, 1, 0, _NETLINK),
        (_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW),
        (_IF_EQUAL, 0, 5, pair), (_LOAD, 0, 0, _SECOND), (_AND, 0, 0, 0xF),
        (_IF_EQUAL, 2, 0, _STREAM), (_IF_EQUAL, 1, 0, _PACKETS),
        (_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    program = (_Instruction * len(rules))(*(_Instruction(*rule) for rule in rules))
    library = ctypes.CDLL(None)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    filled = _Program(len(rules), ctypes.cast(program, ctypes.POINTER(_Instruction)))
    return bool(library.prctl(_FILTER, 2, ctypes.byref(filled), 0, 0) == 0)


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
        "RLIMIT_NOFILE": given["files"],
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
        # Entering a namespace has ended this. Then its descriptors, which are counted, could not be read by the server.
        library.prctl(_DUMPABLE, 1, 0, 0, 0)


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


def hold_together() -> None:
    """Fork and return in the child. The parent exits as the child does, after it has killed the processes that the
    child left, or that are running when it gets SIGTERM.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        # Out of the parent's process group, whose signals are the server's.
        os.setsid()
        return
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    while _kill_children():
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def _kill_children() -> bool:
    """Kill the children of this process; False if there are none."""
    own, found = str(os.getpid()).encode(), False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended in the meantime.
            if (process / "stat").read_bytes().rpartition(b")")[2].split()[1] == own:
                os.kill(int(process.name), signal.SIGKILL)
                found = True
    return found


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
        sys.stdout.write(json.dumps(hasattr(os, "fork") and cut_off() and filter_sockets()))
        return
    given = json.load(sys.stdin)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    if hasattr(os, "fork"):
        if given["isolated"] and cut_off():
            # The first process of the PID namespace only waits: signals have their usual effect only on the second.
            go_on_in_child()
            go_on_in_child()
            filter_sockets()
        else:
            hold_together()
    renounce()
    limit(given)
    run(given["code"])


if __name__ == "__main__":
    main()
