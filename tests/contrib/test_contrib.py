"""The systems that are registered."""

from __future__ import annotations

from collections import Counter
from inspect import isabstract, isclass
from types import FunctionType

from gaia_mcp.contrib.handlers.base import MCPHandler
from gaia_mcp.core.systems import built_in_agents, front_options, http_dialects, imported, systems


def test_each_reference_names_an_object_of_its_kind() -> None:
    """Ours: it is imported only when it is used, so that a wrong one would be found by a user."""
    kinds = [kind for system in systems() for kind in system.kinds.values()]
    formats = {reference for system in systems() for reference in system.formats.values()}
    classes = [
        *(agent.reference for agent in built_in_agents().values()),
        *(front.reference for front in front_options().values()),
        *(dialect.channel for dialect in http_dialects().values()),
        *formats,
    ]

    assert [name for name in classes if not isclass(found := imported(name)) or isabstract(found)] == []
    assert [kind for kind in kinds if not isinstance(imported(kind.provider), FunctionType)] == []
    assert [imported(kind.base) for kind in kinds] == [MCPHandler]


def test_no_name_is_registered_twice() -> None:
    """Ours: of two systems with one name, the order of registration would decide which is used."""
    for table in ("agents", "fronts", "kinds", "formats", "dialects"):
        names = Counter(name for system in systems() for name in getattr(system, table))
        assert [name for name, count in names.items() if count > 1] == [], table


def test_the_fronts_of_an_agent_exist() -> None:
    """Ours: an agent that has a front by default names it."""
    missing = {name for agent in built_in_agents().values() for name in agent.fronts} - front_options().keys()

    assert missing == set()
