from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.agents import built_in, load_agent, source_folder, watch
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.core.errors import AgentError
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Write = Callable[..., str]

METHODS = """
    def get_mcp_tool_definitions(self): return [{"name": "t"}]
    def execute_mcp_tool(self, name, arguments): return name
"""
AGENT = f"class Agent:{METHODS}"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a Python file into a working folder of its own; what was imported from there is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def write_file(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    yield write_file
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def _problem(target: str, keywords: dict[str, object] | None = None) -> AgentError:
    with pytest.raises(AgentError) as caught:
        load_agent(target, keywords)
    assert caught.value.target == target
    return caught.value


# Places.


def test_a_built_in_agent_is_loaded_by_name() -> None:
    """Ours: `gaia mcp serve demo` needs no module."""
    assert isinstance(load_agent("demo"), DemoAgent)
    assert set(built_in()) == {"agents", "code-runner", "demo", "filesystem"}


def test_a_built_in_agent_is_not_searched_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: nothing that lies there is imported because a built-in agent is served there."""
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)

    load_agent("demo")

    assert sys.path == before


def test_a_class_in_an_installed_module_is_found() -> None:
    """Ours: `package.module:Class`."""
    assert isinstance(load_agent("gaia_mcp.agents.demo:DemoAgent"), DemoAgent)


def test_a_module_in_the_working_folder_is_found(write: Write) -> None:
    """Ours: as `python -m` finds it; a module of one letter is no drive."""
    write("a.py", AGENT)
    write("pack/__init__.py", "")
    write("pack/inner.py", AGENT)

    assert type(load_agent("a:Agent")).__name__ == "Agent"
    assert type(load_agent("pack.inner:Agent")).__name__ == "Agent"
    assert type(load_agent("a:Agent")).__name__ == "Agent"


def test_a_class_in_a_file_is_found(write: Write, tmp_path: Path) -> None:
    """Ours: `path/to/file.py:Class`, relative or absolute."""
    write("sub/my-agent.py", AGENT)

    assert type(load_agent("sub/my-agent.py:Agent")).__name__ == "Agent"
    assert type(load_agent(f"{tmp_path}/sub/my-agent.py:Agent")).__name__ == "Agent"


def test_a_file_with_one_agent_needs_no_class_name(write: Write) -> None:
    """Ours: abstract ones, imported ones and classes of another kind do not count."""
    write(
        "alone.py",
        "from gaia_mcp.agents.base import MCPAgent\n"
        "from gaia_mcp.agents.demo import DemoAgent\n"
        "class Base(MCPAgent): pass\n"
        "class Other: pass\n" + AGENT,
    )

    assert type(load_agent("alone.py")).__name__ == "Agent"
    assert type(load_agent("alone:")).__name__ == "Agent"


def test_a_file_can_import_its_neighbours(write: Write) -> None:
    """Ours: as if it were run by itself."""
    write("sub/neighbour.py", "WORD = 'near'\n")
    write("sub/near.py", "from neighbour import WORD\n" + AGENT + "    word = WORD\n")

    assert load_agent("sub/near.py:Agent").word == "near"


def test_an_agent_file_named_like_another_module_does_not_hide_it(write: Write) -> None:
    """Ours: it is imported under a name of its own."""
    import json

    write("json.py", AGENT)

    assert type(load_agent("json.py:Agent")).__module__ == "_file_json"
    assert sys.modules["json"] is json


def test_an_instance_is_served_unchanged(write: Write) -> None:
    """Ours: an instance needs no making, and may lie deep inside."""
    write("made.py", AGENT + "    inner = None\nagent = Agent()\nclass Space:\n    deep = Agent()\n")

    assert load_agent("made.py:agent") is sys.modules["made"].agent
    assert load_agent("made.py:Space.deep") is not None
    assert "keyword arguments" in str(_problem("made.py:agent", {"a": 1}))


def test_a_function_may_create_the_agent(write: Write) -> None:
    """Ours: whatever can be called."""
    write("factory.py", AGENT + "def make(size=1):\n    agent = Agent()\n    agent.size = size\n    return agent\n")

    assert load_agent("factory.py:make").size == 1
    assert load_agent("factory.py:make", {"size": 3}).size == 3


# Failures on the way.


@pytest.mark.usefixtures("write")
def test_an_unknown_target_is_reported_with_the_step_that_failed() -> None:
    """Ours: the author corrects that part of the target."""
    cases = [
        ("dmeo", "neither a built-in"),
        ("", "neither a built-in"),
        ("no/such.py:Agent", "no file"),
        ("no_such_module_here:Agent", "ModuleNotFoundError"),
        (":Agent", "cannot be imported"),
        ("gaia_mcp.agents.demo:DemoAgnet", "no 'DemoAgnet'"),
        ("gaia_mcp.agents.demo:DemoAgent.nope", "no 'nope'"),
        ("gaia_mcp.agents.demo:LANGUAGES", "is a tuple, not a class"),
        ("json:dumps", "cannot be created"),
        ("collections:OrderedDict", "has no get_mcp_tool_definitions() and no execute_mcp_tool()"),
        ("C:\\nowhere.py", "no file"),
        ("C:/nowhere.py:Agent", "no file"),
        ("C:\\nowhere", "neither a built-in"),
    ]

    problems = {target: str(_problem(target)) for target, _ in cases}
    assert {target: problems[target] for target, words in cases if words not in problems[target]} == {}


@pytest.mark.parametrize(
    ("target", "hint"),
    [("dmeo", "'demo'"), ("gaia_mcp.agents.demo:DemoAgnet", "'DemoAgent'"), ("zzz", "package.module")],
)
def test_a_misspelt_target_gets_a_suggestion(target: str, hint: str) -> None:
    """Ours: most unknown targets are typing errors."""
    assert hint in _problem(target).hint


def test_a_failed_import_is_an_agent_error_and_leaves_no_module(write: Write) -> None:
    """Ours: whatever its code does at import; a second try starts anew."""
    cases = [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("raise ValueError", "ValueError"),
        ("def broken(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("import no_such_module_here", "ModuleNotFoundError"),
    ]

    wrong = []
    for text, words in cases:
        write("half.py", text)
        problem = _problem("half.py:Agent")
        is_told = "cannot be imported" in str(problem) and words in str(problem)
        if not is_told or problem.__cause__ is None or "half" in sys.modules:
            wrong.append((text, problem))

    assert not wrong


def test_a_module_that_cannot_be_imported_is_an_agent_error(write: Write) -> None:
    """Ours: by its name as by its file."""
    write("halfway.py", "raise SystemExit")

    assert "SystemExit" in str(_problem("halfway:Agent"))


def test_a_failure_of_an_agents_own_code_names_the_line(write: Write) -> None:
    """Ours: its own, however deep in a library it ended; a traceback is not needed to find it."""
    cases = [
        ("import json\n\njson.loads('{')", ", at half.py:3"),
        ("import inner", ", at inner.py:2"),
        ("class Agent:\n    def __init__(self):\n        raise KeyError('HOME')", "KeyError: 'HOME', at half.py:3"),
        ("def broken(:", "(half.py, line 1)"),
        ("class Agent:\n    def __init__(self, needed): pass", "'needed'"),
    ]
    write("inner.py", "\nraise OSError('no database')")

    wrong = []
    for text, words in cases:
        write("half.py", text)
        try:
            problem = str(_problem("half.py:Agent")).replace(f"{Path.cwd()}/", "")
        finally:
            sys.modules.pop("inner", None)
        if not problem.endswith(words):
            wrong.append((text, problem))

    assert not wrong


def test_only_agents_are_suggested_for_a_wrong_name(write: Write) -> None:
    """Ours: a class beside them may have a closer name, and could not be served."""
    agent = "def get_mcp_tool_definitions(self): return []\n    def execute_mcp_tool(self, name, arguments): pass"
    write("named.py", f"class Note: pass\nclass Notes:\n    {agent}\n")
    write("made.py", "from json import loads\ndef make_agent(): pass\n")

    assert _problem("named.py:Noe").hint == "did you mean 'Notes'?"
    assert _problem("named.py:Zzz").hint == "it has: Notes"
    assert _problem("made.py:make_agnt").hint == "did you mean 'make_agent'?"


def test_a_file_without_exactly_one_agent_requires_a_class_name(write: Write) -> None:
    """Ours: the hint is what to type."""
    write("none.py", "x = 1\n")
    write("two.py", AGENT + f"class Second:{METHODS}")

    assert "contains no agent class" in str(_problem("none.py"))
    several = _problem("two.py")
    assert "Agent, Second" in str(several)
    assert several.hint == "name one: two.py:Agent"
    assert _problem("two.py:").hint == "name one: two.py:Agent"


def test_a_missing_method_is_named(write: Write) -> None:
    """Ours: the author of an agent without a base class learns what is expected."""
    write("lacking.py", "class Agent:\n    def execute_mcp_tool(self, name, arguments): pass\n")

    assert str(_problem("lacking.py:Agent")).endswith("has no get_mcp_tool_definitions()")


def test_the_missing_methods_of_an_abstract_class_are_named(write: Write) -> None:
    """Ours: no argument would help."""
    write("unfinished.py", "from gaia_mcp.agents.base import MCPAgent\nclass Agent(MCPAgent): pass\n")

    problem = _problem("unfinished.py:Agent")

    assert str(problem).endswith("has no execute_mcp_tool() and no get_mcp_tool_definitions()")
    assert problem.case == "agent-incomplete"


MARKED = "from gaia_mcp import MCPAgent, tool\nclass Notes{base}:\n    @tool\n    def add(self) -> int: return 1\n"


def test_the_only_agent_of_a_file_may_have_marked_methods(write: Write) -> None:
    """Ours: they are all that it needs."""
    write("marked.py", MARKED.format(base="(MCPAgent)"))

    assert load_agent("marked.py").execute_mcp_tool("add", {}) == 1


def test_a_prompt_or_a_resource_is_enough_for_an_agent(write: Write) -> None:
    """Ours: MCP asks no server for tools."""
    for name, mark in (("prompt", "@prompt"), ("resource", "@resource('a://b')")):
        write(f"a_{name}.py", MARKED.format(base="(MCPAgent)").replace("@tool", mark).replace("tool", name))

        assert load_agent(f"a_{name}.py").get_mcp_tool_definitions() == []


def test_marked_methods_without_the_base_class_are_an_error(write: Write) -> None:
    """Ours: the mistake that is easily made."""
    write("bare.py", MARKED.format(base=""))

    for target in ("bare.py", "bare.py:Notes"):
        problem = _problem(target)
        assert str(problem).endswith("has marked methods, such as with @tool, but is not derived from MCPAgent")
        assert problem.hint == "derive it from gaia_mcp.MCPAgent: class Notes(MCPAgent)"


def test_an_incomplete_agent_is_reported_if_it_is_the_only_class(write: Write) -> None:
    """Ours: it was meant as one."""
    write("empty.py", "from gaia_mcp import MCPAgent\nclass Notes(MCPAgent): pass\n")

    assert _problem("empty.py").case == "agent-incomplete"


# Making.


def test_an_agent_is_created_with_the_quiet_keywords_it_accepts(write: Write) -> None:
    """GAIA's agents: both keywords, then `silent_mode`, then none."""
    cases = [
        ("self, silent_mode=False, skip_lemonade=False", {"silent_mode": True, "skip_lemonade": True}),
        ("self, **given", {"silent_mode": True, "skip_lemonade": True}),
        ("self, silent_mode=False", {"silent_mode": True}),
        ("self, skip_lemonade=False", {"skip_lemonade": False}),
        ("self", {}),
    ]

    def keywords(head: str) -> object:
        write(
            "quiet.py",
            AGENT + f"    def __init__({head}):\n"
            "        found = dict(locals())\n"
            "        found.pop('self')\n"
            "        self.given = found.get('given', found)\n",
        )
        return load_agent("quiet.py:Agent").given

    assert {head: keywords(head) for head, _ in cases} == dict(cases)


@pytest.mark.parametrize(
    "text",
    [
        AGENT,
        "class Base:\n    def __init__(self, **given): super().__init__(**given)\n"
        + AGENT.replace("class Agent", "class Agent(Base)"),
        "class Base:\n    def __init__(self, name='x'): pass\n"
        + AGENT.replace("class Agent", "class Agent(Base)")
        + "    def __init__(self, **given): super().__init__(**given)\n",
    ],
)
def test_a_class_without_the_quiet_keywords_is_created_without_them(write: Write, text: str) -> None:
    """Ours: also when it passes them up to a class that refuses them."""
    write("knows.py", text)

    assert type(load_agent("knows.py:Agent")).__name__ == "Agent"


def test_given_keyword_arguments_override_the_defaults(write: Write) -> None:
    """Ours: `--kwarg`."""
    write("taking.py", AGENT + "    def __init__(self, silent_mode, size): self.given = (silent_mode, size)\n")

    assert load_agent("taking.py:Agent", {"size": 3}).given == (True, 3)
    assert load_agent("taking.py:Agent", {"size": 3, "silent_mode": False}).given == (False, 3)


@pytest.mark.parametrize("keywords", [{}, {"nope": 1}])
def test_invalid_keyword_arguments_are_reported(write: Write, keywords: dict[str, object]) -> None:
    """Ours: the last attempt's reason."""
    write("strict.py", AGENT + "    def __init__(self, size): pass\n")

    problem = _problem("strict.py:Agent", keywords)

    assert "cannot be created: TypeError" in str(problem)
    assert problem.case == "agent-arguments"


def test_a_type_error_inside_the_agent_is_reported_without_a_retry(write: Write) -> None:
    """Ours: it is a bug of the agent's, which another attempt would only hide."""
    write(
        "buggy.py",
        "made = []\n" + AGENT + "    def __init__(self, silent_mode=False):\n"
        "        made.append(silent_mode)\n"
        "        if silent_mode: len(7)\n",
    )

    assert "object of type 'int' has no len()" in str(_problem("buggy.py:Agent"))
    assert sys.modules["buggy"].made == [True]


@pytest.mark.parametrize("text", ["raise RuntimeError('no model')", "raise SystemExit('no model')"])
def test_a_failed_constructor_is_an_agent_error(write: Write, text: str) -> None:
    """Ours: the reason is the agent's own, such as a missing model."""
    write("refusing.py", AGENT + f"    def __init__(self): {text}\n")

    assert "cannot be created" in str(_problem("refusing.py:Agent"))
    assert "no model" in str(_problem("refusing.py:Agent"))


def test_a_configuration_file_that_the_agent_rejects_is_named(write: Write) -> None:
    """Ours: the file is what the user corrects."""
    imports = "from pathlib import Path\nfrom gaia_mcp.core.errors import ConfigFileError\n"
    write("configured.py", f"{imports}{AGENT}    def __init__(self): raise ConfigFileError(Path('x'), 'is empty')\n")

    problem = _problem("configured.py:Agent")

    assert str(problem).endswith("cannot be configured: x: is empty")
    assert problem.hint == "correct the file"


# Reading anew.


def test_an_agent_is_reloaded_whenever_a_file_changes(tmp_path: Path) -> None:
    """Ours: a version that cannot be loaded is reported, whatever its code raises, and the next one is loaded."""
    (tmp_path / "deleted.py").symlink_to("nowhere")
    failures: Iterator[BaseException | None] = iter([None, AgentError("x", "is broken"), SystemExit("leaves"), None])
    changes = iter(["", "a = 1", "a = 22", "", "a = 333", "a = 4444"])
    happened: list[str] = []
    ended = threading.Event()

    def reload() -> None:
        if (failure := next(failures)) is not None:
            raise failure
        happened.append("reloaded")

    def pause(seconds: float) -> bool:
        if (text := next(changes, None)) is None:
            ended.set()
        elif text:
            (tmp_path / "agent.py").write_text(text)
        return text is None

    watch(tmp_path, reload, lambda error: happened.append(error.message), pause)

    assert ended.wait(PATIENCE_SECONDS)
    broken, leaves = "agent 'x' is broken", "the changed agent cannot be served: SystemExit: leaves"
    assert happened == ["reloaded", broken, leaves, "reloaded"]


def test_the_source_folder_is_found_without_an_import(write: Write, tmp_path: Path) -> None:
    """Ours: for watching; nothing is imported to find it."""
    write("sub/watched.py", "raise RuntimeError('imported')\n")
    write("watched_pack/__init__.py", "")
    write("watched_pack/inner.py", "raise RuntimeError('imported')\n")
    sys.path.insert(0, str(tmp_path))

    assert source_folder("demo") is None
    assert source_folder("sub/watched.py:Agent") == tmp_path / "sub"
    assert source_folder("sub/watched.py") == tmp_path / "sub"
    assert source_folder("watched_pack.inner:Agent") == tmp_path / "watched_pack"
    assert source_folder("no_such_module_here:Agent") is None
