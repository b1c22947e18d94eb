"""Which programs a document may have run."""

from __future__ import annotations

from gaia_mcp.catalog.runners import is_own_program, runs_anything


def test_a_program_of_a_package_is_recognized_by_its_name() -> None:
    """Ours: as published documents have them after `--from`."""
    cases = [
        ("mneme", "mneme-hq"),
        ("seam-mcp", "seam-suite"),
        ("sema", "semahash"),
        ("pursers-mcp", "pursers-client"),
        ("awslabs.aws-api-mcp-server", "awslabs.aws-api-mcp-server"),
        ("b-mcp", "b"),
        ("memoryeditor", "MemoryEditor"),
        ("knowledge-mcp", "graph-tools"),
    ]

    wrong = [(program, package) for program, package in cases if not is_own_program(program, package)]

    assert not wrong


def test_a_program_that_runs_its_arguments_is_never_the_package_s_own() -> None:
    """Ours: whatever the package is called, and with any version or suffix."""
    cases = [
        ("sh", "mcp-server-time"),
        ("time", "mcp-server-time"),
        ("git", "mcp-server-git"),
        ("sqlite3", "mcp-server-sqlite"),
        ("python3.12", "python-mcp"),
        ("PowerShell.exe", "powershell-mcp"),
        ("ssh-agent", "ssh-mcp"),
        ("fastmcp", "fastmcp"),
        ("mcp", "mcp"),
        ("dotenv", "mcp-server-time"),
        ("/bin/sh", "sh-mcp"),
        ("./mcp", "b"),
        ("-c", "c"),
        ("curl", "fetcher"),
        ("server", "mcp-server-time"),
        ("my", "mymcp"),
    ]

    wrong = [(program, package) for program, package in cases if is_own_program(program, package)]

    assert not wrong


def test_a_server_that_is_named_after_such_a_program_is_not_one() -> None:
    """Ours: the name of the program is the whole name."""
    wrong = [name for name in ("mcp-server-git", "jupyter-mcp-server", "node-red", "time7-zone") if runs_anything(name)]

    assert not wrong
