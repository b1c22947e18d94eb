"""Which mounts give a container a folder or a volume of this machine."""

from __future__ import annotations

from gaia_mcp.catalog.mounts import has_data_of_ours


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
