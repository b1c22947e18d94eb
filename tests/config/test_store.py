"""The configured servers, in real files."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore, check_server_name
from gaia_mcp.config.trust import ProjectFile, approve, find_project_file, revoke
from gaia_mcp.core.errors import ConfigFileError, EntryError, ServerExistsError, ServerUnknownError

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "server"]}
READ = read_entry("a", ENTRY)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


@pytest.fixture
def store(path: Path) -> ConfigStore:
    return ConfigStore(path)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestServers:
    """What is configured."""

    def test_a_missing_file_has_no_servers(self, store: ConfigStore) -> None:
        """Ours: everybody begins without one, and reading makes none."""
        assert store.servers() == {}
        assert store.names() == []
        assert not store.path.exists()

    def test_both_keys_are_read_and_the_newer_one_wins(self, path: Path) -> None:
        """Ours: `mcpServers`, or the older `servers`; the order is the file's."""
        cases = [
            ('{"mcpServers": {"b": {}, "a": {}}}', ["b", "a"]),
            ('{"servers": {"a": {}}}', ["a"]),
            ('{"servers": {"old": {}}, "mcpServers": {"new": {}}}', ["new"]),
            ('{"servers": {"old": {}}, "mcpServers": {}}', []),
            ('{"other": 1}', []),
            ("{}", []),
        ]

        def names(content: str) -> list[str]:
            path.write_text(content)
            return ConfigStore(path).names()

        assert {content: names(content) for content, _ in cases} == dict(cases)

    def test_servers_that_are_not_an_object_are_an_error(self, store: ConfigStore, path: Path) -> None:
        """Ours: it names the key, and a change leaves the file as it is."""
        for key in ("mcpServers", "servers"):
            for value in ("[]", "null", "5"):
                content = f'{{"{key}": {value}}}'
                path.write_text(content)
                for use in (store.servers, lambda: store.add(READ), lambda: store.remove(["a"])):
                    with pytest.raises(ConfigFileError, match=f"'{key}' is not an object"):
                        use()
                assert path.read_text() == content

    def test_a_store_that_reads_once_reads_again_after_its_own_change(self, path: Path) -> None:
        """Ours: a command reads its file once, which may be a pipe; the library reads it for each access."""
        path.write_text('{"mcpServers": {"a": {"command": "a"}}}')
        once, always = ConfigStore.locate(path, reads_once=True), ConfigStore.locate(path)
        assert once.names() == always.names() == ["a"]

        path.write_text('{"mcpServers": {"b": {"command": "b"}}}')
        assert (once.names(), always.names()) == (["a"], ["b"])
        once.add(read_entry("c", ENTRY))
        assert once.names() == ["b", "c"]

    def test_a_command_that_needs_no_server_can_do_without_an_unreadable_file(self, tmp_path: Path) -> None:
        """Ours: a server that is typed on the command line can be used all the same."""
        for name in ("servers.json", "prototype.yaml"):
            (tmp_path / name).write_text("[")
            store = ConfigStore(tmp_path / name)
            assert (store.unread().names(), store.unread().path) == ([], tmp_path / name)
            with pytest.raises(ConfigFileError):
                store.names()


class TestEntry:
    """One of them."""

    def test_an_entry_has_its_name_and_file(self, store: ConfigStore, path: Path) -> None:
        """Ours: errors say where it comes from."""
        store.add(read_entry("fs", ENTRY))
        entry = store.entry("fs")
        assert (entry.name, entry.source, entry.raw) == ("fs", path, ENTRY)

    def test_an_unknown_name_gets_a_suggestion(self, store: ConfigStore, path: Path) -> None:
        """Ours: most unknown names are typing errors."""
        store.add(read_entry("filesystem", ENTRY))
        with pytest.raises(ServerUnknownError) as caught:
            store.entry("filesytem")
        assert (caught.value.server, caught.value.path) == ("filesytem", path)
        assert caught.value.hint == "did you mean 'filesystem'?"
        with pytest.raises(ServerUnknownError) as caught:
            store.entry("xyz")
        assert caught.value.hint == ""

    def test_an_invalid_entry_leaves_the_others_usable(self, store: ConfigStore, path: Path) -> None:
        """Ours: one half-written entry must not stop the rest."""
        path.write_text('{"mcpServers": {"bad": {"args": []}, "worse": null, "good": {"command": "x"}}}')
        assert store.entry("good").described() == "x"
        assert store.names() == ["bad", "worse", "good"]
        for name in ("bad", "worse"):
            with pytest.raises(EntryError) as caught:
                store.entry(name)
            assert caught.value.server == name
        entries = store.entries()
        assert list(entries) == ["bad", "worse", "good"]
        assert entries["good"] == store.entry("good")
        assert [error.server for error in entries.values() if isinstance(error, EntryError)] == ["bad", "worse"]


