"""The layout: which module may import which, read from the source. Each rule is a test that lists every offender."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gaia_mcp
from gaia_mcp.cli.app import COMMANDS, UNLISTED
from tests.covered.__main__ import PACKAGE, own_tests

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(gaia_mcp.__file__).parent

# Every module, by the longest of these names that leads it. "" is the package itself: it imports nothing but names.
FLOORS = {
    # Facts.
    "_version": 0,
    "core": 0,
    # Rules: they take everything that they need as arguments.
    "text": 1,
    "protocol": 1,
    "recordings": 1,
    "toolspec": 1,
    # A process for what would keep this one from listening.
    "checking": 2,
    # Python files of the user.
    "importing": 2,
    # Files.
    "config": 2,
    "hosts": 2,
    "storage": 2,
    # What outlives a request.
    "store": 2,
    # A running call, and what it asks of its client.
    "asking": 2,
    # What answers requests: peers are providers, and fronts show them.
    "server.provider": 2,
    # Peers: a client of theirs, a server of ours, an agent, a handler.
    "agents": 3,
    "client": 3,
    "client.conversation": 3,
    "client.host": 3,
    "client.transports": 3,
    "client.transports.factory": 3,
    "server": 3,
    # Loads what it serves.
    "server.http": 4,
    # A server in use.
    "fleet": 4,
    # Documents of registries, as entries.
    "catalog": 4,
    # Servers in use, as one provider; and held open, as one each.
    "fleet.gateway": 5,
    "fleet.keeper": 5,
    # Systems, which nothing below knows by name.
    "contrib.programs": 5,
    "contrib.handlers": 5,
    "contrib.agentvault": 6,
    "contrib.gaia": 6,
    "contrib.hub": 6,
    "contrib": 6,
    # Their public paths, and those of GAIA.
    "client.mcp_client_manager": 7,
    "handlers": 7,
    "manager": 7,
    "mixin": 7,
    # Whether a server does what the specification requires; it names hosts as a server does.
    "requirements": 5,
    # A client and a server in one process, for the tests of agents.
    "testing": 5,
    # The same for pytest, also with a server of another program.
    "pytest_plugin": 6,
    # The only place that prints or exits.
    "cli": 7,
    "__main__": 8,
    "": 8,
    # An agent and a handler, as a user of the package writes them.
    "agents.demo": 9,
    "contrib.handlers.json_rpc_handler": 9,
}
# Parts of one package, or of one floor, that build on one another.
EARLIER = {
    "core": {"_version"},
    "protocol": {"text"},
    "toolspec": {"text"},
    "recordings": {"protocol", "text"},
    "client": {
        "client.conversation",
        "client.host",
        "client.transports",
        "client.transports.factory",
    },
    "client.conversation": {"client.host", "client.transports"},
    "client.transports": {"client.conversation", "client.host"},
    "client.transports.factory": {"client.conversation", "client.transports"},
    "config": {"importing", "storage"},
    "fleet.keeper": {"fleet.gateway"},
    "hosts": {"storage"},
    "server.provider": {"asking"},
}
# What prints or exits although it is not the command line.
EXCEPTIONS = {
    (
        "contrib.agentvault.code_runner.confined",
        "os._exit",
    ): "a forked process ends as its child did",
    ("contrib.agentvault.code_runner.confined", "sys.exit"): "the end of code that raised, as Python ends it",
    ("importing", "os._exit"): "the child of a file that forks while it is imported must not run this program",
    ("server.outcomes", "print"): "one line for the server's log, about an exception of an agent's code",
    (
        "server.stdio.pipe_client",
        "print",
    ): "one line for the log of whoever started the server, when the client breaks off",
    (
        "server.call_questions",
        "print",
    ): "one line for the server's log: the client learns no reason",
    ("server.stdio", "os._exit"): "an agent that is still being imported cannot be stopped otherwise",
}
# How a file may be opened, or read by its name.
WAYS_TO_READ = {
    "codecs.open", "configparser.read", "fileinput.input", "io.FileIO", "io.open", "io.open_code", "json.load",
    "linecache.getline", "linecache.getlines", "mmap.mmap", "open", "os.open", "os.fdopen", "shutil.copy",
    "shutil.copy2", "shutil.copyfile", "tokenize.open", "tomllib.load", "wave.open",
}  # fmt: skip
# What opens files although it is not the module that reads them.
READERS = {
    "contrib.agentvault.code_runner.confined Path(os.devnull).open": "the null device",
    "contrib.agentvault.code_runner.confined (process / 'stat').read_bytes": "a file of the kernel",
    "contrib.agentvault.code_runner.confined json.load": "its standard input",
    "contrib.agentvault.code_runner Path('/proc', process, 'stat').read_bytes": "a file of the kernel",
    "contrib.agentvault.code_runner (folder / 'stat').read_bytes": "a file of the kernel",
    "contrib.agentvault.filesystem os.fdopen": "writes",
    "contrib.programs os.open": "opens only folders, to remove them",
    "contrib.agentvault.filesystem os.open": "folders, and files to write",
    "contrib.programs os.fdopen": "a pipe",
    "agents.demo wave.open": "writes to memory",
    "cli.commands.guide Path(manual.__file__).with_name('guide.txt').read_text": "a file of the package",
    "cli.entries.saving os.fdopen": "writes",
    "cli.grammar.parsing FILE.read_bytes": "a file of the package",
    "cli.keeping os.open": "the log of the keeper, to write",
    "cli.keeping.holding os.open": "the null device",
    "cli.manual (PROSE / 'audit.txt').read_text": "a file of the package",
    "cli.manual (PROSE / 'error.txt').read_text": "a file of the package",
    "cli.manual (PROSE / name).read_text": "a file of the package",
    "cli.manual path.read_text": "a file of the package",
    "cli.program os.fdopen": "the null device",
    "cli.program os.open": "the null device",
    "cli.screen.output os.open": "the null device",
    "client.transports.stdio.processes (processes / 'loadavg').read_bytes": "a file of the kernel",
    "client.transports.stdio.processes open": "a file of the kernel",
    "client.transports.stdio.processes (folder / 'comm').read_text": "a file of the kernel",
    "client.transports.stdio.processes stat.read_bytes": "a file of the kernel",
    "client.transports.unix_socket os.fdopen": "a socket",
    "core.files open": "the module itself",
    "core.files os.open": "the module itself",
    "server.stdio os.open": "the null device",
    "fleet.process_usage (process / 'stat').read_bytes": "a file of the kernel",
    "fleet.keeper.folder os.open": "a lock",
    "fleet.keeper.requests os.open": "a folder, to lock it",
    "fleet.recorder os.fdopen": "writes, and reads through the module",
    "fleet.recorder os.open": "writes, and reads through the module",
    "storage.atomic os.fdopen": "writes",
    "storage.atomic os.open": "a folder, and to write",
    "storage.atomic path.with_name(path.name + '.lock').open": "a lock",
    "storage.output_files os.open": "writes",
    "storage.output_files os.fdopen": "writes",
    "storage.output_files path.open": "writes",
    "storage.run_logs os.fdopen": "writes",
    "storage.run_logs os.open": "writes",
}
# The command line uses servers through `session`. What it imports of the client for other reasons:
BESIDE_SESSIONS = {
    "client.tools": "a tool is a value that sessions return",
    "client.transports.stdio.launch": "a command line is split; none is run",
}
# What runs coroutines, and imports asyncio when there is one; and what an ASGI server runs.
ASYNCHRONOUS = {
    "asking", "contrib.agentvault.a2a_endpoint", "server.agent_code", "server.http.app", "server.http.event_log",
    "server.http.accepted", "server.http.exchange", "server.http.handshake", "server.http.listening",
    "server.http.received", "server.http.security", "server.http.sharing",
}  # fmt: skip
# Packages whose names are lazy: they import everything for a type checker, and nothing at run time.
LAZY = (
    "", "client", "client.mcp_client_manager", "client.transports", "client.transports.stdio", "core.errors",
    "handlers", "manager", "mixin",
)  # fmt: skip
# Packages that name the parts of systems under public paths.
PUBLIC_PATHS = ("", "client", "client.mcp_client_manager", "handlers", "manager", "mixin")
ERA_LISTS = {"protocol.HANDSHAKE_VERSIONS", "protocol.STATELESS_VERSIONS"}
IMPURE = {"asyncio", "os", "pathlib", "socket", "subprocess", "threading", "time"}
# What a command sets although it belongs to the process: the interpreter calls it.
SET_BY_COMMANDS = {
    "cli.program sys": "the standard streams that the caller closed",
    "cli.program threading.excepthook": "a thread that dies of a shortage ends the program",
    "cli.signals sys.unraisablehook": "a signal within a callback is sent again",
}
# The methods that change a list, a dictionary or a set.
CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
MAX_LINES = 700
# A shorter module is tested with the one that uses it.
MIN_TESTED_LINES = 40
# Modules of that length without a test file of their own name.
WITHOUT_TESTS = {
    "protocol.events": "named tuples, which only the tests of what makes them can show",
}
VERBS = "cli.commands"
DRIVERS = "contrib.hub.drivers"
PACKAGES = ("catalog.packages", "catalog.runners", "catalog.runners")
# The transport's own name; `http` of the standard library is found all the same, for no import is relative.
TRANSPORTS = {"client.transports.http", "server.http"}
# They name no purpose: whatever lies there belongs where it is used.
NAMELESS = {"common", "helpers", "misc", "utils"}


class Import(NamedTuple):
    """One import: of which module, in which line, and whether only a type checker sees it."""

    module: str
    line: int
    for_types: bool


@cache
def sources() -> dict[str, str]:
    """The text of every module, by its name without the leading `gaia_mcp.`."""
    return {module_name(path): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}


def module_name(path: Path) -> str:
    """The name of the module in a file, without the leading `gaia_mcp.`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """The syntax of every module."""
    return {name: ast.parse(text, name) for name, text in sources().items()}


