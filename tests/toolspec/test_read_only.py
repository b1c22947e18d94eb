"""Whether a tool only reads, as far as its definition tells."""

from __future__ import annotations

from gaia_mcp.toolspec.read_only import claims_to_only_read, only_reads


def test_only_a_hint_of_true_claims_read_only() -> None:
    """GAIA's documents: everything else is to be confirmed by a person."""
    cases = [
        ({"readOnlyHint": True}, True),
        ({"readOnlyHint": False}, False),
        ({"readOnlyHint": "true"}, False),
        ({"readOnlyHint": 1}, False),
        ({"readOnlyHint": None}, False),
        ({}, False),
    ]

    wrong = [
        (annotations, found)
        for annotations, claims in cases
        if (found := claims_to_only_read(annotations)) is not claims
    ]

    assert not wrong


def test_a_name_with_a_writing_verb_contradicts_the_claim() -> None:
    """GAIA: a server's annotation is not to be trusted alone."""
    cases = [
        ("read_file", True),
        ("listAll", True),
        ("address-book", True),
        ("delete_file", False),
        ("deleteFile", False),
        ("file-write", False),
        ("PUTObject", False),
        ("settings", True),
        ("set_2", False),
    ]

    wrong = [
        (name, reads)
        for name, reads in cases
        if not (only_reads(name, {"readOnlyHint": True}) is reads and only_reads(name, {}) is False)
    ]

    assert not wrong


def test_every_name_that_gaia_confirms_is_confirmed() -> None:
    """GAIA 0.25: under its own `Agent`, what our mixin registers runs unasked no more than what its mixin does."""
    cases = [
        "chmod",
        "chown",
        "mkdir",
        "sign_transaction",
        "alter_table",
        "clone_repository",
        "git_checkout",
        "overwriteAll",
        "DESTROYEverything",
        "exec.sql",
        "flush cache",
        "fork-repo",
        "unlinkFile",
        "invoke_lambda",
        "notify_desktop",
        "wait_for_condition",
        "replace_function",
        "sign_in_cli",
        "run_python",
        "update_gaia_md",
        "approve2",
        "\u212aill",
    ]

    wrong = [name for name in cases if only_reads(name, {"readOnlyHint": True}) is not False]

    assert not wrong
