"""`cli.options`: the common options, declared once, and how a command receives them."""

from __future__ import annotations

import inspect
import signal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from gaia_mcp.cli.app import COMMANDS, UNLISTED
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.cli.options import CONFIG, DEBUG, JSON, QUIET, TIMEOUT
from gaia_mcp.cli.typer_command import guarded
from gaia_mcp.core.errors import ConfigFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMON = {"config", "as_json", "quiet", "timeout", "debug"}


def test_no_command_declares_a_common_option_itself() -> None:
    """Ours: help, limits and order of these options are defined in one place."""
    places = {name: place.partition(":") for name, place in {**COMMANDS, **UNLISTED}.items()}
    declared = {
        name: COMMON & set(inspect.signature(getattr(import_module(module), function)).parameters)
        for name, (module, _, function) in places.items()
    }

    assert {name: found for name, found in declared.items() if found} == {}


def test_common_options_follow_those_of_the_command() -> None:
    """Ours: `--quiet` comes with `--json`, `--debug` with every command."""

    def command(name: str) -> None: ...

    def names(*common: inspect.Parameter) -> list[str]:
        return list(inspect.signature(guarded(command, "x", common)).parameters)

    assert names() == ["name", "debug", "context"]
    assert names(CONFIG, JSON, TIMEOUT) == ["name", "config", "as_json", "quiet", "timeout", "debug", "context"]
    assert (QUIET.default, DEBUG.default) == (False, False)


@pytest.fixture
def handled_signals() -> Iterator[None]:
    """Handlers of signals, which a command keeps: its own would stay, and send the signals of later tests again."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handled_signals")
def test_a_command_receives_its_invocation() -> None:
    """Ours: with the line that the program runs, in the form that the options choose."""
    given: list[Invocation] = []

    def command(invocation: Invocation, name: str) -> None:
        assert name == "a"
        given.append(invocation)

    program = typer.Typer(add_completion=False)
    program.command()(guarded(command, "x", (CONFIG, JSON, TIMEOUT)))
    words = ["a", "--json", "--quiet", "--timeout", "2", "--config", "c.json"]
    program(words, standalone_mode=False, obj=CommandLine(words, program="gmcp"))

    (one,) = given
    assert (one.config, one.timeout, one.after) == (Path("c.json"), 2.0, ())
    assert (one.screen.as_json, one.screen.quiet, one.screen.debug) == (True, True, False)
    assert (one.line.words, one.line.command) == (words, "x")
    assert one.line.to_type("list") == "gmcp list --config c.json"


def run_of(**options: Any) -> Invocation:
    """A run of a command with these options."""
    return Invocation.of(CommandLine(), "x", options)


def test_a_deadline_starts_on_request_and_only_with_a_timeout() -> None:
    """Ours: the time that a person spends in an editor does not count."""
    assert run_of().deadline() is None
    deadline = run_of(timeout=60.0).deadline()
    assert deadline is not None
    assert 0 < deadline.remaining() <= 60


def test_a_named_config_file_must_exist_unless_it_may_be_new(tmp_path: Path) -> None:
    """Ours: a misspelt name must not look like an empty configuration."""
    path = tmp_path / "servers.json"

    assert run_of(config=path).open_store(may_be_new=True).path == path
    with pytest.raises(ConfigFileError) as caught:
        run_of(config=path).open_store()
    assert caught.value.path == path
