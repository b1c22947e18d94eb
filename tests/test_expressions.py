"""Regular expressions: none takes quadratic time, or worse, on a text that was made to take long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from gaia_mcp.toolspec.describe import score, search_words
from gaia_mcp.toolspec.tool_filter import is_match
from tests.expressions import attacks, grows_too_fast
from tests.test_floors import sources

# In the text of each module that calls a function of `re`; a tuple of expressions is made by such calls too.
USES_RE = re.compile(r"\bre\.")
# What looks at every place of a text.
EVERYWHERE = {"search", "sub", "subn", "split", "findall", "finditer"}
# Expressions that are made while the program runs, and what tests them.
MADE = {
    ("text.redaction.masker", "self._write()"): "the forms of the secrets that are known, escaped",
    ("storage", "names"): "a name of ours, escaped, and letters",
    ("toolspec.poisoning", "pattern.replace(' ', '\\\\s+')"): "in a tuple of the module, which is tested",
    ("cli.checks.cases", "pattern"): "the person's own expression, in a file of cases",
    ("checking", "expression"): "the person's own expression, for the answer of a case; apart, if it may take long",
    ("checking.process", "question['expression']"): "in a process that is stopped in time",
    ("toolspec.describe", "fnmatch.translate(text)"): "test_a_glob_is_matched_in_one_pass",
    ("toolspec.describe", "f'(?<![^\\\\W_]){re.escape(text)}(?![^\\\\W_])'"): "words alone, without repetition",
}
# Quadratic all the same. An entry goes when its expression is mended: a test fails until then.
KNOWN = {
    "cli.completion.installing": "the person's own start file, for each beginning of ours without an end",
    "fleet.server_process": "the last lines of a server's stderr, which are few",
    "text.redaction": "a port is looked for behind a host alone, not at every place as here",
    "text.redaction.masker": "white space around the lines of one secret",
}


class Expression(NamedTuple):
    """A regular expression of the package: where it stands, how it is written, and how it is used."""

    module: str
    source: str
    compiled: re.Pattern[Any]
    used: frozenset[str]


@cache
def expressions() -> tuple[list[Expression], list[tuple[str, str]]]:
    """Every expression in the source, and those that are not known before the program runs."""
    found: list[Expression] = []
    unknown = []
    for name, text in sources().items():
        if not USES_RE.search(text):
            continue
        tree = ast.parse(text, name)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        scope = vars(import_module(f"gaia_mcp.{name}".rstrip(".")))
        for held_as, held in scope.items():
            if isinstance(held, tuple) and held and all(isinstance(one, re.Pattern) for one in held):
                found += [Expression(name, f"{held_as}: {one.pattern}", one, frozenset({"search"})) for one in held]
        for node in calls:
            asked = node.func.attr  # type: ignore[attr-defined]
            if ast.unparse(node.func) != f"re.{asked}" or asked == "escape":
                continue
            source = ast.unparse(node.args[0])
            try:
                pattern = eval(source, {"re": re, **scope})
                compiled = re.compile(pattern, eval(_flags(node, asked), {"re": re, **scope}))
            except NameError:
                unknown.append((name, source))
                continue
            used = {asked} if asked != "compile" else _uses(calls, compiled, scope)
            found.append(Expression(name, source, compiled, frozenset(used)))
    return found, unknown


def _flags(node: ast.Call, asked: str) -> str:
    """The flags of a call, as they are written."""
    named = [word.value for word in node.keywords if word.arg == "flags"]
    last = {"compile": 1, "sub": 4, "split": 3}.get(asked, 2)
    return ast.unparse([*named, *node.args[last : last + 1], ast.Constant(0)][0])


def _uses(calls: list[ast.Call], compiled: re.Pattern[Any], scope: dict[str, Any]) -> set[str]:
    """What a module asks of an expression that has a name there; the most where that is not to be seen."""
    names = {name for name, held in scope.items() if isinstance(held, re.Pattern) and held == compiled}
    functions = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    return {function.attr for function in functions if ast.unparse(function.value) in names} or {"search"}


def slowness(expression: Expression) -> Iterator[str]:
    """The texts that take an expression much longer than others, each with how much."""
    compiled, is_bytes = expression.compiled, isinstance(expression.compiled.pattern, bytes)
    pattern = compiled.pattern.decode("latin-1") if is_bytes else compiled.pattern
    for attack in attacks(pattern, compiled.flags & ~re.UNICODE if is_bytes else compiled.flags):

        def work(size: int, attack: Any = attack) -> None:
            text = attack(size).encode("latin-1", "replace") if is_bytes else attack(size)
            if expression.used & EVERYWHERE:
                for _ in compiled.finditer(text):
                    pass
            elif "fullmatch" in expression.used:
                compiled.fullmatch(text)
            else:
                compiled.match(text)

        if found := grows_too_fast(work):
            yield f"{attack(40)!r}: {found}"


def test_an_expression_made_at_run_time_is_in_the_table() -> None:
    """Ours: an expression that is made while the program runs cannot be tested here, so the table names its test."""
    assert sorted(expressions()[1]) == sorted(MADE)


def test_no_expression_takes_quadratic_time() -> None:
    """Ours: for four times the text, about four times as long. The texts are made of the expression itself."""
    tested = [one for one in expressions()[0] if one.module not in KNOWN]
    slow = [(one.module, one.source, found) for one in tested if (found := next(slowness(one), ""))]

    assert not slow


def test_every_exception_of_the_table_is_still_slow() -> None:
    """Ours: else its entry is to go."""
    fast = [
        module
        for module in KNOWN
        if not any(next(slowness(one), "") for one in expressions()[0] if one.module == module)
    ]

    assert not fast


def test_an_expression_that_backtracks_is_detected() -> None:
    """Ours: a test that cannot fail proves nothing."""
    slow = [r"(a+)+$", r"\s*:", r"(a|aa)*b", r"x[^}]*\}", r"(?:a?){20}a{20}", r'"(?:\\.|[^"])*"']
    unnoticed = [
        pattern
        for pattern in slow
        if not next(slowness(Expression("", pattern, re.compile(pattern), frozenset({"search"}))), "")
    ]

    assert not unnoticed


def test_a_bounded_repetition_is_not_quadratic_time() -> None:
    """Ours: a text within the bound takes quadratic time, which says nothing of longer ones."""

    def work(size: int) -> None:
        for at in range(size):
            for _ in range(min(size - at, 1000)):
                pass

    assert grows_too_fast(work) == ""


def test_a_glob_is_matched_in_one_pass() -> None:
    """Ours: of a search, and of an entry's tools. The name of a tool is its server's."""
    for stars in (1, 5, 40):
        glob = "*a" * stars + "*b"
        (word,) = search_words([glob])

        assert grows_too_fast(lambda size, glob=glob: is_match("a" * size, glob)) == "", glob
        assert grows_too_fast(lambda size, word=word: score({"name": "a" * size}, [word])) == "", glob
