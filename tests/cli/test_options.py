"""`cli.options`: the common options, declared once, and how a command receives them."""

from __future__ import annotations

import inspect
import signal
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.app import COMMANDS, UNLISTED
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, DEBUG, JSON, QUIET, TIMEOUT
from gaia_mcp.cli.screen.output import OutputMode, choose_form
from gaia_mcp.cli.typer_command import guarded
from gaia_mcp.core.errors import ConfigFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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

    assert names() == ["name", "debug"]
    assert names(CONFIG, JSON, TIMEOUT) == ["name", "config", "as_json", "quiet", "timeout", "debug"]
    assert (QUIET.default, DEBUG.default) == (False, False)


@pytest.fixture
def plain_form() -> Iterator[None]:
    """The plain form, restored after the test."""
    choose_form(as_json=False, debug=False)
    yield
    choose_form(as_json=False, debug=False)


@pytest.fixture
def handled_signals() -> Iterator[None]:
    """Handlers of signals, which a command keeps: its own would stay, and send the signals of later tests again."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("plain_form", "handled_signals")
def test_a_command_receives_its_invocation_and_the_output_form_is_set() -> None:
    """Ours: once for all commands."""
    given: list[tuple[Invocation, str, bool, bool]] = []

    def command(invocation: Invocation, name: str) -> None:
        given.append((invocation, name, OutputMode.as_json, OutputMode.quiet))

    guarded(command, "x", (JSON, TIMEOUT))(name="a", as_json=True, quiet=True, timeout=2.0, debug=False)

    assert given == [(Invocation(as_json=True, quiet=True, timeout=2.0), "a", True, True)]


def test_a_deadline_starts_on_request_and_only_with_a_timeout() -> None:
    """Ours: the time that a person spends in an editor does not count."""
    assert Invocation().deadline() is None
    deadline = Invocation(timeout=60.0).deadline()
    assert deadline is not None
    assert 0 < deadline.remaining() <= 60


def test_a_named_config_file_must_exist_unless_it_may_be_new(tmp_path: Path) -> None:
    """Ours: a misspelt name must not look like an empty configuration."""
    path = tmp_path / "servers.json"

    assert Invocation(config=path).open_store(may_be_new=True).path == path
    with pytest.raises(ConfigFileError) as caught:
        Invocation(config=path).open_store()
    assert caught.value.path == path
