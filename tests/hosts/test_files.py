"""A host's file: real files, really broken, and really killed writers."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.hosts import Layout
from gaia_mcp.hosts.files import (
    all_places,
    change_servers,
    chosen_place,
    folder_of,
    format_of,
    place_of,
    places,
    project_places,
    read_document,
    servers_of,
    switched_off,
)
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.storage.atomic import MAX_BYTES

JSON = Layout("json", ("mcpServers",))
TOML = Layout("toml", ("mcp_servers",))
ENTRY = {"command": "uvx"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mcp.json"


def put(path: Path, layout: Layout = JSON, **entries: dict[str, Any]) -> None:
    change_servers(path, layout, "Cursor", lambda _: entries)


def test_an_invalid_file_is_reported_with_its_place_and_not_changed(path: Path) -> None:
    """Ours: with the host's name; whether it was to be read or written."""
    cases: list[tuple[bytes, str, tuple[int, int]]] = [
        (b"{bad", "double quotes", (1, 2)),
        (b'{"mcpServers": []}', "'mcpServers' is not an object", (0, 0)),
        (b'{"a": "\xff"}', "not UTF-8", (1, 8)),
        (b'\xef\xbb\xbf{\n"\xff"}', "not UTF-8", (2, 2)),
        (b"[" * 100_000, "nested too deeply", (1, 202)),
    ]

    wrong = []
    for data, words, place in cases:
        path.write_bytes(data)
        for act in (lambda: servers_of(path, JSON, "Cursor"), lambda: put(path, n=ENTRY)):
            try:
                act()
            except ConfigFileError as error:
                is_exact = words in error.message and error.message.endswith("(the file of Cursor)")
                if is_exact and (error.line, error.column) == place and path.read_bytes() == data:
                    continue
                wrong.append((data[:20], error))
            else:
                wrong.append((data[:20], None))

    assert not wrong


def test_a_missing_file_is_an_error_to_read_and_is_created_to_write(path: Path) -> None:
    """Ours: private, as it may come to hold secrets."""
    with pytest.raises(ConfigFileError, match="does not exist"):
        servers_of(path, JSON)
    below = path.parent / "new" / "mcp.json"
    put(below, n=ENTRY)
    assert servers_of(below, JSON) == {"n": ENTRY}
    assert stat.S_IMODE(below.stat().st_mode) == 0o600


def test_an_empty_file_has_no_servers_and_can_be_written(path: Path) -> None:
    """Ours: some hosts make one."""
    path.write_bytes(b"")
    assert servers_of(path, JSON) == {}
    put(path, n=ENTRY)
    assert servers_of(path, JSON) == {"n": ENTRY}


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to itself"])
def test_only_a_regular_file_is_read(path: Path, kind: str) -> None:
    """Ours: reading a pipe without a writer would never end."""
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    with pytest.raises(ConfigFileError):
        servers_of(path, JSON)
    with pytest.raises(ConfigFileError):
        put(path, n=ENTRY)


def test_a_read_error_of_the_system_is_reported() -> None:
    """Ours: a file that is there, and whose beginning no process has."""
    with pytest.raises(ConfigFileError, match="cannot be read"):
        servers_of(Path("/proc/self/mem"), JSON)


def test_an_enormous_file_is_refused(path: Path) -> None:
    """Ours: before it is read."""
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for act in (lambda: servers_of(path, JSON), lambda: put(path, n=ENTRY)):
        with pytest.raises(ConfigFileError, match="it is larger than 64 MB"):
            act()


def test_the_byte_order_mark_line_ends_and_mode_are_preserved(path: Path) -> None:
    """Ours: editors and other programs may depend on each of them."""
    path.write_bytes(b'\xef\xbb\xbf{\r\n  "x": "\xc3\xa9",\r\n  "mcpServers": {}\r\n}')
    path.chmod(0o640)
    put(path, n=ENTRY)
    data = path.read_bytes()
    assert data.startswith(b'\xef\xbb\xbf{\r\n  "x": "\xc3\xa9",\r\n')
    assert data.count(b"\n") == data.count(b"\r\n") == 7
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_symlink_stays_a_symlink(tmp_path: Path, path: Path) -> None:
    """Ours: also one to what is not there yet."""
    path.symlink_to("real.json")
    put(path, n=ENTRY)
    put(path, m=ENTRY)
    assert path.is_symlink()
    assert list(servers_of(tmp_path / "real.json", JSON)) == ["n", "m"]