@cache
def nodes(name: str) -> list[ast.AST]:
    """Every node of the syntax of a module: most rules look at all of them."""
    return [*ast.walk(modules()[name])]


@cache
def imports(name: str) -> list[Import]:
    """Everything that a module imports, anywhere in it."""
    typing_only = {
        id(inner)
        for node in nodes(name)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    found = []
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, id(node) in typing_only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
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


def roots(name: str) -> set[str]:
    """The packages that a module imports from, by their first names."""
    return {one.module.partition(".")[0] for one in imports(name)}


def part_of(name: str) -> str:
    """The entry of the table that a module belongs to."""
    lead = name
    while lead and lead not in FLOORS:
        lead = lead.rpartition(".")[0]
    return lead


def is_in(name: str, package: str) -> bool:
    """Whether a module belongs to a package. The package does not."""
    return name.startswith(f"{package}.")


def may_import(part: str, theirs: str) -> bool:
    return FLOORS[theirs] < FLOORS[part] or theirs == part or theirs in EARLIER.get(part, set())


def assert_none(offenders: Iterable[str]) -> None:
    """Fail with every offender, on a line each."""
    found = sorted(offenders)
    assert not found, "\n".join(["", *found])


def test_every_module_has_a_floor() -> None:
    """Ours: a new module is put on a floor before it imports anything."""
    assert_none(name for name in modules() if name and not part_of(name))


def test_every_line_of_the_table_is_about_a_module_that_exists() -> None:
    """Ours: the table must not promise what has gone."""
    assert_none({part_of(name) for name in modules()} ^ set(FLOORS))
    assert_none(set(EARLIER).union(*EARLIER.values()) - set(FLOORS))


def test_a_module_imports_only_lower_floors_and_its_own_part() -> None:
    """Ours. The package itself may name everything for a type checker: that is how it stays lazy."""
    assert_none(
        f"{name}:{line} imports {target}"
        for name in modules()
        for target, line in own_imports(name, for_types=False if name in LAZY else None)
        if not may_import(part_of(name), part_of(target))
    )


def test_configuration_transports_and_peers_do_not_import_each_other() -> None:
    """Ours: configuration and transports, and the four kinds of peer, stand side by side."""
    assert_none(
        f"{name}:{line} imports {target}"
        for group in (("config", "hosts", "client.transports"), ("client", "server", "agents"))
        for name in modules()
        for target, line in own_imports(name)
        if part_of(name) in group and part_of(target) in group and part_of(name) != part_of(target)
    )


def test_only_public_paths_name_a_system() -> None:
    """Ours: a system can be added or removed in `contrib` alone."""
    assert_none(
        f"{name} names {found}"
        for name, text in sources().items()
        if not is_in(name, "contrib") and name not in ("contrib", *PUBLIC_PATHS)
        for found in re.findall(r"gaia_mcp\.contrib\.[\w.]+", text)
    )


def test_no_module_imports_the_package_as_a_whole() -> None:
    """Ours: its names are lazy for other programs; within, they would hide which module imports which."""
    assert_none(
        f"{name}:{line}"
        for name in modules()
        for target, line in own_imports(name)
        # The demo agent is what another program would be.
        if target == "" and name != "agents.demo"
    )


def test_no_import_is_relative() -> None:
    """Ours: a module is found by one name."""
    assert_none(
        f"{name}:{node.lineno}"
        for name in modules()
        for node in nodes(name)
        if isinstance(node, ast.ImportFrom) and node.level
    )


def test_no_import_is_circular() -> None:
    """Ours; what only a type checker sees counts, but for the lazy packages that name everything."""
    edges = {
        name: sorted(
            {target for target, _ in own_imports(name, for_types=False if name in LAZY else None)} & set(modules())
        )
        for name in modules()
    }
    done: set[str] = set()
    circles = []

    def walk(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            circles.append(" -> ".join([*trail[trail.index(name) :], name]))
        elif name not in done:
            for target in edges[name]:
                walk(target, (*trail, name))
            done.add(name)

    for name in edges:
        walk(name, ())
    assert_none(circles)


def test_every_module_of_the_commands_is_a_command() -> None:
    """Ours: what several of them share lies beside them, and the application's table names every one of them."""
    named = {own(place.partition(":")[0]) for place in (COMMANDS | UNLISTED).values()}

    assert_none({name for name in modules() if is_in(name, VERBS)} ^ named)


def test_only_the_command_table_names_a_module_of_the_commands() -> None:
    """Ours: a verb is what a person types; what other modules need of it lies where they may import it from."""
    beside = [name for name in modules() if not is_in(name, VERBS)]
    found = [f"{name} imports {target}" for name in beside for target, _ in own_imports(name) if is_in(target, VERBS)]
    found += [
        f"{name}:{node.lineno} names {node.value}"
        for name in beside
        for node in nodes(name)
        if isinstance(node, ast.Constant) and is_in(own(str(node.value)), VERBS) and name != "cli.app"
    ]

    assert_none(found)


def test_the_command_line_uses_servers_through_sessions() -> None:
    """Ours: a session may be held by another process, so the client under it is not for commands."""
    in_cli = [name for name in modules() if is_in(name, "cli")]

    assert [
        f"{name}:{line} imports {target}"
        for name in in_cli
        for target, line in own_imports(name)
        if is_in(target, "client") and target not in BESIDE_SESSIONS
    ] == []
    assert [
        f"{name}:{node.lineno} reaches for {ast.unparse(node)}"
        for name in in_cli
        for node in nodes(name)
        if isinstance(node, ast.Attribute) and node.attr in ("client", "_client")
    ] == []


def global_writes(name: str) -> Iterable[str]:
    """What the functions of a module write to that outlives them: names that they declare global, attributes and
    members of a class, and of what the module itself imports or defines.
    """
    functions = [node for node in nodes(name) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {id(inner) for function in functions for inner in ast.walk(function)}
    outside = {
        bound
        for node in nodes(name)
        if id(node) not in inside or isinstance(node, ast.alias)
        for bound in bound_by(node)
    }
    for function in functions:
        own_names = {
            bound for node in ast.walk(function) if not isinstance(node, ast.alias) for bound in bound_by(node)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Global):
                yield f"{name} global {', '.join(node.names)}"
                continue
            changed: ast.AST | None = None
            if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
                changed = node
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                changed = node.func.value
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
                changed = node.args[0]
            base = changed
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name) and (base.id == "cls" or base.id in outside - own_names):
                yield f"{name} {ast.unparse(changed)}" if changed is not None else name


def bound_by(node: ast.AST) -> list[str]:
    """The names that a node binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.alias):
        return [(node.asname or node.name).partition(".")[0]]
    return [node.name] if isinstance(node, (ast.ClassDef, ast.FunctionDef)) else []


def test_no_command_writes_to_a_module_or_a_class() -> None:
    """Ours: what a command knows is passed as an argument, so that a second command in one process begins anew."""
    in_cli = [name for name in modules() if is_in(name, "cli")]

    assert_none({write for name in in_cli for write in global_writes(name)} ^ set(SET_BY_COMMANDS))


def test_no_module_is_too_long_to_read() -> None:
    """Ours: one reason to open it; 600 lines are right where one thing is one thing, and a limit is no seam."""
    lengths = {name: len(text.splitlines()) for name, text in sources().items()}

    assert_none(f"{name} has {length} lines" for name, length in lengths.items() if length > MAX_LINES)


def test_each_module_of_some_length_has_a_test_file_of_its_own_name() -> None:
    """Ours: whoever opens a module finds its tests. Exceptions have their reason in the table."""
    tests = Path(__file__).parent
    files = "\n".join(path.relative_to(tests.parent).as_posix() for path in tests.rglob("test_*.py"))
    without = set()
    for path in ROOT.rglob("*.py"):
        is_long = len(path.read_text("utf-8").splitlines()) >= MIN_TESTED_LINES
        if is_long and not re.search(f"^{own_tests(PACKAGE / path.relative_to(ROOT))}$", files, re.MULTILINE):
            without.add(module_name(path))

    assert_none(without ^ {*WITHOUT_TESTS})


def test_no_module_is_named_like_a_builtin_or_a_standard_module() -> None:
    """Ours: like no builtin, no module of the standard library and no test, and by what it holds."""
    taken = {*dir(builtins), *sys.stdlib_module_names, *NAMELESS}
    last = {name: name.rpartition(".")[2] for name in modules() if name not in ("", "__main__", *TRANSPORTS)}

    assert_none(name for name, word in last.items() if word in taken or word.startswith("test_"))


def test_no_module_imports_click_or_asyncio() -> None:
    """Ours: Click is vendored by Typer, and only the tools of an agent may be asynchronous."""
    assert_none(name for name in modules() if "click" in roots(name))
    assert_none(name for name in modules() if "asyncio" in roots(name) and name not in ASYNCHRONOUS)


def test_only_the_protocol_asks_for_the_era() -> None:
    """Ours: a revision or a connection is asked what it can do, so that a third era would change one package, and the
    one that knows what each era requires.
    """
    beside = [name for name in modules() if part_of(name) not in ("protocol", "requirements")]
    found = [
        f"{name}:{line} imports a list of an era"
        for name in beside
        for target, line in named_imports(name)
        if target in ERA_LISTS
    ]
    found += [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name in beside
        for node in nodes(name)
        if isinstance(node, ast.Compare)
        if {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)} & {"handshake", "stateless"}
    ]
    found += [f"{name}: {match}" for name in beside for match in re.findall(r"\bis_\w*stateless\b", sources()[name])]

    assert_none(found)


def named_imports(name: str) -> list[tuple[str, int]]:
    """Every name that a module imports from another, with the module's own name in front."""
    froms = [node for node in nodes(name) if isinstance(node, ast.ImportFrom) and node.module]
    return [(f"{own(str(node.module))}.{alias.name}", node.lineno) for node in froms for alias in node.names]


def test_the_rules_touch_no_clock_file_thread_or_process() -> None:
    """Ours: rules take everything they need as arguments."""
    rules = [name for name in modules() if FLOORS[part_of(name)] == 1]

    assert_none(f"{name} imports {root}" for name in rules for root in roots(name) & IMPURE)


def test_only_the_command_line_prints_or_exits() -> None:
    """Ours, with the exceptions that have a reason beside them in the table."""
    found = []
    for name in modules():
        if part_of(name) in ("cli", "__main__"):
            continue
        for node in nodes(name):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "exit", "quit", "sys.exit", "os._exit"):
                found.append((name, called))
            if isinstance(node, ast.Raise) and node.exc is not None and "SystemExit" in ast.unparse(node.exc):
                found.append((name, "SystemExit"))
    assert_none(" ".join(one) for one in {*found} ^ {*EXCEPTIONS})


def test_only_the_command_line_holds_command_lines() -> None:
    """Ours: an error of the library is a fact; a Python program has no use for what is typed into a shell. A driver
    holds the options of another program, which it runs, and so do the packages of a registry.
    """
    # The name of the program alone is no line.
    typed = re.compile(r"\b(gaia mcp|gmcp(?!$)|pip install|chmod(?= ))\b|(?<![\w-])--[a-z]")
    found = []
    for name in modules():
        if part_of(name) in ("cli", "__main__") or is_in(name, DRIVERS) or name in PACKAGES:
            continue
        # What stands alone in a line is documentation.
        told = {id(node.value) for node in nodes(name) if isinstance(node, ast.Expr)}
        for node in nodes(name):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
                found += [f"{name}:{node.lineno}: {match[0]}" for match in typed.finditer(node.value)]
    assert found == []


def test_every_module_has_a_docstring() -> None:
    """Ours: it opens with what it owns."""
    assert_none(name for name, tree in modules().items() if not ast.get_docstring(tree))


def test_only_filebytes_reads_files() -> None:
    """Ours: without waiting, regular ones, and no more than a limit. Exceptions have their reason in the table."""
    found = set()
    for name in modules():
        for node in nodes(name):
            if isinstance(node, ast.Call) and is_reading(node):
                found.add(f"{name} {ast.unparse(node.func)}")
    assert_none(found ^ {*READERS})


def is_reading(call: ast.Call) -> bool:
    """Whether it opens a file to read it, or reads one, by any of the ways that Python has."""
    called = ast.unparse(call.func)
    mode = next((word.value for word in call.keywords if word.arg == "mode"), None) or next(iter(call.args[-1:]), None)
    if called.endswith(".open") and not called.startswith(("os.", "io.")):
        # A method of a path, unless it is one of a connection, which takes other things.
        is_path = {word.arg for word in call.keywords} & {"encoding", "buffering", "core.errors", "mode"}
        return bool(is_path) or (isinstance(mode, ast.Constant) and isinstance(mode.value, str))
    return called in WAYS_TO_READ or called.endswith((".read_text", ".read_bytes"))
