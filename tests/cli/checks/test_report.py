"""Reports as JUnit XML."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from gaia_mcp.cli.checks.report import FAIL, OK, WARN, Check, Report, junit_xml
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.core.errors import MCPError
from tests.cli.conftest import entry_of

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


def test_a_report_with_any_characters_is_well_formed_xml() -> None:
    """XML 1.0: it cannot carry control characters, surrogates, U+FFFE and U+FFFF."""
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    checks = [Check(text, outcome, 0.5, text, MCPError(text, hint=text)) for outcome in (OK, WARN, FAIL)]

    root = ElementTree.fromstring(junit_xml(CommandLine(), [Report(text, checks, [text], text)]))

    (suite,) = root
    name = suite.get("name")
    assert name is not None
    assert r"\x01" in name
    assert r"\ufffe\uffff" in name
    assert "\ufffd" in name
    assert all(element.text for element in suite.iter() if element.tag in ("failure", "system-out", "system-err"))


def test_a_server_with_any_name_has_a_report(gaia: Gaia) -> None:
    """Ours: a configuration may have been written by hand, and a server prints anything."""
    name = "a\x01\ufffe\ud800"
    gaia.write({name: entry_of("exits-at-once")})

    ran = gaia("test-client", "--all", "--junit", "report.xml")

    assert ran.code == 4
    (suite,) = ElementTree.parse(gaia.cwd / "report.xml").getroot()
    assert suite.get("name") == "a\\x01\\ufffe\ufffd"
    assert suite.get("failures") == "1"
