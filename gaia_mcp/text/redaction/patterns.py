"""What tells that a value is a secret: the name of its variable, header, option or member, and its look.

Also what tells that it is none.
"""

from __future__ import annotations

import re

# The prefixes by which well-known services mark their tokens.
PREFIXES = (
    "sk-", "sk_", "pk_", "rk_", "gsk_", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "hf_", "npm_", "ntn_",
    "r8_", "shpat_", "dop_v1_", "figd_", "lin_api_", "glpat-", "xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-",
    "xoxs-", "xapp-", "pplx-", "tvly-", "pypi-Ag", "AKIA", "ASIA", "AIza", "ya29.", "eyJ", "SG.",
)  # fmt: skip
TOKEN = rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, PREFIXES))})[-_A-Za-z0-9.]{{8,}}+"
# Secrets recognised by their look are not shorter; most arguments are, and TAB completion checks hundreds.
SHORTEST_CHARS = 11
# `Basic` must be followed by Base64: before another word it is an ordinary word.
CREDENTIALS = r"(?i)\b(?:bearer\s++(?P<bearer>[-\w.~+/=]{6,}+)|basic\s++(?P<basic>[a-z0-9+/_-]{8,}+={0,2}))"
PRIVATE_KEY = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----"
PRIVATE_KEY_END = r"-----END [A-Z0-9 ]{0,80}-----"
# After the scheme of an `Authorization` header, or a name, as in `token=${TOKEN}`; also `${USER}:${PASSWORD}`.
REFERENCE = r"(?i)(?:[a-z][a-z-]{0,11}(?:\s+|=))?\$\{[a-z_]\w*(?::-)?\}(?::\$\{[a-z_]\w*(?::-)?\})*+"
COUNT = r"-?\d{1,7}(?:\.\d+)?|true|false|null"

_RUN_CHARS = 16
_RUN = rf"[A-Za-z0-9]{{{_RUN_CHARS},}}+"
_PATH = r"(?:~|\.{1,2})?/|[A-Za-z]:[\\/]|~$"
_IN_A_PATH = r"[\w.,:;@ ~()\\/-]*+"
_BETWEEN_WORDS = r"[\s,;:/.@=_-]+"
_HUMPS = r"(?:[a-z]{2,15}|[A-Z][a-z]{2,15})(?:[A-Z][a-z]{2,15}){0,3}"
# Such as `4o` and `v1`; so short a password cannot be distinguished from a word.
_SHORT_CHARS = 4
_WORD_CHARS = 24
# The digits of an ordinary number, such as a date or an id; the numbers of cards and accounts are longer.
_DIGITS = 10


def tokens(text: str) -> list[tuple[int, int]]:
    """The places of such services' tokens in a text."""
    if not any(prefix in text for prefix in PREFIXES):
        # As for most texts: compiling the pattern would take longer than the rest of a TAB completion.
        return []
    return [match.span() for match in re.finditer(TOKEN, text)]


def is_random(run: str) -> bool:
    """Whether a long run of letters and digits is not a word but a key, in hexadecimal digits or mixed case."""
    digits = sum(map(str.isdigit, run))
    if digits < 3 or digits == len(run):
        return False
    is_mixed = run.lower() != run and run.upper() != run
    return is_mixed or (len(run) >= 32 and bool(re.fullmatch(r"[0-9a-fA-F]+|[a-z0-9]+|[A-Z0-9]+", run)))


def random_runs(text: str) -> list[tuple[int, int]]:
    """The places of long runs of letters and digits that are not words."""
    if len(text) < _RUN_CHARS:
        return []
    found = (match.span() for match in re.finditer(_RUN, text) if is_random(match[0]))
    # After these comes the digest of an image, or a commit id.
    return [
        (begin, end)
        for begin, end in found
        if text[begin - 1 : begin] not in ("@", ":") or not _is_digest(text[begin:end])
    ]


def _is_digest(run: str) -> bool:
    return len(run) in (40, 64) and bool(re.fullmatch("[0-9a-f]+", run))


def is_reference(value: str) -> bool:
    """Whether it is a reference to a variable without a default (which could be a secret)."""
    return bool(re.fullmatch(REFERENCE, value))


def is_count(value: str) -> bool:
    """Whether it is a number of few digits, or a JSON word."""
    return bool(re.fullmatch(COUNT, value))


def is_path(value: str) -> bool:
    """Whether it looks like the path of a file or folder, or several paths."""
    return bool(re.match(_PATH, value) and re.fullmatch(_IN_A_PATH, value)) and not random_runs(value)


def is_ordinary(value: str) -> bool:
    """Whether it consists of words and numbers, or is a path: not a secret at a glance."""
    if is_path(value):
        return True
    return all(map(_is_word, filter(None, re.split(_BETWEEN_WORDS, value))))


def is_choice(value: str) -> bool:
    """Whether it is one of those words or paths, such as the name of a desktop."""
    return not re.search(r"[\s\"'{}\[\]]", value) and is_ordinary(value)


def _is_word(part: str) -> bool:
    if part.isdigit():
        return len(part) <= _DIGITS
    if len(part) <= _SHORT_CHARS:
        return True
    is_in_one_case = part.islower() or part.isupper() or part.istitle()
    return part.isalpha() and ((is_in_one_case and len(part) <= _WORD_CHARS) or bool(re.fullmatch(_HUMPS, part)))


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
