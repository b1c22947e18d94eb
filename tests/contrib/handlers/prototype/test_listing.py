"""The servers of both texts, merged by name, and which of their values are secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.handlers.prototype import PrototypeFiles, read_listing
from gaia_mcp.core.errors import ConfigFileError, EntryError
from tests.contrib.handlers.prototype.conftest import COST, KEY, MAIN, SECRETS, secrets_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_configuration_of_the_project_is_that_of_both_files(path: Path) -> None:
    """A4: `project_config`. The servers are merged by name, everything else member by member."""
    config = PrototypeFiles(path).project_config()

    assert (config["project"], config["ai"]) == ({"name": "shop"}, {"token": "abc"})
    assert config["mcp"]["servers"][0]["settings"] == {"url": "https://prices.example", "api_key": KEY}
    assert [server["name"] for server in config["mcp"]["servers"]] == ["cost-lookup", "lightpanda"]


def test_a_project_without_servers_has_a_configuration(tmp_path: Path) -> None:
    """A4: nothing is added to what its file holds."""
    (tmp_path / "prototype.yaml").write_text("project: {name: shop}")

    assert PrototypeFiles(tmp_path / "prototype.yaml").project_config() == {"project": {"name": "shop"}}


def test_a_configuration_that_json_does_not_have_is_an_error(tmp_path: Path) -> None:
    """Ours: a handler gets plain values."""
    (tmp_path / "prototype.yaml").write_text("limit: .inf")

    with pytest.raises(ConfigFileError, match="JSON has no form"):
        PrototypeFiles(tmp_path / "prototype.yaml").project_config()


def test_the_secrets_are_merged_into_the_servers_by_name(store: ConfigStore) -> None:
    """A12: url, stages, agents and api_key all survive. A2: `-` and `_` are the same."""
    assert store.servers() == {
        "cost-lookup": COST,
        "lightpanda": {"handler": ".prototype/mcp/lightpanda_handler.py", "stages": [], "disabled": True},
    }
    assert PrototypeFiles(store.path).servers() == store.servers()


def test_null_and_empty_scopes_are_distinguished(store: ConfigStore) -> None:
    """A3: null means all, and [] nothing."""
    entries = {name: store.entry(name) for name in store.names()}
    assert (entries["cost-lookup"].stages, entries["cost-lookup"].agents) == (["build", "design"], None)
    assert (entries["lightpanda"].stages, entries["lightpanda"].disabled) == ([], True)
    assert entries["cost-lookup"].source == store.path


def test_a_handler_is_found_by_its_name(store: ConfigStore) -> None:
    """A2: the file's stem without `_handler`; `-` and `_` are the same; `_` at the beginning is left out."""
    cases = [
        (["cost_lookup_handler.py"], "cost_lookup_handler.py"),
        (["cost-lookup.py", "other.py"], "cost-lookup.py"),
        (["cost-lookup_handler.py", "cost_lookup_handler.py"], "cost-lookup_handler.py"),
        (["_cost_lookup_handler.py", "cost_lookup.txt"], "cost_lookup_handler.py"),
    ]
    folder = store.path.parent / ".prototype" / "mcp"
    folder.mkdir(parents=True)

    wrong = []
    for names, file in cases:
        for name in names:
            (folder / name).write_text("")
        if (found := store.servers()["cost-lookup"]["handler"]) != f".prototype/mcp/{file}":
            wrong.append((names, found))
        for name in names:
            (folder / name).unlink()

    assert not wrong


def test_the_folder_of_handlers_may_be_another_one(store: ConfigStore) -> None:
    """A12: az prototype has `mcp.custom_dir` for it."""
    store.path.write_text(MAIN.replace(".prototype/mcp/", "code"))
    assert store.servers()["lightpanda"]["handler"] == "code/lightpanda_handler.py"


def test_servers_moved_by_az_prototype_are_read_from_the_secrets(store: ConfigStore) -> None:
    """A12: it leaves an empty text in the main file; the servers survive in the other one."""
    store.path.write_text("mcp:\n  servers: ''\n")
    assert list(store.servers()) == ["cost_lookup"]
    assert store.servers()["cost_lookup"]["settings"] == {"api_key": KEY}
    store.path.write_text("project: {}\n")
    assert list(store.servers()) == ["cost_lookup"]


def test_a_server_in_the_secrets_file_alone_is_read(store: ConfigStore) -> None:
    """A12: nothing that stands in a file is passed over in silence."""
    store.path.write_text(MAIN.replace("name: cost-lookup", "name: other"))
    assert list(store.servers()) == ["other", "lightpanda", "cost_lookup"]


