"""The tables through which the systems in `gaia_mcp.contrib` add to what lies below them, which knows none by its name.

`contrib` registers its systems when a table is first read. A reference is written `package.module:name`, and imported
when it is used.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class BuiltInAgent(NamedTuple):
    """An agent that is loaded by its name: a class that `reference` names.

    `servers_setting` is the setting that names the file of servers which the agent reads; by default it is the file of
    `--config`. `fronts` are the names of the fronts that it has by default. An agent that is not listed is started by
    programs only.
    """

    reference: str
    servers_setting: str = ""
    fronts: Sequence[str] = ()
    is_listed: bool = True


class FrontOption(NamedTuple):
    """A front, which serves at further paths over HTTP, and its option of `serve`, which has its name. `help` is
    printed below `heading`.

    `reference` names a `server.http.app.Front`: a class that is created with the paths of the providers which it
    serves, or, if it `is_for_gateways`, with the environment; that one is a `cli.serving.gateway.GatewayFront`.
    """

    reference: str
    help: str
    heading: str
    is_for_gateways: bool = False


class CodeKind(NamedTuple):
    """A kind of code that `serve` loads, besides agents. `base` names the class from which its classes are derived, and
    `provider` the function that loads it, a `cli.serving.loading.LoadCode`.
    """

    base: str
    provider: str


class HttpDialect(NamedTuple):
    """What servers behind a URL may have in place of MCP: an entry says so with its `type`, or it is found out. `title`
    is for people, and `path` that of a server whose URL has none.

    `channel` names a class of channels that is created with the `HttpChannel` on which it sends, and the definitions of
    the tools in the entry.
    """

    channel: str
    title: str
    path: str


class System(NamedTuple):
    """What a system adds: agents, fronts and dialects by their names, kinds of code by the member of an entry that
    names such code, and, by the suffixes of their names, formats of files of servers, each a
    `config.store.ServersFile`.
    """

    agents: Mapping[str, BuiltInAgent] = _NOTHING
    fronts: Mapping[str, FrontOption] = _NOTHING
    kinds: Mapping[str, CodeKind] = _NOTHING
    formats: Mapping[str, str] = _NOTHING
    dialects: Mapping[str, HttpDialect] = _NOTHING


_registered: list[System] = []


def register(system: System) -> None:
    """Add a system. Its names must not be those of another one."""
    _registered.append(system)


def systems() -> Sequence[System]:
    """The registered systems."""
    # Knows the package, and nothing in it.
    import_module("gaia_mcp.contrib")
    return _registered


def built_in_agents() -> dict[str, BuiltInAgent]:
    """The agents of all systems by name, sorted; those that are not listed are among them."""
    return dict(sorted((name, agent) for system in systems() for name, agent in system.agents.items()))


def front_options() -> dict[str, FrontOption]:
    """The fronts of all systems by name."""
    return {name: front for system in systems() for name, front in system.fronts.items()}


def code_kind(name: str) -> CodeKind | None:
    """The kind of code with this name, if a system has it."""
    return next((system.kinds[name] for system in systems() if name in system.kinds), None)


def servers_format(suffix: str) -> Any:
    """The class for files of servers whose names have this suffix; None if they are JSON."""
    return next((imported(system.formats[suffix]) for system in systems() if suffix in system.formats), None)


def http_dialects() -> dict[str, HttpDialect]:
    """The dialects of all systems by name."""
    return {name: dialect for system in systems() for name, dialect in system.dialects.items()}


def imported(reference: str) -> Any:
    """What a reference names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
