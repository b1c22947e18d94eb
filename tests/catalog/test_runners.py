"""Which programs a document may have run."""

from __future__ import annotations

from gaia_mcp.catalog.runners import has_data_of_ours, is_own_program, runs_anything


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


def test_a_mount_of_a_folder_or_a_volume_is_recognized() -> None:
    """Docker reads `--mount` as CSV, with names in any case; the driver of a volume may make it a folder. A volume that
    has a name may exist, with the data of something else; one without a name is new.
    """
    cases = [
        ("-v", "data:/data", True),
        ("-v", "data:/data:ro", True),
        ("--volume", "./data:/data", True),
        ("-v", "C:\\Users:/data", True),
        ("-v", "data:/data:O,upperdir=/home", True),
        ("--mount", "type=volume,src=data,dst=/data", True),
        ("--mount", "type=volume,dst=/data,volume-driver=local,volume-opt=type=none", False),
        ("--mount", "type=bind,src=/,dst=/data", True),
        ("--mount", "type=bind,SOURCE=/,dst=/data", True),
        ("--mount", 'type=bind,"source=/",dst=/data', True),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/,volume-opt=o=bind", True),
        ("--mount", "dst=/data\nsrc=/", True),
    ]

    wrong = [
        (option, value, found)
        for option, value, expected in cases
        if (found := has_data_of_ours(option, value, ())) is not expected
    ]

    assert not wrong


def test_a_folder_or_a_volume_named_by_the_user_is_allowed() -> None:
    """Ours: the user has named it for this server, so no document chose it."""
    cases = [
        ("-v", "data:/data:ro"),
        ("--mount", "type=volume,src=data,dst=/data"),
        ("-v", "/home/ada:/data"),
        ("-v", "C:\\Users:/data"),
        ("--mount", "type=bind,src=/home/ada,dst=/data"),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/home/ada"),
    ]

    wrong = [
        (option, value)
        for option, value in cases
        if has_data_of_ours(option, value, ["/home/ada", "C:\\Users", "data"])
    ]

    assert not wrong
