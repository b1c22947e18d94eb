"""A12: any change of entries becomes changes of two texts that are read as the new entries, with all secrets in one."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import settings as run_settings
from hypothesis import strategies as st

from gaia_mcp.config.prototype.files import PrototypeFiles
from tests.protocol_support import steady

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
