"""The built-in agent `filesystem`, as its clients see it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPClient
from gaia_mcp.contrib.agentvault.filesystem import MAX_ENTRIES, FilesystemAgent
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.testing import client_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("first\nsecond ☃\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def client(root: Path) -> Iterator[MCPClient]:
    with client_for(FilesystemAgent(str(root))) as client:
        yield client


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


def test_the_tools_are_those_of_agentvault(client: MCPClient, root: Path) -> None:
    """Spec, C5."""
    assert [tool.name for tool in client.list_tools()] == [
        "filesystem.readFile", "filesystem.writeFile", "filesystem.listDirectory",
    ]  # fmt: skip

    assert text_of(client.call_tool("filesystem.readFile", {"path": "a.txt"})) == "first\nsecond ☃\n"
    written = client.call_tool("filesystem.writeFile", {"path": "sub/b.txt", "content": "ü\r\n"})
    assert text_of(written) == "wrote 4 bytes to 'sub/b.txt'"
    assert (root / "sub" / "b.txt").read_bytes() == "ü\r\n".encode()
    assert text_of(client.call_tool("filesystem.listDirectory", {"path": "."})) == "[FILE] a.txt\n[DIR] sub"


def test_a_failed_operation_is_an_error_result(root: Path) -> None:
    """Spec, C5, and the document: a failure of a tool is a result with `isError`."""
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("readFile", {"path": "b.txt"}, "'b.txt': it does not exist"),
        ("readFile", {"path": "../x"}, "'../x': with '..' it could lead out of the root folder"),
        ("readFile", {"path": "bytes"}, "'bytes': it is not text in UTF-8: byte 3 does not fit"),
        ("writeFile", {"path": "no/x", "content": ""}, "'no/x': there is no folder 'no'"),
        ("writeFile", {"path": "x", "content": "\ud800"}, "'x': half of a surrogate pair is not text"),
        ("listDirectory", {"path": "a.txt"}, "'a.txt': 'a.txt' is not a folder"),
    ]
    (root / "bytes").write_bytes(b"ab\xff")
    served = FilesystemAgent(str(root))

    wrong = []
    for tool, arguments, text in cases:
        result = served.execute_mcp_tool(f"filesystem.{tool}", arguments)
        if result != {"content": [{"type": "text", "text": text}], "isError": True}:
            wrong.append((tool, arguments, result))

    assert not wrong


def test_an_absolute_path_below_the_root_is_accepted(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The document's own example reads `/data/file.txt`: `/data` is the folder in AgentVault's containers. The root may
    be named through a link, and a folder whose name only begins like the root's is another.
    """
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(root)
    served = FilesystemAgent(str(link))

    names = [f"{place}/a.txt" for place in (root, link, "/data", "/data/.")]
    read = [served.execute_mcp_tool("filesystem.readFile", {"path": name}) for name in names]
    listed = [served.execute_mcp_tool("filesystem.listDirectory", {"path": name}) for name in ("/data", str(root), ".")]
    bad = [
        "/data/../a.txt",
        f"{root}/../a.txt",
        f"{root}x/a.txt",
        "/database/a.txt",
        "//data/a.txt",
        "/",
        "/data//data/x",
    ]
    refused = [served.execute_mcp_tool("filesystem.readFile", {"path": name}) for name in bad]

    assert read == ["first\nsecond ☃\n"] * 4
    assert listed == ["[FILE] a.txt\n[DIR] sub"] * 3
    assert [name for name, result in zip(bad, refused, strict=True) if not isinstance(result, dict)] == []


def test_every_absolute_path_is_below_the_root_of_the_system(root: Path) -> None:
    """Ours: a person may serve it, and `/data` is then a folder like others."""
    served = FilesystemAgent("/")

    assert served.execute_mcp_tool("filesystem.readFile", {"path": f"{root}/a.txt"}) == "first\nsecond ☃\n"
    assert served.execute_mcp_tool("filesystem.readFile", {"path": f"{root}/a.txt"[1:]}) == "first\nsecond ☃\n"


def test_each_entry_is_listed_on_one_line(root: Path) -> None:
    """Ours: a file may be called as another entry, and not be text at all."""
    (root / "sub" / "x\n[DIR] y").write_text("")
    (root / "sub" / "\udcff\x1b[1m").write_text("")
    served = FilesystemAgent(str(root))

    lines = served.execute_mcp_tool("filesystem.listDirectory", {"path": "sub"})

    assert lines == "[FILE] x\\n[DIR] y\n[FILE] \ufffd\\x1b[1m"
    assert served.execute_mcp_tool("filesystem.listDirectory", {}) == "[FILE] a.txt\n[DIR] sub"


def test_a_list_of_too_many_entries_ends_with_the_limit(root: Path) -> None:
    """Ours: the model must not take a part for all."""
    for number in range(MAX_ENTRIES + 1):
        (root / "sub" / str(number)).touch()

    lines = FilesystemAgent(str(root)).execute_mcp_tool("filesystem.listDirectory", {"path": "sub"}).splitlines()

    assert len(lines) == MAX_ENTRIES + 1
    assert lines[-1] == f"(more than {MAX_ENTRIES}; the others are left out)"


def test_an_empty_folder_is_reported_as_empty(root: Path) -> None:
    """Ours: no text at all would read like a failure."""
    served = FilesystemAgent(str(root))

    assert served.execute_mcp_tool("filesystem.listDirectory", {"path": "sub"}) == "'sub' is empty"


def test_an_agent_that_only_reads_has_no_tool_to_write(root: Path) -> None:
    """Spec, C5: the option."""
    with client_for(FilesystemAgent(str(root), read_only=True)) as client:
        assert [tool.name for tool in client.list_tools()] == ["filesystem.readFile", "filesystem.listDirectory"]
        refused = client.call_tool("filesystem.writeFile", {"path": "a.txt", "content": ""})

    assert "Unknown tool: filesystem.writeFile" in refused["error"]
    assert (root / "a.txt").read_text(encoding="utf-8").startswith("first")


def test_invalid_options_are_refused() -> None:
    """Ours: no folder is served that was not named explicitly."""
    cases = [{}, {"root": ""}, {"root": 3}, {"root": ".", "read_only": "yes"}]

    accepted = []
    for options in cases:
        with suppress(TypeError):
            FilesystemAgent(**options)
            accepted.append(options)

    assert not accepted


def test_the_root_must_be_a_folder_or_a_link_to_one(root: Path) -> None:
    """Ours: the user who starts the server may name a link; a client may not."""
    with pytest.raises(ConfigFileError):
        FilesystemAgent(str(root / "a.txt"))
    (root / "link").symlink_to(root / "sub")

    served = FilesystemAgent(str(root / "link"))

    assert served.execute_mcp_tool("filesystem.listDirectory", {"path": "."}) == "'.' is empty"


@pytest.mark.story
def test_it_is_served_by_its_name(root: Path) -> None:
    """Spec, C5: as a user types it."""
    words = ["-m", "gaia_mcp", "mcp", "serve", "filesystem", "--kwarg", f'root="{root}"', "--kwarg", "read_only=true"]
    with MCPClient.from_config("files", {"command": sys.executable, "args": words}) as client:
        assert client.server_info["name"] == "filesystem"
        assert text_of(client.call_tool("filesystem.readFile", {"path": "a.txt"})).startswith("first")
