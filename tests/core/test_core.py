"""Packages whose names are imported when they are first used."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

import gaia_mcp
from gaia_mcp.core import lazily

ROOT = Path(gaia_mcp.__file__).parent
LAZY = [path for path in sorted(ROOT.rglob("__init__.py")) if "= lazily(" in path.read_text()]


def module_of(path: Path) -> str:
    return ".".join(("gaia_mcp", *path.parent.relative_to(ROOT).parts))


def test_a_lazy_name_is_imported_on_first_use() -> None:
    """PEP 562: and its module is loaded then."""
    sys.modules.pop("colorsys", None)
    imported, _ = lazily("box", {"colorsys": ("rgb_to_hls",), "textwrap": ("dedent", "fill")})
    assert "colorsys" not in sys.modules

    import textwrap

    assert imported("fill") is textwrap.fill
    assert imported("rgb_to_hls") is sys.modules["colorsys"].rgb_to_hls
    with pytest.raises(AttributeError, match=r"^module 'box' has no attribute 'indent'$"):
        imported("indent")


def test_a_lazy_package_lists_its_names_before_their_first_use() -> None:
    """PEP 562: `help` and interactive shells ask for them."""
    _, listed = lazily("textwrap", {"colorsys": ("rgb_to_hls",)})

    assert {"rgb_to_hls", "dedent"} <= {*listed()}


def test_a_lazy_package_exports_the_names_that_type_checkers_see() -> None:
    """Ours: a name that only one of them knows cannot be used."""
    assert {"gaia_mcp", "gaia_mcp.core.errors", "gaia_mcp.handlers"} <= {*map(module_of, LAZY)}
    for path in LAZY:
        package = importlib.import_module(module_of(path))
        guarded = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)]
        seen = {
            alias.name: f"{node.module}"
            for block in guarded
            for node in ast.walk(block)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gaia_mcp")
            for alias in node.names
        }
        assert set(package.__all__) >= seen.keys(), path
        for name, module in seen.items():
            assert getattr(package, name) is getattr(importlib.import_module(module), name), (path, name)


def test_no_package_defines_its_own_getattr() -> None:
    """Ours: one way to be lazy."""
    texts = {path: path.read_text() for path in ROOT.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "__getattr__" in text}
    assert [
        path for path, tree in trees.items() if "__getattr__" in {getattr(node, "name", "") for node in tree.body}
    ] == []
