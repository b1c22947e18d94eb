"""Entries for Windows, on another system."""

from __future__ import annotations

from typing import Any

from gaia_mcp.cli.entries.building import without_windows


def _words(command: str, *args: str) -> list[str]:
    entry, _ = without_windows({"command": command, "args": list(args)}, lambda _: False)
    return [entry["command"], *entry["args"]]


def test_a_program_is_started_without_cmd() -> None:
    """Ours: as READMEs have it for Windows, where npx is a batch file."""
    cases = [
        (["cmd", "/c", "npx", "-y", "x"], ["npx", "-y", "x"]),
        (["cmd.exe", "/C", "npx.cmd", "-y", "x"], ["npx", "-y", "x"]),
        (["C:\\Windows\\System32\\cmd.exe", "/d", "/s", "/c", "npx -y 'a b'"], ["npx", "-y", "a b"]),
        (["cmd", "/c", "C:\\Program Files\\nodejs\\npx.cmd", "x"], ["npx", "x"]),
        (["C:/nodejs/node.exe", "x.js"], ["node", "x.js"]),
        (["npx.cmd", "x"], ["npx", "x"]),
        (["py", "-m", "x"], ["python3", "-m", "x"]),
        # Nothing is guessed of these.
        (["cmd", "/c"], ["cmd", "/c"]),
        (["cmd", "/c", "it's"], ["cmd", "/c", "it's"]),
        (["cmd", "dir"], ["cmd", "dir"]),
        (["C:\\mine\\server.exe"], ["C:\\mine\\server.exe"]),
        (["/opt/missing/uv", "run"], ["/opt/missing/uv", "run"]),
        (["bin/cmd", "/c", "x"], ["bin/cmd", "/c", "x"]),
        (["npx", "x"], ["npx", "x"]),
    ]

    wrong = [(words, found) for words, expected in cases if (found := _words(*words)) != expected]

    assert not wrong


def test_what_is_of_windows_is_named() -> None:
    """Ours: a path there is none here, and no other folder is guessed."""
    entry = {
        "command": "cmd",
        "args": ["/c", "npx.cmd", "server", "D:\\data", "\\\\nas\\share", "https://x", "a:b"],
        "env": {"ROOT": "C:/x", "K": {"$keyring": "k"}},
        "cwd": "C:\\",
    }

    changed, remarks = without_windows(entry, lambda _: False)

    assert changed == {**entry, "command": "npx", "args": entry["args"][2:]}
    assert remarks == [
        "'npx.cmd' is started without 'cmd /c', which is of Windows",
        "the program 'npx.cmd' is of Windows; here it is 'npx'",
        "the argument 'D:\\\\data' is a path of Windows, which is not here",
        "the argument '\\\\\\\\nas\\\\share' is a path of Windows, which is not here",
        "env ROOT 'C:/x' is a path of Windows, which is not here",
        "the folder 'C:\\\\' is a path of Windows, which is not here",
    ]


def test_an_entry_whose_program_is_here_stays_unchanged() -> None:
    """Ours: `cmd` may be a program of that name, or that of Windows below a Linux on it."""
    entries: list[dict[str, Any]] = [{"command": "cmd", "args": ["/c", "npx"]}, {"url": "https://x"}, {"command": "x"}]

    assert [without_windows(entry, lambda _: True) for entry in entries] == [(entry, []) for entry in entries]