@pytest.mark.parametrize("mode", [0o444, 0o400])
def test_a_read_only_file_stays(path: Path, mode: int) -> None:
    """Ours: its owner meant it."""
    path.write_text("{}")
    path.chmod(mode)
    with pytest.raises(ConfigFileError, match="read-only"):
        put(path, n=ENTRY)
    assert path.read_text() == "{}"


def test_several_servers_are_written_at_once_or_not_at_all(path: Path) -> None:
    """Ours: what is returned for the entries that are there; nothing at all if that raises."""
    path.write_text('{"mcpServers": {"a": {}}}')
    seen: list[dict[str, Any]] = []

    def change(there: dict[str, Any]) -> dict[str, dict[str, Any]]:
        seen.append(there)
        return {"b": ENTRY, "a": ENTRY}

    change_servers(path, JSON, "", change)
    assert (seen, servers_of(path, JSON)) == ([{"a": {}}], {"a": ENTRY, "b": ENTRY})
    before = path.read_bytes()

    def fail(there: dict[str, Any]) -> dict[str, dict[str, Any]]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_servers(path, JSON, "", fail)
    assert path.read_bytes() == before


def test_a_concurrent_change_by_the_host_is_not_overwritten(path: Path) -> None:
    """Ours: it knows nothing of our lock."""
    path.write_text("{}")

    def change(there: dict[str, Any]) -> dict[str, dict[str, Any]]:
        path.write_text('{"theirs": 1}')
        return {"n": ENTRY}

    with pytest.raises(ConfigFileError, match="changed by another program"):
        change_servers(path, JSON, "", change)
    assert path.read_text() == '{"theirs": 1}'


