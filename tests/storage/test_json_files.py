"""JSON files that people also edit: real files, really broken."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.storage.atomic import Snapshot, locked, snapshot_of
from gaia_mcp.storage.json_files import parse_object, read_object, write_object
from tests.protocol_support import check_rows, steady

if TYPE_CHECKING:
    from pathlib import Path

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestReading:
    """What can be read, and what is said about the rest."""

    def test_the_order_of_members_is_preserved(self, path: Path) -> None:
        """Ours: the order is the author's."""
        path.write_text('{"b": 1, "a": [1.5, null, {"c": "é"}]}', encoding="utf-8")
        assert read_object(path) == {"b": 1, "a": [1.5, None, {"c": "é"}]}
        assert list(read_object(path) or {}) == ["b", "a"]

    def test_a_missing_file_is_not_an_error(self, path: Path) -> None:
        """Ours: every user begins without one."""
        assert read_object(path) is None
        assert read_object(path / "deeper" / "x.json") is None
        path.symlink_to("nowhere")
        assert read_object(path) is None

    def test_a_byte_order_mark_is_tolerated(self, path: Path) -> None:
        """Ours: some editors write one."""
        path.write_bytes(b'\xef\xbb\xbf{"a": 1}')
        assert read_object(path) == {"a": 1}

    def test_an_invalid_file_is_an_error_with_line_and_column(self, path: Path) -> None:
        """Ours: an error with path and line; reading changes nothing."""
        cases = [
            (b"", "is empty", (0, 0)),
            (b" \n\t ", "is empty", (0, 0)),
            (b"\xef\xbb\xbf", "is empty", (0, 0)),
            (b"null", "contains null", (0, 0)),
            (b"[]", "contains a list", (0, 0)),
            (b"5", "contains a number", (0, 0)),
            (b"5.5", "contains a number", (0, 0)),
            (b"true", "contains a boolean", (0, 0)),
            (b'"x"', "contains a string", (0, 0)),
            (b'{"a": 1', "ends too early", (1, 8)),
            (b'{"a": {\n  "b": [1,\n', "ends too early", (3, 1)),
            (b'{"a":', "ends too early", (1, 6)),
            (b'{"a": tr', "not JSON", (1, 7)),
            (b'{"a": "x', "not JSON", (1, 7)),
            (b"{'a': 1}", "not JSON", (1, 2)),
            (b'{\n  "a": 1,\n}', "not JSON", None),
            (b'{"a": 1} {"b": 2}', "not JSON", (1, 10)),
            (b'{\n  // mine\n  "a": 1}', "comments", None),
            (b'// mine\n{"a": 1}', "comments", (1, 1)),
            (b'{"a": 1 // mine\n}', "comments", (1, 9)),
            (b'{"a": 1, /* mine */ "b": 2}', "comments", None),
            (b'{"a": [1, // mine\n 2]}', "comments", None),
            (b'{"a": 1}\n// mine', "comments", (2, 1)),
            (b'{"url": "http://x", "a": tru}', "not JSON", (1, 26)),
            (b'{"a": 1, "b": 2, "a": 3}', "key 'a' twice", (0, 0)),
            (b'{"x": {"deep": 1, "deep": 1}}', "key 'deep' twice", (0, 0)),
            (b'{"a": "\xff"}', "not UTF-8", (1, 8)),
            (b'{"a": 1,\n "b": "\xe4"}', "not UTF-8", (2, 8)),
            ('{"a": 1}'.encode("utf-16"), "not UTF-8", (1, 1)),
            ('{"a": 1}'.encode("utf-16-le"), "not JSON", None),
            (b'{"a": NaN}', "NaN", (0, 0)),
            (b'{"a": -Infinity}', "Infinity", (0, 0)),
            (b'{"a": 1e999}', "1e999", (0, 0)),
            (b'{"a": ' + b"9" * 5000 + b"}", "not JSON", (0, 0)),
            (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply", (0, 0)),
            (b'{"a": ' + b'{"a": ' * 100_000, "nested too deeply", (0, 0)),
        ]

        def check(data: bytes, words: str, place: tuple[int, int] | None) -> None:
            path.write_bytes(data)

            with pytest.raises(ConfigFileError) as caught:
                read_object(path)

            error = caught.value
            assert error.path == path
            assert error.message.startswith(str(path))
            assert words in error.message
            if place is not None:
                assert (error.line, error.column) == place
            else:
                assert error.line > 0
            assert path.read_bytes() == data

        check_rows(check, cases)

    @pytest.mark.parametrize("kind", ["a folder", "a link to itself", "below a file"])
    def test_only_a_regular_file_can_be_read(self, path: Path, kind: str) -> None:
        """Ours: it is there, so it must not be taken for missing."""
        if kind == "a folder":
            path.mkdir()
        elif kind == "a link to itself":
            path.symlink_to(path)
        else:
            path.write_text("x")
            path = path / "servers.json"
        with pytest.raises(ConfigFileError, match="cannot be read"):
            read_object(path)

    def test_given_bytes_are_parsed_instead_of_the_file(self, path: Path) -> None:
        """Ours: what was approved is used, not what the file has become."""
        assert parse_object(b'{"a": 1}', path) == {"a": 1}
        with pytest.raises(ConfigFileError) as caught:
            parse_object(b"{", path)
        assert caught.value.path == path


class TestWriting:
    """Replaced as a whole, or not at all."""

    def test_a_new_file_is_private(self, path: Path) -> None:
        """Ours: file 0600, whatever the umask allows."""
        before = os.umask(0)
        try:
            for private in (True, False):
                write_object(path, {"a": 1}, snapshot_of(path), private=private)
                assert mode_of(path) == 0o600
                path.unlink()
        finally:
            os.umask(before)

    @pytest.mark.parametrize(
        ("before", "private", "after"), [(0o644, False, 0o644), (0o640, False, 0o640), (0o644, True, 0o600)]
    )
    def test_an_old_file_keeps_its_mode_unless_it_is_to_be_private(
        self, path: Path, before: int, private: bool, after: int
    ) -> None:
        """Ours: others may be meant to read a file that lies elsewhere."""
        for content in ("{}", ""):
            path.write_text(content)
            path.chmod(before)
            write_object(path, {"a": 1}, snapshot_of(path), private=private)
            assert mode_of(path) == after

    def test_the_indentation_is_preserved(self, path: Path) -> None:
        """Ours: a change of one server is one change in a diff."""
        cases = [
            ('{\n  "a": 1\n}', "  "),
            ('{\n    "a": {\n        "b": 1\n    }\n}', "    "),
            ('{\n\t"a": 1\n}', "\t"),
            ('{\r\n   "a": 1\r\n}', "   "),
            ('{"a": 1}', "  "),
            ("", "  "),
        ]

        def check(old: str, indent: str) -> None:
            path.write_bytes(old.encode())
            write_object(path, {"a": {"b": 1}}, snapshot_of(path))
            assert path.read_text() == f'{{\n{indent}"a": {{\n{indent}{indent}"b": 1\n{indent}}}\n}}\n'

        check_rows(check, cases)

    def test_non_ascii_letters_are_written_unescaped(self, path: Path) -> None:
        """Ours: people read the file."""
        write_object(path, {"é": "漢 👩‍💻"}, snapshot_of(path))
        assert '"é": "漢 👩‍💻"' in path.read_text(encoding="utf-8")

    @steady
    @given(value=st.dictionaries(st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF)), JSON))
    def test_a_written_object_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any]
    ) -> None:
        """Ours: also lone surrogates, which JSON's escapes can carry and UTF-8 cannot."""
        path = tmp_path_factory.getbasetemp() / "round.json"
        write_object(path, value, snapshot_of(path))
        # By way of JSON's escapes, in which two halves that stand side by side are one character.
        assert read_object(path) == json.loads(json.dumps(value))

    def test_a_symbolic_link_is_preserved(self, tmp_path: Path, path: Path) -> None:
        """Ours: people keep their configuration elsewhere and link to it."""
        real = tmp_path / "dotfiles" / "mcp.json"
        real.parent.mkdir()
        real.write_text("{}")
        middle = tmp_path / "middle.json"
        middle.symlink_to(real)
        path.symlink_to("middle.json")

        write_object(path, {"a": 1}, snapshot_of(path))

        assert path.is_symlink()
        assert middle.is_symlink()
        assert json.loads(real.read_text()) == {"a": 1}
        assert sorted(entry.name for entry in real.parent.iterdir()) == ["mcp.json"]

    def test_a_dangling_link_is_followed(self, tmp_path: Path, path: Path) -> None:
        """Ours: the file is made where the link says."""
        path.symlink_to("real.json")
        write_object(path, {"a": 1}, snapshot_of(path))
        assert path.is_symlink()
        assert read_object(tmp_path / "real.json") == {"a": 1}

    @pytest.mark.parametrize("mode", [0o400, 0o444, 0o500])
    def test_a_read_only_file_is_not_written(self, path: Path, mode: int) -> None:
        """Ours: a rename would get past the mode; its owner meant it."""
        for content in ('{"a": 1}', ""):
            path.write_text(content)
            path.chmod(mode)
            with pytest.raises(ConfigFileError, match="read-only") as caught:
                write_object(path, {}, snapshot_of(path))
            assert (caught.value.path, caught.value.case) == (path, "read-only-file")
            assert (path.read_text(), mode_of(path)) == (content, mode)
            path.chmod(0o600)

    def test_a_change_since_the_file_was_read_is_not_overwritten(self, path: Path) -> None:
        """Ours: editors know nothing of our lock."""
        path.write_text('{"a": 1}')
        before = snapshot_of(path)
        path.write_text('{"b": 2}')
        with pytest.raises(ConfigFileError, match="changed by another program") as caught:
            write_object(path, {"a": 3}, before)
        assert caught.value.hint == "nothing was written; do it again"
        assert path.read_text() == '{"b": 2}'

    def test_a_failed_write_leaves_only_the_old_file(self, tmp_path: Path, path: Path) -> None:
        """Ours: no file emptied or truncated, no temporary file left behind."""
        deep: dict[str, Any] = {}
        for _ in range(5000):
            deep = {"a": deep}
        path.write_text('{"a": 1}')
        with pytest.raises(ConfigFileError, match="nested too deeply"):
            write_object(path, deep, snapshot_of(path))
        assert path.read_text() == '{"a": 1}'

        folder = tmp_path / "folder"
        (folder / "inside").mkdir(parents=True)
        with pytest.raises(ConfigFileError, match="cannot be written"):
            write_object(folder, {}, Snapshot(folder, b"", 0o600, exists=False))
        with pytest.raises(ConfigFileError, match="cannot be written"):
            write_object(tmp_path / "missing" / "x.json", {}, snapshot_of(tmp_path / "missing" / "x.json"))
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder", "servers.json"]

    def test_a_successful_write_leaves_only_the_file(self, tmp_path: Path, path: Path) -> None:
        """Ours: a lock or a temporary file in the folder would be committed with it."""
        with locked(path):
            write_object(path, {"a": 1}, snapshot_of(path))
        assert [entry.name for entry in tmp_path.iterdir()] == ["servers.json"]

    def test_a_concurrent_reader_sees_a_complete_file(self, path: Path) -> None:
        """Ours: one rename."""
        values = [{"a": ["x" * 50_000]}, {"a": ["y" * 100_000]}]
        write_object(path, values[0], snapshot_of(path))
        reads = 0

        def write() -> None:
            number = 0
            while number < 60 or reads < 20:
                number += 1
                write_object(path, values[number % 2], snapshot_of(path))

        thread = threading.Thread(target=write)
        thread.start()
        try:
            while thread.is_alive():
                assert read_object(path) in values
                reads += 1
        finally:
            reads = 20
            thread.join()

    @pytest.mark.story
    def test_a_killed_writer_leaves_a_complete_file(self, path: Path) -> None:
        """Ours: also after a crash."""
        script = (
            "import sys\nfrom pathlib import Path\nfrom gaia_mcp.storage.json_files import write_object\n"
            "from gaia_mcp.storage.atomic import snapshot_of\n"
            "path = Path(sys.argv[1])\n"
            "for number in range(100000):\n"
            "    write_object(path, {'number': number, 'filling': ['x' * 1000] * 300}, snapshot_of(path))\n"
            "    print(number, flush=True)\n"
        )
        for lines in (1, 2, 5):
            with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as writer:
                assert writer.stdout is not None
                for _ in range(lines):
                    assert writer.stdout.readline()
                writer.send_signal(signal.SIGKILL)
            found = read_object(path)
            assert found is not None
            assert found["filling"] == ["x" * 1000] * 300
