"""The tables of systems, and one system more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.agents import built_in, load_agent
from gaia_mcp.cli.commands.serve import _with_front_options, serve
from gaia_mcp.cli.entries.targets import kind_to_serve
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.config.targets import Remote
from gaia_mcp.core import systems
from gaia_mcp.core.systems import (
    BuiltInAgent,
    CodeKind,
    FrontOption,
    HttpDialect,
    System,
    built_in_agents,
    code_kind,
    front_options,
    http_dialects,
    imported,
    register,
    servers_format,
)
from gaia_mcp.server.http.app import app_for
from tests.server.http.asgi import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Clock:
    """The agent of a fifth system, which is also its kind of code."""

    def __init__(self, file: str = "", **_: Any) -> None:
        self.file = file

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "hour", "inputSchema": {"type": "object"}}]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> str:
        return f"{name} {arguments}"


class Names:
    """Its front: the names of what is served, as a text."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def endpoints(self, shared: Any) -> dict[str, Any]:
        async def names(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": " ".join(shared.endpoints).encode()})

        return {"/names": names}


class Lines:
    """Its format of files: a name and a command in each line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def servers(self) -> dict[str, Any]:
        return {name: {"command": command} for name, command in map(str.split, self.path.read_text().splitlines())}


@pytest.fixture
def fifth() -> Iterator[None]:
    """A system more, as long as a test runs."""
    before = list(systems.systems())
    register(
        System(
            agents={"clock": BuiltInAgent(f"{__name__}:Clock", servers_setting="file", fronts=("names",))},
            fronts={"names": FrontOption(f"{__name__}:Names", "Serve names.", "Fifth")},
            kinds={"clock": CodeKind(f"{__name__}:Clock", f"{__name__}:Clock")},
            formats={".lines": f"{__name__}:Lines"},
            dialects={"ticks": HttpDialect(f"{__name__}:Clock", "Ticks", "/ticks")},
        )
    )
    yield
    systems._registered[:] = before


def test_a_reference_names_an_object_of_a_module() -> None:
    """Ours."""
    assert imported("gaia_mcp.core.systems:register") is register


def test_the_agents_of_all_systems_are_sorted_by_name() -> None:
    """Ours: they are printed in this order, whichever system was registered first."""
    assert [*built_in_agents()] == ["agents", "agents-tools", "code-runner", "filesystem"]


def test_what_no_system_has_is_not_found() -> None:
    """Ours: a JSON file has no format of a system, and an agent is not a kind of code."""
    assert (code_kind("agent"), servers_format(".json"), "names" in front_options()) == (None, None, False)


@pytest.mark.usefixtures("fifth")
class TestASystemMore:
    """Ours: nothing below the systems changes when there is one more."""

    def test_its_agent_is_loaded_by_name(self, tmp_path: Path) -> None:
        file = tmp_path / "servers.json"

        assert "clock" in built_in()
        assert load_agent("clock", {"file": "a"}).file == "a"
        assert Served("agent", "clock").in_file(file).defaults == {"file": str(file)}

    def test_its_front_is_served_by_default_for_its_agent(self) -> None:
        server = Server(app_for("clock", environ={}))

        assert server.ask("GET", "/names").reply().body == b"/mcp"

        server.end()

    def test_its_front_is_an_option_of_serve(self) -> None:
        command: Callable[..., Any] = _with_front_options(lambda **fronts: None)

        assert [*command.__signature__.parameters] == ["rpc", "a2a", "names"]  # type: ignore[attr-defined]
        assert "names" not in serve.__signature__.parameters  # type: ignore[attr-defined]

    def test_its_kind_of_code_is_found_by_the_entry(self) -> None:
        assert kind_to_serve("a:B", {"kind": "clock"}) == code_kind("clock") != kind_to_serve("a:B", {"kind": "agent"})

    def test_its_dialect_is_a_type_of_an_entry(self) -> None:
        target = read_entry("s", {"type": "ticks", "url": "http://127.0.0.1"}).target

        assert isinstance(target, Remote)
        assert target.transport == "ticks"
        assert http_dialects()["ticks"].path == "/ticks"

    def test_its_files_of_servers_are_read(self, tmp_path: Path) -> None:
        file = tmp_path / "servers.lines"
        file.write_text("one uvx\ntwo npx\n")

        assert ConfigStore(file).names() == ["one", "two"]
