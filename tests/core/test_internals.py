"""The parts of Python's insides that we lean on: each test fails when one has moved or does something else."""

from __future__ import annotations

import atexit
import json
import math
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.core.internals import bare_signal, bare_socket, compact_writer, run_exit_functions
from tests.protocol_support import steady

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.dictionaries(st.integers(), inner),
    max_leaves=8,
)


class TestCompactWriter:
    """`json.encoder.c_make_encoder`."""

    def test_python_has_the_c_encoder(self) -> None:
        """Ours: CPython has it; without it each message costs twice as much."""
        assert callable(json.encoder.c_make_encoder)  # type: ignore[attr-defined]

    @steady
    @given(JSON)
    def test_it_writes_the_same_text_as_json_dumps(self, value: Any) -> None:
        """Ours: the arguments of the C code are positional, and not documented."""
        assert compact_writer()(value) == json.dumps(value, separators=(",", ":"), allow_nan=False)

    @steady
    @given(st.dictionaries(st.text(), JSON))
    def test_it_sorts_keys_as_json_dumps_does(self, value: Any) -> None:
        """Ours: two texts are the same if the values are."""
        expected = json.dumps(value, separators=(",", ":"), allow_nan=False, sort_keys=True)
        assert compact_writer(sort_keys=True)(value) == expected

    def test_an_integer_or_text_of_a_class_of_its_own_is_written_as_json_does(self) -> None:
        """Ours: agents return enums and the like."""
        for value in (type("Number", (int,), {})(3), type("Text", (str,), {})("a"), (1, 2)):
            assert compact_writer()(value) == json.dumps(value, separators=(",", ":"))

    @pytest.mark.parametrize("value", [math.nan, math.inf, {"a": -math.inf}])
    def test_nan_and_infinity_are_refused(self, value: Any) -> None:
        """RFC 8259."""
        with pytest.raises(ValueError, match="not JSON compliant"):
            compact_writer()(value)

    @pytest.mark.parametrize("value", [object(), {1}, {(1, 2): 3}])
    def test_an_object_that_is_not_json_is_refused(self, value: Any) -> None:
        """RFC 8259: the C code calls `default` for it, which refuses."""
        with pytest.raises(TypeError):
            compact_writer()(value)

    def test_a_value_that_contains_itself_is_a_recursion_error(self) -> None:
        """Ours: there is no search for cycles, for it costs time."""
        value: list[Any] = []
        value.append(value)
        with pytest.raises(RecursionError):
            compact_writer()(value)

    def test_without_the_c_code_it_writes_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: other Pythons have none."""
        monkeypatch.setattr(json.encoder, "c_make_encoder", None)
        write = compact_writer()
        assert write({"a": [1, "é"]}) == '{"a":[1,"\\u00e9"]}'
        with pytest.raises(ValueError, match="not JSON compliant"):
            write(math.nan)


class TestExitFunctions:
    """`atexit._run_exitfuncs`."""

    @pytest.mark.story
    def test_registered_functions_run_once(self) -> None:
        """Ours: an agent's exit functions must not run again at the end of the process."""
        program = "import atexit; from gaia_mcp.core.internals import run_exit_functions as run; "
        program += "atexit.register(print, 'first'); atexit.register(print, 'last'); run(); print('left')"
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
        assert ended.stdout.split() == ["last", "first", "left"]

    def test_a_python_without_it_runs_no_exit_functions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: the process then ends as it would have."""
        monkeypatch.delattr(atexit, "_run_exitfuncs")
        run_exit_functions()


class TestBareSignal:
    """`_signal`."""

    def test_it_has_the_functions_of_signal_and_the_same_numbers(self) -> None:
        """Ours: what a TAB needs of them."""
        bare = bare_signal()

        assert bare is not signal
        assert bare.setitimer is signal.setitimer
        assert [bare.SIGINT, bare.SIGALRM, bare.SIG_DFL, bare.ITIMER_REAL] == [
            signal.SIGINT,
            signal.SIGALRM,
            signal.SIG_DFL,
            signal.ITIMER_REAL,
        ]
        assert callable(bare.signal)

    def test_a_python_without_it_has_signal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: it has the same functions, and takes longer to load."""
        monkeypatch.setitem(sys.modules, "_signal", None)
        assert bare_signal() is signal


class TestBareSocket:
    """`_socket`."""

    def test_it_has_the_class_below_the_public_one_and_the_same_numbers(self) -> None:
        """Ours: what a connection to another process of the user needs of them."""
        bare = bare_socket()

        assert bare is not socket
        assert issubclass(socket.socket, bare.socket)
        assert [bare.AF_UNIX, bare.SOCK_STREAM, bare.SOL_SOCKET] == [
            socket.AF_UNIX,
            socket.SOCK_STREAM,
            socket.SOL_SOCKET,
        ]

    def test_a_python_without_it_has_socket(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ours: it has the same functions, and takes longer to load."""
        monkeypatch.setitem(sys.modules, "_socket", None)
        assert bare_socket() is socket
