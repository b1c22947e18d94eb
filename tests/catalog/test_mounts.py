"""Which mounts give a container a folder of this machine."""

from __future__ import annotations

import pytest

from gaia_mcp.catalog.mounts import has_folder_of_ours


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
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
    ],
)
def test_a_folder_is_told_from_a_volume(option: str, value: str, expected: bool) -> None:
    """Docker reads `--mount` as CSV, with names in any case; the driver of a volume may make it a folder."""
    assert has_folder_of_ours(option, value, ()) is expected


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("-v", "/home/ada:/data"),
        ("-v", "C:\\Users:/data"),
        ("--mount", "type=bind,src=/home/ada,dst=/data"),
        ("--mount", "type=volume,dst=/data,volume-opt=device=/home/ada"),
    ],
)
def test_a_folder_that_the_user_named_is_none_of_ours(option: str, value: str) -> None:
    """Ours."""
    assert not has_folder_of_ours(option, value, ["/home/ada", "C:\\Users"])