def test_an_empty_value_in_the_secrets_overrides_nothing(store: ConfigStore) -> None:
    """A12: a null over a scope would let everybody in."""
    empty = "mcp:\n  servers:\n  - name: cost-lookup\n    stages:\n    settings:\n"
    store.path.with_name("prototype.secrets.yaml").write_text(empty)
    assert store.servers()["cost-lookup"] == {**COST, "settings": {"url": "https://prices.example"}}


def test_other_servers_than_handlers_may_stand_there(store: ConfigStore) -> None:
    """Ours: az prototype leaves them alone."""
    store.path.write_text("mcp: {servers: [{name: time, command: uvx, args: [mcp-server-time]}]}\n")
    assert store.servers()["time"] == {"command": "uvx", "args": ["mcp-server-time"]}


def test_an_empty_or_missing_file_has_no_servers(store: ConfigStore) -> None:
    """Ours: a project begins so."""
    store.path.with_name("prototype.secrets.yaml").unlink()
    for text in ("", "# nothing yet\n", "mcp:\n", "mcp:\n  servers:\n", "mcp: {servers: []}\n"):
        store.path.write_text(text)
        assert store.servers() == {}, text
    store.path.unlink()
    assert store.servers() == {}


def test_dates_and_numbers_for_names_become_text(store: ConfigStore) -> None:
    """Ours: JSON, in which settings reach a handler, has neither."""
    store.path.write_text(
        "mcp:\n  servers:\n  - name: a\n    settings: {since: 2024-01-02, 1: x, deep: [{d: 2024-01-02}]}\n"
    )
    assert store.servers()["a"]["settings"] == {"since": "2024-01-02", "1": "x", "deep": [{"d": "2024-01-02"}]}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{n}: &{n} [{', '.join([f'*{p}'] * 9)}]\n" for p, n in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_an_invalid_file_is_an_error_with_its_place(path: Path) -> None:
    """A12, bad input: in either file; nothing is written."""
    cases: list[tuple[str, str, tuple[int, int]]] = [
        ("- 1\n", "does not hold a mapping", (1, 1)),
        ("just text", "does not hold a mapping", (1, 1)),
        ("mcp: 5\n", "'mcp' is not a mapping", (1, 6)),
        ("mcp:\n  servers:\n    a: {}\n", "'mcp.servers' is not a list", (3, 5)),
        ("mcp:\n  servers: many\n", "'mcp.servers' is not a list", (2, 12)),
        ("mcp:\n  custom_dir: [x]\n", "'mcp.custom_dir' is not text", (2, 15)),
        ("mcp:\n  servers:\n  - text\n", "server 1 of 'mcp.servers' has no name", (3, 5)),
        ("mcp:\n  servers:\n  - name: 5\n", "server 1 of 'mcp.servers' has no name", (3, 5)),
        ("mcp:\n  servers:\n  - name: a\n  -\n", "server 2 of 'mcp.servers' has no name", (4, 4)),
        ("mcp:\n  servers:\n  - name: a\n  - name: a\n", "has two servers called 'a'", (4, 5)),
        ("mcp:\n  servers:\n  - name: a-b\n  - name: a_b\n", "as in 'a-b'", (4, 5)),
        ("mcp:\n  servers:\n  - name: a\n    name: b\n", "duplicate key", (4, 5)),
        ("mcp:\n  servers:\n  - name: a\n    enabled: 5\n", "'enabled' must be true or false", (3, 5)),
        ("mcp:\n  servers:\n  - name: a\n    enabled: maybe\n", "'enabled' must be true or false", (3, 5)),
        ("mcp:\n  servers:\n  - name: a\n    settings: {x: .nan}\n", "no form for the value of 'settings.x'", (3, 5)),
        ("mcp:\n  servers:\n  - name: a\n    s: !!binary aGk=\n", "no form for the value of 's'", (3, 5)),
        ("mcp:\n\tservers: []\n", "not YAML", (2, 1)),
        ("mcp: 1\n---\nmcp: 2\n", "another document", (2, 1)),
        ("mcp: *x\n", "undefined alias", (1, 6)),
        ("mcp: &m {servers: *m}\n", "refers to itself", (1, 6)),
        (BOMB, "stand for more than", (1, 1)),
        ("a: !!python/object/new:os.system [x]\n", "not YAML", (1, 4)),
        ("a: \xff", "not UTF-8", (1, 4)),
        ("mcp: {servers: [{name: a}\n", "not YAML", (2, 1)),
    ]

    wrong = []
    for bad in (path, path.with_name("prototype.secrets.yaml")):
        good = bad.read_bytes()
        for text, problem, place in cases:
            bad.write_bytes(text.encode("latin-1"))
            before = {each: each.read_bytes() for each in path.parent.iterdir()}
            for act in (
                ConfigStore(path).servers,
                lambda: ConfigStore(path).set_disabled(["cost-lookup"], disabled=True),
            ):
                try:
                    act()
                except ConfigFileError as error:
                    found = (error.path, error.line, error.column)
                    if problem not in error.message or KEY in error.message or found != (bad, *place):
                        wrong.append((bad.name, text[:40], error))
                else:
                    wrong.append((bad.name, text[:40], None))
            if {each: each.read_bytes() for each in path.parent.iterdir()} != before:
                wrong.append((bad.name, text[:40], "written"))
        bad.write_bytes(good)

    assert not wrong