class TestChanging:
    """Adding and removing, without losing what others have written."""

    def test_the_first_server_creates_folder_and_file(self, tmp_path: Path) -> None:
        """Ours: folder 0700, file 0600."""
        store = ConfigStore(tmp_path / "new" / "servers.json")
        store.add(read_entry("fs", ENTRY))
        assert json.loads(store.path.read_text()) == {"mcpServers": {"fs": ENTRY}}
        assert (mode_of(store.path.parent), mode_of(store.path)) == (0o700, 0o600)
        assert [entry.name for entry in store.path.parent.iterdir()] == ["servers.json"]

    def test_all_other_content_of_the_file_is_preserved(self, store: ConfigStore, path: Path) -> None:
        """Ours: unknown keys and their order survive, byte for byte."""
        for key, indent in product(("mcpServers", "servers"), (2, 4, "\t")):
            document = {
                "zeta": {"b": 1, "a": [1.5, None, True]},
                key: {"web": {"note": "é", "type": "new-kind", "url": 5}, "fs": {"x": 1, "command": "y"}, "odd": None},
                "globalShortcut": "Ctrl+Space",
            }
            before = json.dumps(document, indent=indent, ensure_ascii=False) + "\n"
            path.write_text(before, encoding="utf-8")

            store.add(read_entry("new", ENTRY))
            assert list(json.loads(path.read_text(encoding="utf-8"))) == list(document)
            assert store.names() == ["web", "fs", "odd", "new"]
            assert store.remove(["new"]) == [ENTRY]
            assert path.read_text(encoding="utf-8") == before

    def test_of_both_keys_only_the_newer_is_changed(self, store: ConfigStore, path: Path) -> None:
        """Ours: what is not read is not written."""
        path.write_text('{"servers": {"old": {}}, "mcpServers": {"new": {}}}')
        store.add(read_entry("fs", ENTRY))
        assert json.loads(path.read_text()) == {"servers": {"old": {}}, "mcpServers": {"new": {}, "fs": ENTRY}}
        with pytest.raises(ServerUnknownError):
            store.remove(["old"])

    def test_a_file_without_servers_gets_the_newer_key(self, store: ConfigStore, path: Path) -> None:
        """Claude Desktop's format."""
        path.write_text('{"theme": "dark"}')
        store.add(read_entry("fs", ENTRY))
        assert json.loads(path.read_text()) == {"theme": "dark", "mcpServers": {"fs": ENTRY}}

    def test_a_name_that_is_taken_is_replaced_only_on_request(self, store: ConfigStore, path: Path) -> None:
        """Ours: `--force`. The place in the file stays."""
        store.add(read_entry("a", ENTRY))
        store.add(read_entry("b", ENTRY))
        before = path.read_bytes()
        with pytest.raises(ServerExistsError) as caught:
            store.add(read_entry("a", {"command": "other"}))
        assert caught.value.server == "a"
        assert path.read_bytes() == before

        store.add(read_entry("a", {"command": "other"}), replace=["a"])
        assert store.servers() == {"a": {"command": "other"}, "b": ENTRY}
        assert store.names() == ["a", "b"]

    def test_an_invalid_name_or_entry_is_not_saved(self, store: ConfigStore) -> None:
        """Ours: a name or an entry that could not be used."""
        with pytest.raises(EntryError):
            store.add(read_entry("a b", ENTRY))
        with pytest.raises(EntryError):
            store.add(read_entry("a\n", ENTRY))
        with pytest.raises(EntryError):
            store.add(read_entry("a", {"args": []}))
        assert not store.path.exists()

    def test_removing_is_all_or_nothing(self, store: ConfigStore, path: Path) -> None:
        """Ours: half a command would have to be undone by hand."""
        store.add(read_entry("a", ENTRY))
        store.add(read_entry("b", {"command": "b"}))
        before = path.read_bytes()
        with pytest.raises(ServerUnknownError) as caught:
            store.remove(["a", "bb"])
        assert caught.value.server == "bb"
        assert path.read_bytes() == before

        assert store.remove(["b", "a"]) == [{"command": "b"}, ENTRY]
        assert json.loads(path.read_text()) == {"mcpServers": {}}

    def test_removing_an_unknown_server_creates_no_file(self, store: ConfigStore) -> None:
        """Ours: there is nothing to say in it."""
        with pytest.raises(ServerUnknownError):
            store.remove(["a"])
        assert not store.path.exists()

    def test_servers_are_disabled_and_enabled_all_or_none(self, store: ConfigStore, path: Path) -> None:
        """Ours: an enabled server needs no such member, and an invalid entry is left to its author."""
        path.write_text(json.dumps({"mcpServers": {"a": ENTRY, "b": {"disabled": False, **ENTRY}, "bad": {}}}))
        disabled = {**ENTRY, "disabled": True}

        store.set_disabled(["a", "b"], disabled=True)
        assert store.servers() == {"a": disabled, "b": disabled, "bad": {}}
        with pytest.raises(EntryError):
            store.set_disabled(["a", "bad"], disabled=False)
        store.set_disabled(["b"], disabled=False)

        assert store.servers() == {"a": disabled, "b": ENTRY, "bad": {}}

    def test_an_invalid_file_is_never_overwritten(self, store: ConfigStore, path: Path) -> None:
        """Ours: it may hold servers that a person wants back."""
        contents = [b"", b"{", b"null", b"\xff\xfe{", b'{"mcpServers": {"a": {}, "a": {}}}']

        changed = []
        for content in contents:
            path.write_bytes(content)
            for use in (lambda: store.add(READ, replace=["a"]), lambda: store.remove(["a"]), store.names):
                with suppress(ConfigFileError):
                    use()
                    changed.append((content, use))
            if path.read_bytes() != content:
                changed.append((content, path.read_bytes()))

        assert not changed
        assert [entry.name for entry in path.parent.iterdir()] == ["servers.json"]

    def test_a_read_only_file_is_not_changed(self, store: ConfigStore, path: Path) -> None:
        """Ours: its owner meant it."""
        path.write_text("{}")
        path.chmod(0o444)
        with pytest.raises(ConfigFileError, match="read-only"):
            store.add(read_entry("a", ENTRY))
        assert (path.read_text(), mode_of(path)) == ("{}", 0o444)

    def test_a_file_elsewhere_keeps_its_mode(self, store: ConfigStore, path: Path) -> None:
        """Ours: a project's file is for others too."""
        path.write_text("{}")
        path.chmod(0o664)
        store.add(read_entry("a", ENTRY))
        assert mode_of(path) == 0o664

    def test_the_user_s_file_becomes_private(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: it holds tokens."""
        monkeypatch.setenv("GAIA_HOME", str(tmp_path))
        store = ConfigStore.locate(cwd=tmp_path / "elsewhere")
        store.path.write_text("{}")
        store.path.chmod(0o644)
        store.add(read_entry("a", ENTRY))
        assert mode_of(store.path) == 0o600

    def test_the_user_s_file_is_found_by_the_given_environment(self, tmp_path: Path) -> None:
        """Ours: a program may have one of its own for its users."""
        path = tmp_path / "mcp_servers.json"
        path.write_text("{}")
        path.chmod(0o644)
        ConfigStore.locate(environ={"GAIA_HOME": str(tmp_path)}, cwd=tmp_path.parent).add(
            read_entry("a", {"command": "x"})
        )
        assert mode_of(path) == 0o600

    def test_a_symlink_to_the_file_stays_a_symlink(self, store: ConfigStore, path: Path, tmp_path: Path) -> None:
        """Ours: people keep their configuration elsewhere."""
        (tmp_path / "real.json").write_text('{"mcpServers": {"old": {}}}')
        path.symlink_to("real.json")
        store.add(read_entry("a", ENTRY))
        assert path.is_symlink()
        assert list(json.loads((tmp_path / "real.json").read_text())["mcpServers"]) == ["old", "a"]

    @pytest.mark.story
    def test_concurrent_writers_lose_no_entry(self, path: Path, tmp_path: Path) -> None:
        """Ours: lock, temporary file, rename; here also by two names of one file."""
        link = tmp_path / "links" / "servers.json"
        link.parent.mkdir()
        link.symlink_to(path)
        script = (
            "import sys\nfrom pathlib import Path\n"
            "from gaia_mcp.config.entries import read_entry\nfrom gaia_mcp.config.store import ConfigStore\n"
            "store = ConfigStore(Path(sys.argv[1]))\n"
            "sys.stdin.readline()\n"
            "for number in range(5):\n"
            "    store.add(read_entry(f'{sys.argv[2]}-{number}', {'command': 'x'}))\n"
        )
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(path if number % 2 else link), f"w{number}"],
                stdin=subprocess.PIPE,
                text=True,
            )
            for number in range(4)
        ]
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        for writer in writers:
            writer.communicate()
        assert [writer.returncode for writer in writers] == [0] * 4
        assert sorted(ConfigStore(path).names()) == sorted(f"w{one}-{two}" for one in range(4) for two in range(5))
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["links", "servers.json"]


class TestOwnFormat:
    """A file whose name says that it has the format of a system, here az prototype's."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "prototype.yaml"
        path.write_text("mcp:\n  servers:\n  - name: a\n    command: x\n")
        return path

    def test_its_servers_are_read_and_changed_in_that_format(self, store: ConfigStore, path: Path) -> None:
        """Ours: for all commands alike. Its other members are not ours to read."""
        store.add(read_entry("b", {"command": "uvx"}))

        assert path.read_text() == "mcp:\n  servers:\n  - name: a\n    command: x\n  - name: b\n    command: uvx\n"
        assert store.servers() == {"a": {"command": "x"}, "b": {"command": "uvx"}}
        assert store.section("mcp") == {}
        with pytest.raises(ServerUnknownError):
            store.remove(["a", "c"])
        assert store.names() == ["a", "b"]

    def test_json_in_it_is_still_read(self, store: ConfigStore, path: Path) -> None:
        """Ours: it worked before, since JSON is YAML too."""
        path.write_text('{"mcpServers": {"a": {"command": "x"}}}')
        assert store.in_own_format() is None
        assert store.names() == ["a"]
        store.set_disabled(["a"], disabled=True)
        assert store.servers() == {"a": {"command": "x", "disabled": True}}

    def test_a_file_with_its_secrets_that_others_may_read_is_named(self, store: ConfigStore, path: Path) -> None:
        """Ours: a command warns of it. A JSON file has none beside it."""
        secrets = path.with_name("prototype.secrets.yaml")
        secrets.write_text("")
        secrets.chmod(0o644)
        assert store.exposed_secrets() == secrets
        secrets.chmod(0o600)
        assert store.exposed_secrets() is None
        assert ConfigStore(path.with_suffix(".json")).exposed_secrets() is None


@pytest.mark.parametrize("name", ["fs", "a.b@c-d_e"])
def test_a_valid_name_is_accepted(name: str) -> None:
    """Ours: see the names' own tests."""
    check_server_name(name)


class TestAddAll:
    """Several in one step."""

    def test_all_are_saved_in_their_order(self, store: ConfigStore) -> None:
        """Ours: behind those that are there; one that is to be replaced keeps its place."""
        store.add(read_entry("a", ENTRY))
        changed = [read_entry("c", ENTRY), read_entry("b", ENTRY), read_entry("a", {"command": "y"})]
        store.add(*changed, replace=["a"])
        assert store.names() == ["a", "c", "b"]
        assert store.servers()["a"] == {"command": "y"}

    @pytest.mark.parametrize(("name", "error"), [("a", ServerExistsError), ("b c", EntryError)])
    def test_no_server_is_saved_if_one_is_invalid(self, store: ConfigStore, name: str, error: type[Exception]) -> None:
        """Ours: half an import would have to be undone by hand."""
        store.add(read_entry("a", ENTRY))
        before = store.path.read_bytes()
        with pytest.raises(error):
            store.add(read_entry("new", ENTRY), read_entry(name, ENTRY))
        assert store.path.read_bytes() == before


class TestReplace:
    """One entry in the place of another."""

    @pytest.fixture
    def full(self, store: ConfigStore, path: Path) -> ConfigStore:
        path.write_text(json.dumps({"x": 1, "servers": {"a": ENTRY, "b": ENTRY, "odd": 7}}))
        return store

    def test_a_replacement_keeps_the_position(self, full: ConfigStore) -> None:
        """Ours: under its name or another, and the rest as it was."""
        full.replace("a", ENTRY, read_entry("a", {"command": "y"}))
        assert full.servers() == {"a": {"command": "y"}, "b": ENTRY, "odd": 7}

        full.replace("a", full.own("a"), READ, new_name="c")

        assert json.dumps(full.servers()) == json.dumps({"c": ENTRY, "b": ENTRY, "odd": 7})
        assert json.loads(full.path.read_text())["x"] == 1

    def test_an_invalid_entry_can_be_replaced(self, full: ConfigStore) -> None:
        """Ours: never by another, for only an entry that has been read can be saved."""
        full.replace("odd", full.own("odd"), READ, new_name="odd")
        assert full.own("odd") == ENTRY

    def test_a_concurrent_change_is_not_overwritten(self, full: ConfigStore) -> None:
        """Ours: nor is what was removed or renamed brought back."""
        before = full.path.read_bytes()
        with pytest.raises(ConfigFileError):
            full.replace("a", {"command": "as it was"}, READ)
        with pytest.raises(ServerUnknownError):
            full.replace("gone", ENTRY, READ)
        assert full.path.read_bytes() == before

    def test_a_new_name_must_be_free_and_valid(self, full: ConfigStore) -> None:
        """Ours: as for `add`."""
        with pytest.raises(ServerExistsError):
            full.replace("a", ENTRY, READ, new_name="b")
        with pytest.raises(EntryError):
            full.replace("a", ENTRY, READ, new_name="a b")
        with pytest.raises(ServerUnknownError):
            full.own("c")
        assert full.names() == ["a", "b", "odd"]


class TestLocate:
    """Which files count."""

    @pytest.fixture
    def environ(self, tmp_path: Path) -> dict[str, str]:
        return {"GAIA_HOME": str(tmp_path / "home")}

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        folder = tmp_path / "project"
        folder.mkdir()
        (folder / "mcp_servers.json").write_text(
            '{"mcpServers": {"fs": {"command": "theirs"}, "db": {"command": "d"}}}'
        )
        return folder

    @pytest.fixture
    def user(self, tmp_path: Path) -> Path:
        path = tmp_path / "home" / "mcp_servers.json"
        path.parent.mkdir()
        path.write_text('{"mcpServers": {"mine": {"command": "m"}, "fs": {"command": "mine"}}}')
        return path

    def approved(self, project: Path, environ: dict[str, str]) -> ConfigStore:
        found = find_project_file(project, environ)
        assert found is not None
        approve(found, environ)
        return ConfigStore.locate(environ=environ, cwd=project)

    def test_a_named_file_is_the_only_one_used(
        self, path: Path, project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ours: `--config` names another file; no project lies over that."""
        monkeypatch.setenv("HOME", "/home/jane")
        assert ConfigStore.locate(path, environ=environ, cwd=project).project is None
        assert ConfigStore.locate(Path("~/x.json")).path == Path("/home/jane/x.json")
        with pytest.raises(ConfigFileError):
            ConfigStore.locate(Path("~nobody-of-that-name/x.json"))

    def test_the_user_s_file_is_the_default(self, user: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        """Ours: a command that names no file works in every folder."""
        store = ConfigStore.locate(environ=environ, cwd=tmp_path)
        assert (store.path, store.project) == (user, None)
        assert store.names() == ["mine", "fs"]

    def test_a_project_file_in_the_working_folder_is_found(
        self, user: Path, project: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ours: the one that the command was typed in."""
        monkeypatch.chdir(project)
        found = ConfigStore.locate(environ=environ).project
        assert found is not None
        assert found.path.resolve() == (project / "mcp_servers.json").resolve()

    def test_an_unapproved_project_is_ignored(self, user: Path, project: Path, environ: dict[str, str]) -> None:
        """Ours: nothing from a working folder is run because a command was typed there."""
        store = ConfigStore.locate(environ=environ, cwd=project)
        assert store.project is not None
        assert not store.project.approved
        assert store.names() == ["mine", "fs"]
        assert store.entry("fs").described() == "mine"
        with pytest.raises(ServerUnknownError):
            store.entry("db")

    def test_an_approved_project_overrides_the_user_s_file(
        self, user: Path, project: Path, environ: dict[str, str]
    ) -> None:
        """Ours: a project chooses its own version of a server."""
        store = self.approved(project, environ)
        assert store.names() == ["mine", "fs", "db"]
        assert (store.entry("fs").described(), store.entry("fs").source) == ("theirs", project / "mcp_servers.json")
        assert (store.entry("mine").described(), store.entry("mine").source) == ("m", user)
        file = project / "mcp_servers.json"
        assert [store.source_of(name) for name in ("mine", "fs", "db", "new")] == [user, file, file, user]
        assert store.names_by_file() == (["mine", "fs"], ["fs", "db"])

    def test_other_members_of_the_files_are_merged_as_the_servers_are(
        self, user: Path, project: Path, environ: dict[str, str]
    ) -> None:
        """Ours: each with its file, which an error about it names."""
        file = project / "mcp_servers.json"
        user.write_text('{"agents": {"mine": 1, "both": 1}}')
        file.write_text('{"agents": {"both": 2, "theirs": 2}}')
        store = ConfigStore.locate(environ=environ, cwd=project)
        assert store.section("agents") == {"mine": (1, user), "both": (1, user)}

        store = self.approved(project, environ)
        assert store.section("agents") == {"mine": (1, user), "both": (2, file), "theirs": (2, file)}
        assert store.section("other") == {}
        user.write_text('{"agents": []}')
        with pytest.raises(ConfigFileError, match="'agents' is not an object") as caught:
            store.section("agents")
        assert caught.value.path == user

    def test_a_changed_project_file_is_no_longer_approved(
        self, user: Path, project: Path, environ: dict[str, str]
    ) -> None:
        """Ours: that very content. An approval can also be revoked."""
        self.approved(project, environ)
        path = project / "mcp_servers.json"
        content = path.read_text()
        path.write_text(content + "\n")
        assert ConfigStore.locate(environ=environ, cwd=project).names() == ["mine", "fs"]

        path.write_text(content)
        assert ConfigStore.locate(environ=environ, cwd=project).names() == ["mine", "fs", "db"]
        revoke(path, environ)
        assert ConfigStore.locate(environ=environ, cwd=project).names() == ["mine", "fs"]

    def test_the_approved_content_is_used(self, user: Path, project: Path, environ: dict[str, str]) -> None:
        """Ours: a file that changes while we run changes nothing."""
        store = self.approved(project, environ)
        (project / "mcp_servers.json").write_text('{"mcpServers": {"fs": {"command": "evil"}}}')
        assert store.entry("fs").described() == "theirs"

    def test_changes_are_saved_in_the_user_s_file(self, user: Path, project: Path, environ: dict[str, str]) -> None:
        """Ours: a project's file is the project's."""
        store = self.approved(project, environ)
        before = (project / "mcp_servers.json").read_bytes()
        store.add(read_entry("new", ENTRY))
        store.remove(["fs"])
        assert (project / "mcp_servers.json").read_bytes() == before
        assert list(json.loads(user.read_text())["mcpServers"]) == ["mine", "new"]
        assert store.entry("fs").described() == "theirs"

    def test_a_project_s_server_cannot_be_removed(self, user: Path, project: Path, environ: dict[str, str]) -> None:
        """Ours: the error tells where it comes from."""
        store = self.approved(project, environ)
        with pytest.raises(ServerUnknownError) as caught:
            store.remove(["db"])
        assert caught.value.project == project / "mcp_servers.json"
        with pytest.raises(ServerUnknownError) as caught:
            store.remove(["mime"])
        assert "'mine'" in caught.value.hint

    def test_an_invalid_approved_file_is_named_in_the_error(
        self, user: Path, project: Path, environ: dict[str, str]
    ) -> None:
        """Ours: not about the person's own."""
        (project / "mcp_servers.json").write_text("{")
        store = self.approved(project, environ)
        with pytest.raises(ConfigFileError) as caught:
            store.names()
        assert caught.value.path == project / "mcp_servers.json"

    def test_the_configuration_folder_is_not_a_project(
        self, user: Path, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        """Ours: the file in it is the person's own, also by another way there."""
        (tmp_path / "link").symlink_to(user.parent)
        for cwd in (user.parent, tmp_path / "link"):
            assert ConfigStore.locate(environ=environ, cwd=cwd).project is None

    def test_a_deleted_working_folder_has_no_project(
        self, user: Path, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ours, bad input."""
        gone = tmp_path / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        assert ConfigStore.locate(environ=environ).project is None

    def test_a_shared_project_file_is_used(self, user: Path, project: Path, environ: dict[str, str]) -> None:
        """Ours: `.mcp.json`."""
        (project / "mcp_servers.json").rename(project / ".mcp.json")
        assert self.approved(project, environ).names() == ["mine", "fs", "db"]

    def test_a_store_can_be_constructed_with_a_project_file(self, path: Path, tmp_path: Path) -> None:
        """Ours: for programs that decide for themselves whom they trust."""
        data = b'{"servers": {"a": {"command": "x"}}}'
        assert ConfigStore(path, ProjectFile(tmp_path / "p.json", data, approved=True)).names() == ["a"]
        assert ConfigStore(path, ProjectFile(tmp_path / "p.json", data, approved=False)).names() == []
