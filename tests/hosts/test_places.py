"""Where the hosts' files are."""

from __future__ import annotations

from pathlib import Path

from gaia_mcp.hosts.documents import Layout
from gaia_mcp.hosts.known import BY_KEY, HOSTS
from gaia_mcp.hosts.places import (
    all_places,
    chosen_place,
    folder_of,
    format_of,
    is_there,
    place_of,
    places,
    project_places,
)

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


def test_a_file_that_cannot_be_examined_counts_as_existing(tmp_path: Path) -> None:
    """Ours: reading it reports why not, and the other hosts are read all the same."""
    assert [is_there(tmp_path / name) for name in ("no", "x" * 300)] == [False, True]


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


def test_the_table_of_hosts_is_consistent() -> None:
    """Ours: a key of the table is the host's own, and every key of a file leads to a host that reads it."""
    assert all(key == host.key for key, host in HOSTS.items())
    assert all(HOSTS[host].layout.root == (key,) for key, host in BY_KEY.items())
    assert {format_of(Path(name)) for name in ("a.json", "a.jsonc", "a")} == {"json"}