def test_a_text_nested_too_deeply_is_an_error(path: Path) -> None:
    """A12, bad input."""
    path.write_text("- " * 5000 + "a")
    with pytest.raises(ConfigFileError, match="nested too deeply"):
        ConfigStore(path).servers()


def test_a_member_of_a_wrong_type_invalidates_only_its_server(store: ConfigStore) -> None:
    """A12, bad input: the entry is read as any other, and the others are there."""
    cases = [
        ("stages", "build"),
        ("agents", [5]),
        ("timeout", "fast"),
        ("max_retries", -1),
        ("settings", [1]),
        ("handler", 5),
    ]

    for member, value in cases:
        store.path.write_text(f"mcp:\n  servers:\n  - name: a\n    {member}: {value}\n  - name: b\n")
        entries = store.entries()
        assert isinstance(entries["a"], EntryError), member
        assert f"'{member}'" in entries["a"].message
        assert not isinstance(entries["b"], EntryError), member


def test_every_secret_is_saved_in_the_secrets_file(store: ConfigStore) -> None:
    """A12: a secret is recognised by its name or its format, anywhere in an entry; a reference is not a secret."""
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"command": "x", "args": ["--token", KEY]}, ["args"]),
        ({"command": f"x --token={KEY}"}, ["command"]),
        ({"command": "x", "args": [], "env": {"API_KEY": KEY, "TZ": "UTC"}}, ["env", "API_KEY"]),
        ({"command": "x", "args": [], "env": {"API_KEY": "${API_KEY}"}}, []),
        ({"command": "x", "args": [], "env": {"K": {"$keyring": "gaia.connections:a:K"}}}, []),
        ({"url": f"https://user:{KEY}@x.example/"}, ["url"]),
        ({"url": "https://x.example", "headers": {"Authorization": f"Bearer {KEY}"}}, ["headers", "Authorization"]),
        ({"handler": "a.py", "settings": {"tokens": [{"value": 1}, {"key": KEY}]}}, ["settings", "tokens"]),
        ({"handler": "a.py", "settings": {"model": "gpt-4o", "is_secret": True, "token": None}}, []),
        ({"handler": "a.py", "settings": {}}, []),
    ]

    wrong = []
    for raw, hidden in cases:
        store.path.write_text(MAIN)
        store.path.with_name("prototype.secrets.yaml").write_text(SECRETS)
        store.add(read_entry("new", raw))
        held: Any = read_listing(secrets_of(store.path)).items.get("new")
        for step in hidden:
            held = (held if isinstance(held, (dict, str)) else held and held.members)[step]
        is_hidden = (held is not None, secrets_of(store.path) != SECRETS) == (bool(hidden), bool(hidden))
        if KEY in store.path.read_text() or not is_hidden:
            wrong.append((raw, hidden, store.path.read_text(), secrets_of(store.path)))
        if (store.servers()["new"], store.servers()["cost-lookup"]) != (raw, COST):
            wrong.append((raw, hidden, store.servers()))

    assert not wrong


def test_a_server_name_is_not_used_as_a_path(tmp_path: Path) -> None:
    """Ours: handlers that are found by name are in their folder. An entry that names a file may lead anywhere."""
    path = tmp_path / "prototype.yaml"
    for name in ("../../out/escape", "a/../../escape", "..\\escape", "/tmp/escape"):
        path.write_text(f"mcp:\n  servers:\n    - name: '{name}'\n")

        entry = ConfigStore.locate(path).servers()[name]

        assert entry == {}, name
        with pytest.raises(EntryError):
            read_entry(name, entry)
