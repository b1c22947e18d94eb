"""Which mounts give a container a folder of this machine."""

from __future__ import annotations

from gaia_mcp.catalog.mounts import has_folder_of_ours


def test_a_bind_mount_is_distinguished_from_a_volume() -> None:
    """Docker reads `--mount` as CSV, with names in any case; the driver of a volume may make it a folder."""
    cases = [
        ("-v", "data:/data", False),
        ("-v", "data:/data:ro", False),
        ("--volume", "./data:/data", True),
        ("-v", "C:\\Users:/data", True),
        ("-v", "data:/data:O,upperdir=/home", True),
        ("--mount", "type=volume,src=data,dst=/data", False),
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
        if (found := has_folder_of_ours(option, value, ())) is not expected
    ]

    assert not wrong


def test_a_folder_named_by_the_user_is_allowed() -> None:
    """Ours: the user has named the folder for this server, so no document chose it."""
    cases = [
        ("-v", "/home/ada:/data"),
        ("-v", "C:\\Users:/data"),
        ("--mount", "type=bind,src=/home/ada,dst=/data"),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/home/ada"),
    ]

    wrong = [
        (option, value) for option, value in cases if has_folder_of_ours(option, value, ["/home/ada", "C:\\Users"])
    ]

    assert not wrong
