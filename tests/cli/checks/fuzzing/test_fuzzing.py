"""The options of fuzzing, and the servers that it may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.checks.fuzzing import SEEDS, FuzzWanted, fuzz_wanted
from gaia_mcp.cli.status import UsageError
from tests.cli.conftest import entry_of
from tests.client.transports.http.web import Answer, Asked, as_json, serving

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_a_seed_is_chosen_where_none_is_given() -> None:
    """Issue: a random one."""
    chosen = fuzz_wanted(5, None, ["a*"], is_unsafe=True)
    given = fuzz_wanted(5, 7, [], is_unsafe=False)

    assert chosen is not None
    assert 0 <= chosen.seed < SEEDS
    assert chosen._replace(seed=1) == FuzzWanted(5, 1, ("a*",), is_unsafe=True)
    assert given == FuzzWanted(5, 7)
    assert fuzz_wanted(None, None, [], is_unsafe=False) is None


def test_options_without_fuzz_are_wrong(demo: Gaia) -> None:
    """Ours: a build that believes to fuzz must not pass."""
    for option in (("--seed", "1"), ("--tool", "greet"), ("--unsafe",)):
        ran = demo("test-client", "demo", *option)

        assert (ran.code, ran.errors) == (
            2, [f"error: {option[0]} is for --fuzz", f"hint: leave {option[0]} out, or add --fuzz N"],
        )  # fmt: skip
    assert demo("test-client", "demo", "--fuzz", "0").code == 2


def test_without_hypothesis_the_extra_is_named(demo: Gaia) -> None:
    """Issue: the person copies one line."""
    hide = demo.cwd / "hide"
    hide.mkdir()
    (hide / "sitecustomize.py").write_text(
        "import importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'hypothesis' else find(name, package)\n"
    )

    ran = demo("test-client", "demo", "--fuzz", "5", PYTHONPATH=str(hide))

    assert ran.code == 2
    assert ran.errors == [
        "error: --fuzz needs hypothesis, not installed here",
        "hint: install the extra: pip install 'gaia-mcp[fuzz]'",
    ]
    assert demo("test-client", "demo", PYTHONPATH=str(hide)).code == 0


def test_a_server_elsewhere_has_to_be_confirmed(gaia: Gaia) -> None:
    """Issue: thousands of calls are a load for others."""
    gaia.write({"far": {"url": "http://mcp.invalid/mcp"}, "here": entry_of("good-handshake")})

    refused = gaia("test-client", "far", "here", "--fuzz", "5")
    confirmed = gaia("test-client", "far", "--fuzz", "5", "--yes")

    assert refused.code == 2
    assert refused.stdout == ""
    assert refused.errors == [
        "error: server 'far' is not on this machine, but on 'mcp.invalid'",
        "hint: if its owner agrees, make the calls with: gaia mcp test-client far here --fuzz 5 --yes",
    ]
    assert confirmed.code == 4


def test_a_url_of_this_machine_needs_no_confirmation(gaia: Gaia) -> None:
    """Ours: it is the author's own. A variable in the URL is expanded first."""

    def answer(asked: Asked) -> Answer:
        return as_json({"jsonrpc": "2.0", "id": asked.message.get("id"), "error": {"code": -32601, "message": "no"}})

    with serving(answer) as web:
        gaia.write({"near": {"url": "${BASE}/mcp"}})
        ran = gaia("test-client", "near", "--fuzz", "5", BASE=web.url.removesuffix("/mcp"))

    assert ran.stderr == ""
    assert "  skip  fuzz" in ran.stdout


@pytest.mark.parametrize("seed", [None, 5])
def test_the_line_is_read_before_a_server_is_started(gaia: Gaia, seed: int | None) -> None:
    """Ours: a mistake costs nothing."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of("good-handshake", env={"NOTES": str(notes)})})

    assert gaia("test-client", "x", "--fuzz", "many", *(["--seed", str(seed)] if seed else [])).code == 2
    assert not notes.exists()


def test_usage_errors_are_raised_with_the_option() -> None:
    """Ours: the first one that is given."""
    with pytest.raises(UsageError, match="--seed is for --fuzz"):
        fuzz_wanted(None, 0, ["x"], is_unsafe=True)
