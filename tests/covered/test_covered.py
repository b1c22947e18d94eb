"""The proof that modules are covered: what it says of gaps, and that its table is about modules that exist."""

from __future__ import annotations

from tests.covered.__main__ import INCOMPLETE, PACKAGE, PACKAGES, own_tests, problems


def test_the_table_names_modules_that_exist() -> None:
    """Ours: it must not excuse what has gone."""
    assert [name for name in INCOMPLETE if not (PACKAGE / name).is_file()] == []
    assert {name.partition("/")[0] for name in INCOMPLETE} <= set(PACKAGES)


def test_a_module_has_the_test_file_of_its_name() -> None:
    """Ours: tests mirror the package."""
    assert own_tests(PACKAGE / "client" / "transports" / "base.py") == "tests/client/transports/test_base.py"


def test_a_gap_is_a_problem_unless_the_table_names_the_module() -> None:
    """Ours: and a module without a gap is a problem if the table does name it, for that table only shrinks."""
    found = {"server/agent.py": ["3", "4->5"]}

    assert problems("server", found, []) == ["server/agent.py: its own tests leave out 3, 4->5"]
    assert problems("server", found, ["server/agent.py", "client/tool.py"]) == []
    assert problems("server", {}, ["server/agent.py"]) == ["server/agent.py: is complete, so take it out of the table"]
