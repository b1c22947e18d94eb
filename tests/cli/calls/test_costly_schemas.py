"""Schemas that no value can be checked against: neither time nor Ctrl-C depends on a server's schema."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import entry_of
from tests.processes import workers
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize(
    ("tool", "words", "schema"),
    [("takes", ("x=aaa",), "input schema of 'takes'"), ("returns", (), "output schema of 'returns'")],
)
def test_a_schema_too_costly_to_check_is_named_and_the_tool_is_called(
    gaia: Gaia, tool: str, words: tuple[str, ...], schema: str
) -> None:
    """B-5: also within `--timeout`, of which the check takes only a part."""
    gaia.use("costly-schemas")

    ran = gaia("call", "costly-schemas", tool, *words, "--timeout", "6")

    assert (ran.stdout, ran.code) == ("done\n", 0)
    assert f"{schema} of server 'costly-schemas' cannot be used" in ran.stderr
    assert "checking against it takes more than" in ran.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(("tool", "words"), [("takes", ("x=aaa",)), ("returns", ())])
def test_a_signal_ends_a_costly_check_and_the_server(
    gaia: Gaia, tool: str, words: tuple[str, ...], number: int, code: int
) -> None:
    """B-5: native code running in this process would delay every signal."""
    gaia.use("costly-schemas")
    process = gaia.popen("call", "costly-schemas", tool, *words)
    wait_until(lambda: bool(workers(process.pid)))

    process.send_signal(number)

    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (code, b"")
    assert b"Traceback" not in err


def test_a_schema_in_another_document_is_refused_before_anything_is_sent(gaia: Gaia) -> None:
    """Ours: it is not fetched, and no unchecked arguments are sent."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of("costly-schemas", env={"NOTES": str(notes)})})

    ran = gaia("call", "x", "elsewhere", "x=1", "--json")

    assert (ran.code, ran.json["error"]["kind"]) == (7, "arguments")
    assert ran.errors == [f"error: {ran.json['error']['message']}", f"hint: {ran.json['error']['hint']}"]
    assert "input schema: it refers to 'https://example.org/x.json'" in ran.errors[0]
    assert "tools/call" not in notes.read_text()
