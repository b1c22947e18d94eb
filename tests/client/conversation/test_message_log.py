from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.conversation.message_log import MAX_LOGGED_CHARS, MessageLog
from gaia_mcp.client.transports.memory import MemoryChannel
from gaia_mcp.redaction.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def log() -> Iterator[MessageLog]:
    """A log of a server that was given a secret; the level of the package's logger is put back."""
    logger = logging.getLogger("gaia_mcp")
    level = logger.level
    yield MessageLog(MemoryChannel("files", lambda _: None, Masker(["hunter-2-hunter"])))
    logger.setLevel(level)


def test_messages_are_logged_at_debug_level(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """GAIA's documents, Debug Mode: requests and responses, as they are sent."""
    log.sent({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    log.received(b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n')
    log.received({"jsonrpc": "2.0", "id": 2, "result": {}})

    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.DEBUG, 'MCP server \'files\' -> {"jsonrpc": "2.0", "id": 1, "method": "ping"}'),
        (logging.DEBUG, 'MCP server \'files\' <- {"jsonrpc": "2.0", "id": 1, "result": {}}'),
        (logging.DEBUG, 'MCP server \'files\' <- {"jsonrpc": "2.0", "id": 2, "result": {}}'),
    ]


def test_no_secret_is_logged(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the secrets of the entry are masked, also in what the server sends."""
    log.sent({"params": {"key": "hunter-2-hunter"}})
    log.received(b'{"result": "your key is hunter-2-hunter"}')

    assert len(caplog.records) == 2
    assert "hunter" not in caplog.text


def test_a_message_of_any_size_and_kind_is_logged(log: MessageLog, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the log must not fail where the message does, nor hold megabytes."""
    endless: list[object] = []
    endless.append(endless)
    log.sent({"params": set})
    log.sent(endless)
    log.received(b"\xff" * (MAX_LOGGED_CHARS + 1))

    assert "class 'set'" in caplog.messages[0]
    assert "cannot be written as JSON" in caplog.messages[1]
    assert caplog.messages[2].endswith(f"… ({MAX_LOGGED_CHARS + 1} characters)")
