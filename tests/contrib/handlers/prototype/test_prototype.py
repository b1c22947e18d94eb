"""A12: `prototype.yaml` and its secrets file, as real files, through the store that all commands use."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.handlers.prototype import PrototypeFiles
from gaia_mcp.core.errors import ConfigFileError, ServerExistsError, ServerUnknownError
from tests.contrib.handlers.prototype.conftest import COST, KEY, MAIN, SECRETS, secrets_of
from tests.protocol_support import steady


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_byte_order_mark_and_windows_line_ends_are_preserved(store: ConfigStore) -> None:
    """Ours: both survive a change."""
    store.path.write_bytes(b"\xef\xbb\xbf" + MAIN.replace("\n", "\r\n").encode())
    store.set_disabled(["cost-lookup"], disabled=True)
    new = MAIN.replace("enabled: true", "enabled: false").replace("\n", "\r\n")
    assert store.path.read_bytes() == b"\xef\xbb\xbf" + new.encode()


class TestWriting:
    """What a change leaves as it was."""

    @pytest.mark.parametrize(
        ("name", "disabled", "old", "new"),
        [
            ("cost-lookup", True, "enabled: true", "enabled: false"),
            ("lightpanda", False, "enabled: off", "enabled: true"),
            ("cost-lookup", False, "", ""),
        ],
    )
    def test_enabling_and_disabling_changes_only_the_switch(
        self, store: ConfigStore, name: str, disabled: bool, old: str, new: str
    ) -> None:
        """A12: `enabled: false` is `disabled`."""
        store.set_disabled([name], disabled=disabled)
        assert store.path.read_text() == MAIN.replace(old, new)
        assert secrets_of(store.path) == SECRETS
        assert store.entry(name).disabled is disabled

    def test_a_missing_switch_is_added(self, store: ConfigStore) -> None:
        """A12: and the reading of `disabled`, which az prototype does not know, is kept where it stands."""
        store.path.write_text("mcp:\n  servers:\n  - name: a\n  - name: b\n    disabled: true\n")
        store.set_disabled(["a"], disabled=True)
        store.set_disabled(["b"], disabled=False)
        assert store.path.read_text() == "mcp:\n  servers:\n  - name: a\n    enabled: false\n  - name: b\n"
        store.set_disabled(["a"], disabled=False)
        assert store.path.read_text() == "mcp:\n  servers:\n  - name: a\n    enabled: true\n  - name: b\n"

    def test_a_new_server_is_appended_and_its_secrets_saved_in_the_secrets_file(self, store: ConfigStore) -> None:
        """A12: secrets never reach the main file."""
        raw = {
            "handler": str(store.path.parent.absolute() / ".prototype/mcp/stock_handler.py"),
            "stages": None,
            "agents": [],
            "settings": {"url": "https://x.example", "api_key": KEY, "nested": {"password": 1234, "ref": "${STOCK}"}},
        }
        store.add(read_entry("stock", raw))
        added = (
            '    - name: stock\n      stages: null\n      agents: []\n      settings:\n        url: "https://x.example"\n'
            '        nested:\n          ref: "${STOCK}"\n'
        )
        assert store.path.read_text() == MAIN.replace("  custom_dir", added + "  custom_dir")
        assert secrets_of(store.path) == SECRETS + (
            f"  - name: stock\n    settings:\n      api_key: {KEY}\n      nested:\n        password: 1234\n"
        )
        assert store.servers()["stock"] == {**raw, "handler": ".prototype/mcp/stock_handler.py"}

    def test_a_handler_elsewhere_keeps_its_path(self, store: ConfigStore) -> None:
        """Ours: relative to the file where it lies in the project, since others have that elsewhere."""
        inside, outside = str(store.path.parent.absolute() / "lib" / "x.py"), "/opt/y_handler.py"
        store.add(read_entry("inside", {"handler": inside}), read_entry("outside", {"handler": outside}))
        text = store.path.read_text()
        assert "    - name: inside\n      handler: lib/x.py\n" in text
        assert "    - name: outside\n      handler: /opt/y_handler.py\n" in text

    def test_the_secrets_file_is_made_private(self, store: ConfigStore) -> None:
        """A12: 0600, also if it was not; the main file keeps its mode."""
        secrets = store.path.with_name("prototype.secrets.yaml")
        secrets.chmod(0o644)
        assert PrototypeFiles(store.path).exposed() == secrets
        entry = store.own("cost-lookup")
        changed = {**entry, "settings": {**entry["settings"], "api_key": "lpd_another8fK2"}}
        store.replace("cost-lookup", entry, read_entry("cost-lookup", changed))
        assert (mode_of(secrets), mode_of(store.path)) == (0o600, 0o644)
        assert secrets.read_text() == SECRETS.replace(KEY, "lpd_another8fK2")
        assert store.path.read_text() == MAIN
        secrets.unlink()
        assert PrototypeFiles(store.path).exposed() is None
        store.add(read_entry("new", {"handler": "a.py", "settings": {"api_key": KEY}}))
        assert mode_of(secrets) == 0o600

    def test_a_change_touches_only_its_lines(self, store: ConfigStore) -> None:
        """A12: comments and order stay; what has to go into the other file goes there."""
        entry = store.own("cost-lookup")
        settings = {"url": "https://other.example", "api_key": KEY, "password": "hunter2-hunter2"}
        changed = {**entry, "timeout": 20, "stages": ["build"], "max_retries": 1, "settings": settings}
        store.replace("cost-lookup", entry, read_entry("cost-lookup", changed))
        new = (
            MAIN.replace("15", "20")
            .replace('["build", "design"]', '["build"]')
            .replace("prices.example", "other.example")
        )
        new = new.replace("# public\n", "# public\n      max_retries: 1\n")
        assert store.path.read_text() == new
        assert secrets_of(store.path) == SECRETS + "      password: hunter2-hunter2\n"
        assert store.own("cost-lookup") == changed

    def test_a_removed_member_is_removed_from_both_files(self, store: ConfigStore) -> None:
        """A12: otherwise it would shine through."""
        entry = store.own("cost-lookup")
        store.replace("cost-lookup", entry, read_entry("cost-lookup", {**entry, "settings": {}, "timeout": None}))
        assert store.own("cost-lookup") == {**entry, "settings": {}, "timeout": None}
        assert KEY not in secrets_of(store.path)
        assert "# keep this file out of git" in secrets_of(store.path)
        store.replace("cost-lookup", store.own("cost-lookup"), read_entry("cost-lookup", {"handler": COST["handler"]}))
        assert store.own("cost-lookup") == {"handler": COST["handler"]}

    def test_a_changed_secret_moves_from_the_main_file_to_the_secrets_file(self, store: ConfigStore) -> None:
        """A12: what a person has written there is theirs, until it is changed."""
        plain = "mcp:\n  servers:\n  - name: a\n    settings:\n      api_key: lpd_old8fK2mQ9x\n      url: x\n"
        store.path.write_text(plain)
        store.set_disabled(["a"], disabled=True)
        assert store.path.read_text() == f"{plain}    enabled: false\n"
        entry = store.own("a")
        store.replace("a", entry, read_entry("a", {**entry, "settings": {"api_key": KEY, "url": "x"}}))
        assert store.path.read_text() == f"{plain}    enabled: false\n".replace("      api_key: lpd_old8fK2mQ9x\n", "")
        assert store.own("a")["settings"] == {"api_key": KEY, "url": "x"}

    def test_a_server_is_removed_from_both_files(self, store: ConfigStore) -> None:
        """A12: all others stay."""
        assert store.remove(["cost-lookup"]) == [COST]
        begin, end = MAIN.index("    - name: cost"), MAIN.index("    - name: light")
        assert store.path.read_text() == MAIN[:begin] + MAIN[end:]
        assert KEY not in secrets_of(store.path)
        assert secrets_of(store.path).startswith("# keep this file out of git\nai:\n  token: abc\n")
        store.remove(["lightpanda"])
        assert store.servers() == {}
        assert "  servers: []\n" in store.path.read_text()

    def test_several_are_added_and_removed_at_once(self, store: ConfigStore) -> None:
        """Ours: all or none."""
        key = {"api_key": KEY}
        store.add(*(read_entry(f"s{n}", {"handler": "a.py", "settings": key}) for n in range(3)))
        store.remove(["cost-lookup", "s1"])
        assert list(store.servers()) == ["lightpanda", "s0", "s2"]
        assert [store.own(f"s{n}")["settings"] for n in (0, 2)] == [key, key]
        with pytest.raises(ServerUnknownError):
            store.remove(["s0", "unknown"])
        assert list(store.servers()) == ["lightpanda", "s0", "s2"]

    def test_a_server_is_renamed_in_both_files(self, store: ConfigStore) -> None:
        """Ours: its file is named from now on, since it is no longer found by the name."""
        entry = store.own("cost-lookup")
        store.replace("cost-lookup", entry, read_entry("cost-lookup", entry), new_name="prices")
        handler = f"      handler: {COST['handler']}\n"
        new = MAIN.replace("name: cost-lookup", "name: prices").replace("# public\n", "# public\n" + handler)
        assert store.path.read_text() == new
        assert secrets_of(store.path) == SECRETS.replace("cost_lookup", "prices")
        assert store.own("prices") == entry

    def test_a_server_in_the_secrets_file_alone_is_changed_there(self, store: ConfigStore) -> None:
        """A12: it has no other place."""
        store.path.write_text("mcp:\n  servers: ''\n")
        store.set_disabled(["cost_lookup"], disabled=True)
        assert store.path.read_text() == "mcp:\n  servers: ''\n"
        assert secrets_of(store.path) == SECRETS + "    enabled: false\n"
        store.add(read_entry("new", {"handler": "a.py"}))
        assert store.path.read_text() == "mcp:\n  servers:\n    - name: new\n      handler: a.py\n"
        assert list(store.servers()) == ["new", "cost_lookup"]

    @pytest.mark.parametrize("name", ["cost_lookup", "cost-lookup"])
    def test_an_equivalent_name_is_refused(self, store: ConfigStore, name: str) -> None:
        """A2: `-` and `_` are the same."""
        with pytest.raises(ServerExistsError):
            store.add(read_entry(name, {"handler": "a.py"}))
        assert store.path.read_text() == MAIN

    def test_a_new_file_is_created(self, tmp_path: Path) -> None:
        """Ours: with the servers alone."""
        store = ConfigStore(tmp_path / "new" / "prototype.yml")
        store.add(read_entry("a", {"handler": "a.py", "settings": {"token": KEY}}))
        assert store.path.read_text() == "mcp:\n  servers:\n    - name: a\n      handler: a.py\n"
        assert store.path.with_name("prototype.secrets.yml").read_text() == (
            f"mcp:\n  servers:\n    - name: a\n      settings:\n        token: {KEY}\n"
        )
        assert mode_of(store.path) == 0o600

    @pytest.mark.parametrize(
        "text",
        [
            "mcp:\n  servers:\n  - name: a\n    settings: &s {x: 1}\n  - name: b\n    settings: *s\n",
            "mcp:\n  servers:\n  - name: a\n    settings: {x: 1,  # one\n      y: 2}\n",
        ],
    )
    def test_a_change_that_would_lose_content_is_refused(self, store: ConfigStore, text: str) -> None:
        """A12: an anchor that another server refers to, a comment within braces."""
        store.path.write_text(text)
        entry = store.own("a")
        with pytest.raises(ConfigFileError) as caught:
            store.replace("a", entry, read_entry("a", {**entry, "settings": {"x": 2}}))
        assert caught.value.path == store.path
        assert store.path.read_text() == text

    def test_symlinks_to_both_files_are_preserved(self, store: ConfigStore, tmp_path: Path) -> None:
        """Ours: the link stays, and so does the file beside it."""
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "prototype.yaml").symlink_to(store.path)
        (elsewhere / "prototype.secrets.yaml").symlink_to(store.path.with_name("prototype.secrets.yaml"))
        linked = ConfigStore(elsewhere / "prototype.yaml")
        linked.add(read_entry("new", {"handler": "a.py", "settings": {"token": KEY}}))
        assert linked.path.is_symlink()
        assert store.own("new")["settings"] == {"token": KEY}

    def test_a_read_only_file_is_not_changed(self, store: ConfigStore) -> None:
        """A12, bad input: and nothing of the change stays in the secrets file either."""
        store.path.chmod(0o444)
        with pytest.raises(ConfigFileError, match="read-only"):
            store.add(read_entry("new", {"handler": "a.py", "settings": {"token": KEY}}))
        assert (store.path.read_text(), secrets_of(store.path)) == (MAIN, SECRETS)

    def test_a_read_only_secrets_file_keeps_secrets_out_of_the_main_file(self, store: ConfigStore) -> None:
        """A12: it is written only after them."""
        store.path.with_name("prototype.secrets.yaml").chmod(0o444)
        store.set_disabled(["cost-lookup"], disabled=True)  # Needs none of them.
        before = store.path.read_text()
        with pytest.raises(ConfigFileError, match="read-only"):
            store.add(read_entry("new", {"handler": "a.py", "settings": {"token": KEY}}))
        assert (store.path.read_text(), secrets_of(store.path)) == (before, SECRETS)

    def test_concurrent_writers_lose_no_secret(self, store: ConfigStore) -> None:
        """Ours: one lock for both files."""
        errors: list[BaseException] = []

        def add(number: int) -> None:
            try:
                own = ConfigStore(store.path)
                own.add(read_entry(f"s{number}", {"handler": "a.py", "settings": {"token": f"{KEY}{number}"}}))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        servers = store.servers()
        assert {name: raw["settings"]["token"] for name, raw in servers.items() if name[0] == "s"} == {
            f"s{number}": f"{KEY}{number}" for number in range(6)
        }
        assert KEY not in store.path.read_text()
        assert [each.name for each in store.path.parent.iterdir() if each.suffix == ".tmp"] == []


KILLED = """
import os, signal, sys
from pathlib import Path

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore

left = int(sys.argv[2])


def end(event, _):
    global left
    if event == "os.rename":
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


store = ConfigStore(Path(sys.argv[1]))
sys.addaudithook(end)
store.add(read_entry("new", {"handler": "a.py", "settings": {"token": "KEY-of-new"}}))
entry = store.own("cost-lookup")
settings = {"api_key": "KEY-other", "url": "x"}
store.replace("cost-lookup", entry, read_entry("cost-lookup", {**entry, "settings": settings}), new_name="prices")
store.remove(["new"])
"""


@pytest.mark.story
@pytest.mark.parametrize("writes", range(8))
def test_a_kill_between_two_writes_neither_leaks_nor_loses_a_secret(path: Path, writes: int) -> None:
    """A12, bad input: killed before each write in turn; both files are whole, and the next program may write."""
    ran = subprocess.run([sys.executable, "-c", KILLED, str(path), str(writes)], check=False)
    main, secrets = path.read_text(), secrets_of(path)

    assert ran.returncode == (-signal.SIGKILL if writes < 6 else 0)
    assert "KEY" not in main
    assert KEY not in main
    assert (KEY in secrets) is not ("KEY-other" in secrets)
    if "- name: new" in main:
        assert "KEY-of-new" in secrets
    store = ConfigStore(path)
    assert store.names()
    store.add(read_entry("next", {"handler": "b.py", "settings": {"token": "KEY-of-next"}}))
    assert store.own("next")["settings"] == {"token": "KEY-of-next"}
    assert [each.name for each in path.parent.iterdir() if each.suffix == ".tmp"] == []


SECRET = "lpd_8fK2mQ9xZ7wQ"

names = st.sampled_from(["url", "api_key", "token", "x y", "on", "1", "a-b", "é"])

scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "no", "a: b", "# c", "- d", "${T}", "\n x"])
)

values = st.recursive(
    scalars | st.just(SECRET), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3)
)

settings = st.dictionaries(names, values, max_size=4)

entries = st.fixed_dictionaries(
    {"handler": st.sampled_from([".prototype/mcp/a_handler.py", "other.py"])},
    optional={
        "stages": st.none() | st.lists(st.sampled_from(["build", "on"]), max_size=2),
        "timeout": st.integers(1, 99),
        "disabled": st.booleans(),
        "settings": settings,
        "env": st.dictionaries(names, st.sampled_from([SECRET, "x", "${T}"]), max_size=2),
        "own": values,
    },
)

servers = st.dictionaries(st.sampled_from(["a", "b-c", "d"]), entries, max_size=3)


def without_false(held: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {key: value for key, value in raw.items() if (key, value) != ("disabled", False)}
        for name, raw in held.items()
    }


def put(new: dict[str, Any]) -> Any:
    def change(held: dict[str, Any]) -> None:
        held.clear()
        held.update(new)

    return change


def secrets_in(value: Any, name: str = "") -> bool:
    """Whether a member whose name tells it holds the secret."""
    if isinstance(value, dict):
        return any(secrets_in(held, key) for key, held in value.items())
    if isinstance(value, list):
        return any(secrets_in(held, name) for held in value)
    return value == SECRET and name in ("api_key", "token")


# Each example has YAML read some twenty times, which takes 30 ms.
@run_settings(steady, max_examples=30)
@given(servers, servers, st.booleans())
def test_a_written_change_is_read_back(first: dict[str, Any], second: dict[str, Any], by_hand: bool) -> None:
    """A12: whatever is added, changed, renamed or removed, in a text of ours or one with comments between."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "prototype.yaml"
        path.write_text("# top\nother: [1, 2]  # mine\n")
        files = PrototypeFiles(path)
        files.update(put(first))
        if by_hand:
            path.write_text("".join(f"{line}\n# about it\n" for line in path.read_text().splitlines()))
        assert without_false(files.servers()) == without_false(first)

        files.update(put(second))

        assert without_false(files.servers()) == without_false(second)
        text = path.read_text()
        assert "other: [1, 2]  # mine" in text
        assert text.count("# top") == 1
        if secrets_in(second):
            assert SECRET in files.secrets_path.read_text()
            assert f"api_key: {SECRET}" not in text
            assert f"token: {SECRET}" not in text
