"""The layout: who may import whom, read from the source."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import gaia_mcp

ROOT = Path(gaia_mcp.__file__).parent

# Every module, by the longest of these names that leads it. "" is the package itself: it imports nothing but names.
FLOORS = {
    "_version": 0,
    "deadline": 0,
    "errors": 0,
    "names": 0,
    "paths": 0,
    "redaction": 0,
    "safetext": 0,
    "toolcall": 0,
    "protocol": 1,
    "recordings": 1,
    "toolspec": 1,
    "client.conversation": 2,
    "client.host": 2,
    "client.identity": 2,
    "client.transports": 2,
    "config": 2,
    "hosts": 2,
    "storage": 2,
    "agents": 3,
    "client": 3,
    "server": 3,
    "manager": 4,
    "mixin": 5,
    "cli": 7,
    "__main__": 8,
    "": 8,
}
# Parts of one package, or of the rules, that build on one another on the same floor.
EARLIER = {
    "client.conversation": {"client.host", "client.identity", "client.transports"},
    "client.transports": {"client.conversation", "client.host", "client.identity"},
    "config": {"storage"},
    "errors": {"names"},
    "hosts": {"storage"},
    "paths": {"errors"},
    "recordings": {"protocol"},
    "redaction": {"safetext"},
    "storage": {"config"},
}
# Who prints or exits although it is not the command line.
EXCEPTIONS = {
    ("server.stdio.session", "print"): "one line for the log of whoever started the server, when the client breaks off",
    ("server.stdio.process", "os._exit"): "an agent that is still being imported cannot be stopped otherwise",
}
# Packages whose names are lazy: they import everything for a type checker, and nothing at run time.
LAZY = ("", "client", "client.transports.stdio")
IMPURE = {"asyncio", "os", "pathlib", "socket", "subprocess", "threading", "time"}
MAX_LINES = 400


class Import(NamedTuple):
    """One import: of which module, in which line, and whether only a type checker sees it."""

    module: str
    line: int
    for_types: bool


@cache
def modules() -> dict[str, ast.Module]:
    """The source of every module, by its name without the leading `gaia_mcp.`."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


@cache
def imports(name: str) -> list[Import]:
    """Everything that a module imports, anywhere in it."""
    tree = modules()[name]
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, id(node) in typing_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno} imports relatively"
            assert node.module is not None
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            whole = [one for one in inner if own(one) in modules()] if is_own(node.module) else []
            targets = whole if len(whole) == len(inner) else [node.module, *whole]
            found += [Import(target, node.lineno, id(node) in typing_only) for target in targets]
    return found


def is_own(module: str) -> bool:
    return module == "gaia_mcp" or module.startswith("gaia_mcp.")


def own(module: str) -> str:
    return module.removeprefix("gaia_mcp").removeprefix(".")


def own_imports(name: str, *, for_types: bool | None = None) -> list[tuple[str, int]]:
    return [
        (own(one.module), one.line)
        for one in imports(name)
        if is_own(one.module) and (for_types is None or one.for_types == for_types)
    ]


def part_of(name: str) -> str:
    """The entry of the table that a module belongs to."""
    lead = name
    while lead and lead not in FLOORS:
        lead = lead.rpartition(".")[0]
    return lead


@pytest.mark.parametrize("name", modules())
def test_every_module_has_a_floor(name: str) -> None:
    """Ours: a new module is put on a floor before it imports anything."""
    assert part_of(name) or name == ""


def test_every_line_of_the_table_is_about_a_module_that_exists() -> None:
    """Ours: the table must not promise what has gone."""
    assert {part_of(name) for name in modules()} == set(FLOORS)
    assert set(EARLIER) <= set(FLOORS)


@pytest.mark.parametrize("name", modules())
def test_a_module_imports_only_lower_floors_and_its_own_part(name: str) -> None:
    """Ours. The package itself may name everything for a type checker: that is how it stays lazy."""
    part = part_of(name)
    wrong = []
    for target, line in own_imports(name, for_types=False if name in LAZY else None):
        theirs = part_of(target)
        below = FLOORS[theirs] < FLOORS[part]
        if not (below or theirs == part or theirs in EARLIER.get(part, set())):
            wrong.append(f"line {line}: {target}")
    assert wrong == []


def test_the_edges_do_not_know_each_other() -> None:
    """Ours: configuration and transports, and the three kinds of peer, stand side by side."""
    for group in (("config", "hosts", "client.transports"), ("client", "server", "agents")):
        for part in group:
            others = {target for name in modules() if part_of(name) == part for target, _ in own_imports(name)}
            assert {part_of(other) for other in others} & set(group) <= {part}


def test_nobody_imports_the_package_as_a_whole() -> None:
    """Ours: its names are lazy for other programs; within, they would hide who imports whom."""
    assert [(name, line) for name in modules() for target, line in own_imports(name) if target == ""] == []


def test_no_module_imports_itself_in_a_circle() -> None:
    """Ours; what only a type checker sees counts, but for the two lazy packages that name everything."""
    edges = {
        name: {
            target for target, _ in own_imports(name, for_types=False if name in LAZY else None) if target in modules()
        }
        for name in modules()
    }
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for target in sorted(edges[name]):
                walk(target, (*trail, name))
            done.add(name)

    for name in edges:
        walk(name, ())


@pytest.mark.parametrize("name", modules())
def test_no_module_is_too_long_to_read(name: str) -> None:
    """Ours: at 400 lines split before adding."""
    path = ROOT.joinpath(*name.split(".")) if name else ROOT
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    assert len(source.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_nobody_imports_click_or_asyncio() -> None:
    """Ours: Click is vendored by Typer, and no path of a stdio command is asynchronous."""
    roots = {(one.module.partition(".")[0], name) for name in modules() for one in imports(name)}
    assert {(root, name) for root, name in roots if root in {"click", "asyncio"}} == set()


@pytest.mark.parametrize("name", [name for name in modules() if FLOORS[part_of(name)] == 1])
def test_the_rules_touch_no_clock_file_thread_or_process(name: str) -> None:
    """Ours: rules take everything they need as arguments."""
    assert {one.module.partition(".")[0] for one in imports(name)} & IMPURE == set()


def test_only_the_command_line_prints_or_exits() -> None:
    """Ours, with the two exceptions that have a reason beside them in the table."""
    found = []
    for name, tree in modules().items():
        if part_of(name) in ("cli", "__main__"):
            continue
        for node in ast.walk(tree):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "exit", "quit", "sys.exit", "os._exit"):
                found.append((name, called))
            if isinstance(node, ast.Raise) and node.exc is not None and "SystemExit" in ast.unparse(node.exc):
                found.append((name, "SystemExit"))
    assert sorted(found) == sorted(EXCEPTIONS)


@pytest.mark.parametrize("name", modules())
def test_every_module_says_what_it_is_for(name: str) -> None:
    """Ours: it opens with what it owns."""
    assert ast.get_docstring(modules()[name])