def test_a_change_without_servers_does_not_write_the_file(path: Path) -> None:
    """Ours: not even the same again."""
    path.write_text('{"mcpServers": {}}')
    before = path.stat()
    put(path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_any_document_can_be_read(path: Path) -> None:
    """Ours: to find out whose file it is."""
    path.write_text("a = 1")
    assert read_document(path, "toml") == {"a": 1}
    with pytest.raises(ConfigFileError):
        read_document(path, "json")


def test_concurrent_writers_lose_no_server(path: Path) -> None:
    """Ours: each waits for the other."""
    threads = [threading.Thread(target=put, args=(path,), kwargs={f"n{number}": ENTRY}) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(servers_of(path, JSON)) == 8


@pytest.mark.story
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new(path: Path) -> None:
    """Ours: whenever that happens."""
    path.write_text(json.dumps({"x": "y" * 100_000, "mcpServers": {}}))
    program = (
        "import sys\nfrom pathlib import Path\nfrom gaia_mcp.hosts import Layout\n"
        "from gaia_mcp.hosts.files import change_servers\nnumber = 0\nprint('ready', flush=True)\n"
        "while True:\n    number += 1\n"
        "    entries = {'n': {'command': str(number)}}\n"
        "    change_servers(Path(sys.argv[1]), Layout('json', ('mcpServers',)), '', lambda _: entries)\n"
    )
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        inode = path.stat().st_ino
        while path.stat().st_ino == inode:
            continue
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert list(servers_of(path, JSON)) == ["n"]
        assert len(json.loads(path.read_text())["x"]) == 100_000


HOME = Path("/home/ada")

WINDOWS = {"APPDATA": "/R", "LOCALAPPDATA": "/L"}


def test_the_file_of_a_host_depends_on_the_platform() -> None:
    """Ours: the first is the usual one."""
    cases = [
        (
            "claude-desktop",
            "/home/ada/Library/Application Support/Claude/claude_desktop_config.json",
            "/home/ada/.config/Claude/claude_desktop_config.json",
            "/R/Claude/claude_desktop_config.json",
        ),
        ("claude-code", "/home/ada/.claude.json", "/home/ada/.claude.json", "/home/ada/.claude.json"),
        ("cursor", "/home/ada/.cursor/mcp.json", "/home/ada/.cursor/mcp.json", "/home/ada/.cursor/mcp.json"),
        (
            "vscode",
            "/home/ada/Library/Application Support/Code/User/mcp.json",
            "/home/ada/.config/Code/User/mcp.json",
            "/R/Code/User/mcp.json",
        ),
        ("codex", "/home/ada/.codex/config.toml", "/home/ada/.codex/config.toml", "/home/ada/.codex/config.toml"),
        ("zed", "/home/ada/.config/zed/settings.json", "/home/ada/.config/zed/settings.json", "/R/Zed/settings.json"),
        (
            "goose",
            "/home/ada/.config/goose/config.yaml",
            "/home/ada/.config/goose/config.yaml",
            "/R/Block/goose/config/config.yaml",
        ),
        (
            "trae",
            "/home/ada/Library/Application Support/Trae/User/mcp.json",
            "/home/ada/.config/trae/mcp.json",
            "/R/Trae/User/mcp.json",
        ),
    ]

    wrong = []
    for host, mac, linux, windows in cases:
        found = [
            places(HOSTS[host], environ, HOME, platform)[0].path
            for environ, platform in (({}, "darwin"), ({}, "linux"), (WINDOWS, "win32"))
        ]
        if found != [Path(mac), Path(linux), Path(windows)]:
            wrong.append((host, found))

    assert not wrong


def test_environment_variables_move_the_files() -> None:
    """Ours: XDG's on Linux, a host's own everywhere, Windows' by default where they always are."""
    assert places(HOSTS["goose"], {"XDG_CONFIG_HOME": "/x"}, HOME, "linux")[0].path == Path("/x/goose/config.yaml")
    assert places(HOSTS["goose"], {"XDG_CONFIG_HOME": "/x"}, HOME, "darwin")[0].path.is_relative_to(HOME)
    assert places(HOSTS["codex"], {"CODEX_HOME": "/c"}, HOME, "linux")[0].path == Path("/c/config.toml")
    assert places(HOSTS["claude-code"], {"CLAUDE_CONFIG_DIR": "/c"}, HOME, "linux")[0].path == Path("/c/.claude.json")
    store = [place.path for place in places(HOSTS["claude-desktop"], {}, HOME, "win32")]
    assert store[0].is_relative_to(HOME / "AppData" / "Roaming")
    assert store[1].is_relative_to(HOME / "AppData" / "Local" / "Packages")


def test_every_host_has_a_file_on_every_platform() -> None:
    """Ours: an import looks for the file of each host, on each platform."""
    missing = [
        (host.key, platform)
        for host in HOSTS.values()
        for platform in ("darwin", "linux", "win32")
        if not places(host, {}, HOME, platform) and (host.user or not host.project)
    ]

    assert not missing


def test_a_project_has_files_of_its_own() -> None:
    """Ours: Claude Code keeps a second one for this person alone; others keep none."""
    (cursor,) = project_places(HOSTS["cursor"], Path("/p"), {}, HOME)
    assert (cursor.path, cursor.scope) == (Path("/p/.cursor/mcp.json"), "project")
    shared, own = project_places(HOSTS["claude-code"], Path("/p"), {}, HOME)
    assert (shared.path, shared.layout.root) == (Path("/p/.mcp.json"), ("mcpServers",))
    assert (own.path, own.layout.root, own.scope) == (HOME / ".claude.json", ("projects", "/p", "mcpServers"), "local")
    assert project_places(HOSTS["goose"], Path("/p"), {}, HOME) == []


def test_the_folder_of_a_project_is_found_from_its_file() -> None:
    """Ours: wherever it is read from; a file outside a project has none."""
    here = Path("/here")
    _, own = project_places(HOSTS["claude-code"], here, {}, HOME)
    named = place_of(Path("/else/p/.vscode/mcp.json"), {}, {}, HOME)
    other = place_of(Path("/else/p/x.json"), {}, {}, HOME)
    found = [folder_of(place, here) for place in (own, named, other)]
    assert found == [here, Path("/else/p"), None]


def test_the_existing_file_is_chosen(tmp_path: Path) -> None:
    """Ours: else the usual one."""
    candidates = places(HOSTS["opencode"], {}, tmp_path, "linux")
    assert chosen_place(candidates).path.name == "opencode.json"
    candidates[1].path.parent.mkdir(parents=True)
    candidates[1].path.write_text("{}")
    assert chosen_place(candidates).path.name == "opencode.jsonc"


def test_all_existing_files_are_found(tmp_path: Path) -> None:
    """Ours: the person's own, and with a folder that of the project."""
    for path in (".cursor/mcp.json", ".claude.json", "p/.mcp.json", "p/.vscode/mcp.json"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("{}")

    assert [place.host.key for place in all_places({}, tmp_path, None)] == ["claude-code", "cursor"]
    found = [(place.host.key, place.scope) for place in all_places({}, tmp_path, tmp_path / "p")]
    assert found == [
        ("claude-code", "user"),
        ("claude-code", "project"),
        ("claude-code", "local"),
        ("cursor", "user"),
        ("vscode", "project"),
    ]


def test_a_file_is_recognised_by_its_place_its_name_or_its_content() -> None:
    """Ours: in this order."""
    cases = [
        (str(HOME / ".cursor/mcp.json"), {}, "cursor", Layout("json", ("mcpServers",))),
        ("/else/.cursor/mcp.json", {}, "cursor", Layout("json", ("mcpServers",))),
        ("/else/.vscode/mcp.json", {}, "vscode", Layout("json", ("servers",))),
        ("/else/x.json", {"servers": {}}, "vscode", Layout("json", ("servers",))),
        ("/else/x.json", {"mcpServers": {}}, "claude-code", Layout("json", ("mcpServers",))),
        ("/else/x.json", {"context_servers": {}}, "zed", Layout("json", ("context_servers",))),
        ("/else/x.json", {"mcp": {"servers": {}}}, "vscode", Layout("json", ("mcp", "servers"))),
        ("/else/x.json", {"mcp": {"time": {"command": ["x"]}}}, "opencode", Layout("json", ("mcp",))),
        ("/else/x.yml", {"mcp": {"servers": []}}, "prototype", Layout("yaml", ("mcp", "servers"), listed=True)),
        ("/else/x.json", {"time": {"command": "x"}}, "mcpm", Layout("json", ())),
        ("/else/x.json", {"other": 1}, "claude-code", Layout("json", ("mcpServers",))),
        ("/else/x.json", [], "claude-code", Layout("json", ("mcpServers",))),
        ("/else/x.toml", {}, "codex", Layout("toml", ("mcp_servers",))),
        ("/else/x.yaml", {}, "goose", Layout("yaml", ("extensions",))),
        ("/else/x.yml", {"mcpServers": []}, "continue", Layout("yaml", ("mcpServers",), listed=True)),
        ("/else/x.yml", {"mcpServers": {}}, "claude-code", Layout("yaml", ("mcpServers",))),
    ]

    wrong = []
    for path, document, host, layout in cases:
        place = place_of(Path(path), document, {}, HOME)
        if (place.host.key, place.layout, place.path) != (host, layout, Path(path)):
            wrong.append((path, document, place))

    assert not wrong


def test_a_file_without_a_telling_suffix_is_json() -> None:
    """Ours: most hosts write JSON, some with comments."""
    assert {format_of(Path(name)) for name in ("a.json", "a.jsonc", "a")} == {"json"}


PROJECT = Path("/p")


def test_gemini_lists_excluded_servers_beside_them(tmp_path: Path) -> None:
    """Ours: what is no name in it is passed over."""
    (place,) = places(HOSTS["gemini"], {}, tmp_path)
    place.path.parent.mkdir()
    place.path.write_text('{"mcp": {"excluded": ["a", 5]}}')
    assert switched_off(place, PROJECT, {}, tmp_path) == {"a"}


def test_claude_code_has_two_lists_of_disabled_servers_for_each_project(tmp_path: Path) -> None:
    """Ours: one for the servers that the project shares, one for the person's own."""
    held = {"disabledMcpjsonServers": ["shared"], "disabledMcpServers": ["own"]}
    (tmp_path / ".claude.json").write_text(json.dumps({"projects": {str(PROJECT): held}}))
    (user,) = places(HOSTS["claude-code"], {}, tmp_path)
    shared, own = project_places(HOSTS["claude-code"], PROJECT, {}, tmp_path)
    found = [switched_off(place, PROJECT, {}, tmp_path) for place in (user, shared, own)]
    assert found == [set(), {"shared"}, {"own"}]


def test_a_missing_or_invalid_file_disables_no_server(tmp_path: Path) -> None:
    """Ours: nor does one that cannot be read, which reading the servers reports."""
    (place,) = places(HOSTS["gemini"], {}, tmp_path)
    assert switched_off(place, PROJECT, {}, tmp_path) == set()
    place.path.parent.mkdir()
    for text in ("{", "[]", '{"mcp": 5}', '{"mcp": {"excluded": "a"}}'):
        place.path.write_text(text)
        assert switched_off(place, PROJECT, {}, tmp_path) == set()
