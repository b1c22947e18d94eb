"""A folder that stands in for one of the user's, with some settings changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gaia_mcp.contrib.hub.drivers.base import Overlay
from gaia_mcp.contrib.hub.executing import lay_over

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

OVERLAY = Overlay("AGENT_HOME", ".agent", "settings.json", {"mcpServers": {"gaia": {}}})


def _laid(tmp_path: Path, environ: dict[str, str]) -> tuple[Path, dict[str, Any]]:
    lay_over(tmp_path / "run", OVERLAY, environ)
    folder = tmp_path / "run" / ".agent"
    return folder, json.loads((folder / "settings.json").read_text())


def test_the_login_and_the_other_settings_are_preserved(tmp_path: Path) -> None:
    """B7: an agent that is logged in still is when it is given our server, and the user's file is as it was."""
    own = tmp_path / "home" / ".agent"
    (own / "history").mkdir(parents=True)
    (own / "login.json").write_text("{}")
    text = '{\n  // chosen by hand\n  "auth": "login",\n  "mcpServers": {"other": {}},\n}\n'
    (own / "settings.json").write_text(text)

    folder, settings = _laid(tmp_path, {"AGENT_HOME": str(tmp_path / "home")})

    assert settings == {"auth": "login", "mcpServers": {"gaia": {}}}
    (folder / "login.json").write_text('{"renewed": true}')
    assert json.loads((own / "login.json").read_text()) == {"renewed": True}
    assert (folder / "history").is_dir()
    assert (own / "settings.json").read_text() == text


def test_the_home_folder_of_the_user_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: where no variable names another."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".agent").mkdir()
    (tmp_path / ".agent" / "settings.json").write_text('{"auth": "key"}')

    assert _laid(tmp_path, {})[1] == {"auth": "key", "mcpServers": {"gaia": {}}}


def test_invalid_settings_are_replaced_by_ours(tmp_path: Path) -> None:
    """Ours: what is wrong with them, the agent reports when it is run by hand."""
    texts = [None, "", "[1]", "{", '{"a": "\\ud800"}', "\xff"]

    found = []
    for number, text in enumerate(texts):
        home = tmp_path / str(number)
        home.mkdir()
        if text is not None:
            (home / ".agent").mkdir()
            (home / ".agent" / "settings.json").write_text(text, "latin-1")
        found.append(_laid(home, {"AGENT_HOME": str(home)})[1]["mcpServers"])

    assert found == [{"gaia": {}}] * len(texts)


def test_items_are_added_to_the_lists_of_the_user(tmp_path: Path) -> None:
    """Ours: what the user has set for models still holds; something that is no list cannot hold items."""
    overlay = OVERLAY._replace(members={}, added={("models", "overrides"): [1, 2]})
    cases: list[tuple[Any, Any]] = [
        ({}, {"models": {"overrides": [1, 2]}}),
        ({"models": {"a": 1, "overrides": [0]}, "b": 2}, {"models": {"a": 1, "overrides": [0, 1, 2]}, "b": 2}),
        ({"models": {"overrides": "x"}}, {"models": {"overrides": [1, 2]}}),
        ({"models": "x"}, {"models": {"overrides": [1, 2]}}),
    ]

    for number, (before, after) in enumerate(cases):
        own = tmp_path / f"home{number}" / ".agent"
        own.mkdir(parents=True)
        (own / "settings.json").write_text(json.dumps(before))
        lay_over(tmp_path / f"run{number}", overlay, {"AGENT_HOME": str(own.parent)})
        assert json.loads((tmp_path / f"run{number}" / ".agent" / "settings.json").read_text()) == after
