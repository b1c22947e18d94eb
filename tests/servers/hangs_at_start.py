"""Never answers anything, not even `initialize`; ends when its input does."""

import _wire

for _ in _wire.messages():
    pass
