"""Whether a tool only reads, as far as its definition tells."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.toolspec.read_only import claims_to_only_read, only_reads


@pytest.mark.parametrize(
    ("annotations", "claims"),
    [({"readOnlyHint": True}, True), ({"readOnlyHint": False}, False), ({"readOnlyHint": "true"}, False),
     ({"readOnlyHint": 1}, False), ({"readOnlyHint": None}, False), ({}, False)],
)  # fmt: skip
def test_only_the_literal_hint_is_a_claim(annotations: dict[str, Any], claims: bool) -> None:
    """GAIA's documents: everything else is to be confirmed by a person."""
    assert claims_to_only_read(annotations) is claims


@pytest.mark.parametrize(
    ("name", "reads"),
    [("read_file", True), ("listAll", True), ("address-book", True), ("delete_file", False), ("deleteFile", False),
     ("file-write", False), ("PUTObject", False), ("settings", True), ("set_2", False)],
)  # fmt: skip
def test_a_name_with_a_writing_verb_contradicts_the_claim(name: str, reads: bool) -> None:
    """GAIA: a server's annotation is not to be trusted alone."""
    assert only_reads(name, {"readOnlyHint": True}) is reads
    assert only_reads(name, {}) is False


@pytest.mark.parametrize(
    "name",
    ["chmod", "chown", "mkdir", "sign_transaction", "alter_table", "clone_repository", "git_checkout", "overwriteAll",
     "DESTROYEverything", "exec.sql", "flush cache", "fork-repo", "unlinkFile", "invoke_lambda", "notify_desktop",
     "wait_for_condition", "replace_function", "sign_in_cli", "run_python", "update_gaia_md", "approve2", "\u212aill"],
)  # fmt: skip
def test_whatever_gaia_asks_about_is_asked_about(name: str) -> None:
    """GAIA 0.25: under its own `Agent`, what our mixin registers runs unasked no more than what its mixin does."""
    assert only_reads(name, {"readOnlyHint": True}) is False
