"""What names tell: whether the value of a variable, a header, an option or a member of this name is a secret."""

from __future__ import annotations

import re

# All patterns are compiled when they are used: a list of servers, as for TAB completion, needs few of them.
_NAMES_OF_SECRETS = (
    r"(?i)key|token|secret|passw|passphrase|passcode|pwd|auth|cred(?:s|ential)|cookie|session|bearer|jwt"
    r"|(?<![A-Za-z])(?:pass|pat|pin)(?![A-Za-z]|-through)"
)
# Each name of a secret has one of these. Most names have none, and need no pattern.
_PARTS = (
    "key", "token", "secret", "pass", "pwd", "auth", "cred", "cookie", "session", "bearer", "jwt", "pat", "pin",
)  # fmt: skip
# Names that only look like one of them.
_ORDINARY_WORDS = (
    r"(?i)key(?:board|word|map|note|frame|stroke|pad|space|cloak)|(?:mon|don|tur|hoc)key|author(?!i[sz])|tokeni[sz]"
)
# Names of facts about a secret, such as its file.
_NAMES_OF_FACTS = r"(?i)[-_.](?:file|path|dir|folder|type|mode|method|name|provider|url|uri|env|var)$"
_NAMES_OF_PASSWORDS = r"(?i)pass|pwd|secret|cred|(?<![A-Za-z])pin(?![A-Za-z])"
# This is as often the name of a choice, such as a desktop, as of a secret.
_VAGUE_NAMES = r"(?i)session"
# A longer word is not a name.
MAX_NAME_CHARS = 200


def looks_secret(name: str) -> bool:
    """Whether a variable, header or option of this name usually holds a secret."""
    name = name[:MAX_NAME_CHARS].lstrip("-")
    folded = name.lower()
    # The shortest words have three letters.
    if len(name) < 3 or not any(part in folded for part in _PARTS):
        return False
    if folded.startswith("no-") or re.search(_NAMES_OF_FACTS, name):
        return False
    return bool(re.search(_NAMES_OF_SECRETS, re.sub(_ORDINARY_WORDS, "", name)))


def looks_vague(name: str) -> bool:
    """Whether the name may also be that of a choice, so that only a value that is not a word is a secret."""
    return not re.search(_NAMES_OF_SECRETS, re.sub(_VAGUE_NAMES, "", re.sub(_ORDINARY_WORDS, "", name)))


def names_password(name: str) -> bool:
    """Whether it is the name of a secret that may consist of digits only."""
    return bool(re.search(_NAMES_OF_PASSWORDS, name))
