"""Signs of tool poisoning: instructions to the model in a definition, hidden characters, names that look like others.

A model reads all of a definition; a person sees little of it. There are few rules, so that a finding means something:
the servers of the MCP project pass all of them. Finding nothing proves nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from gaia_mcp.text import cut, escape

ORDERS, FAR, CONTROL, DIRECTION, HIDDEN, LONG = (
    "tries to instruct a model",
    "pushes text out of sight",
    "contains control characters",
    "changes the direction of text",
    "contains invisible characters",
    "is too long to be checked to its end",
)
# As many empty lines as a screen has, or blanks in a row as no layout has.
FAR_LINES, FAR_CHARS = 25, 200
# The lengths of the text shown around a finding, and of the finding.
CONTEXT_CHARS, SHOWN_CHARS = 20, 100
# Definitions are a few levels deep; below this level they are not read.
MAX_DEPTH = 64
# Longer than usual descriptions and definitions; reading more would take noticeable time.
MAX_TEXT_CHARS, MAX_DEFINITION_CHARS = 100_000, 300_000
# The length of a key in a path.
KEY_CHARS = 40

_PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_PERSON = r"(?:the |your |any )?(?:user|human|person|customer)s?\b"
_TOLD = r"(?:instruction|prompt|rule|message|guideline|direction|context|command)s?\b"
_FETCH = r"\b(?:read|open|cat|load|fetch|send|access|call|run|execute|pass|include|attach|upload|copy)\b[^.]{0,60}"
_PRIVATE_FILE = (
    r"(?:~/\.(?:ssh|aws|gnupg|cursor|kube|netrc|claude)|\bid_(?:rsa|ed25519)\b|\.ssh/|/etc/(?:passwd|shadow)"
    r"|\.\./\S{0,60}(?:secret|private|passw|cred))"
)
# A demand on the model; without one the same sentence is harmless.
_WANTED = r"\b(?:tools?|must|requires?|all|always|never)\b"
# A space stands for any white space.
_ORDERS = tuple(
    re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE)
    for pattern in (
        # A tag that stands out for a model, or marks that only chat templates have.
        r"</?(?:important|critical|hidden)\b[^<>]{0,40}>",
        r"</(?:system|secret|instructions?|assistant)>",
        r"<\|\w{1,30}\|>|\[/?INST\]",
        # Overriding earlier instructions.
        (
            r"\b(?:ignore|disregard|forget|override|bypass)(?: (?:all|any|every|the|your|of|these|those|other)){0,3} "
            rf"(?:previous|prior|earlier|above|preceding|existing|system)(?: \w{{1,20}})? {_TOLD}"
        ),
        # Hiding something from the user.
        (
            r"\b(?:do not|don[’']t|never|must not|need not|without)(?: ever)?(?: (?:need|have) to)? "
            r"(?:tell|inform|notify|alert|warn|mention|reveal|disclose)(?:ing)?"
            rf"(?: (?:this|that|it|these|any(?:thing)?|about)){{0,2}}(?: of this)?(?: to)? {_PERSON}"
        ),
        (
            r"(?:\bnot|\bnever|n[’']t)(?: \w{1,20})?(?: to)? be(?: \w{1,20})? "
            rf"(?:displayed|shown|revealed|disclosed|exposed|presented|mentioned) to {_PERSON}"
        ),
        (
            r"\b(?:do not|don[’']t|never|must not|should not) (?:show|display|present|expose|reveal|disclose)"
            rf"(?: \w{{1,20}}){{0,3}} to {_PERSON}"
        ),
        rf"\b(?:hidden|concealed) from {_PERSON}|\binvisible to {_PERSON}",
        rf"\b(?:hide|conceal|keep)(?: \w{{1,20}}){{1,3}} from {_PERSON}",
        rf"\b(?:do not|don[’']t|never|must not) let {_PERSON} (?:know|see|notice|find out)\b",
        rf"\bwithout {_PERSON}(?:(?:[’']s)? (?:knowledge|awareness)| (?:knowing|noticing))\b",
        # An action before other tools are used, or whenever the tool is available.
        (
            r"\bbefore (?:using|calling|invoking|running) (?:this|the)(?: \w{1,40})? tools?\b"
            r"[^.]{0,60}\b(?:read|cat|send|pass|include|attach|upload|copy)\b"
        ),
        rf"\bbefore (?:using|calling|invoking|running) (?:any|other)(?: other)? tools?\b[^.]{{0,60}}{_FETCH}",
        (
            r"\b(?:when|whenever|if|once|while|as long as) this (?:tool|server) is "
            rf"(?:available|present|installed|loaded|enabled|connected),[^.]{{0,60}}{_WANTED}"
        ),
        # Private files and prompts.
        f"{_FETCH}{_PRIVATE_FILE}",
        (
            r"\b(?:reveal|print|show|repeat|output|send|include|pass|leak)(?: \w{1,20})? your(?: \w{1,20})? "
            r"(?:system prompt|instructions|conversation history|chat history)\b"
        ),
    )
)
_BLANKS = re.compile(rf"\s{{{FAR_LINES},}}")

_DIRECTION = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Marks without visible form that are used in right-to-left text.
_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")
_INVISIBLE = frozenset(
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200d\u2028\u2029\u2060\u2061\u2062\u2063\u2064\u2065"
    "\u206a\u206b\u206c\u206d\u206e\u206f\u2800\u3164\ufeff\uffa0\ufff9\ufffa\ufffb"
    "\U0001bca0\U0001bca1\U0001bca2\U0001bca3"
) | {chr(code) for code in range(0x1D173, 0x1D17B)}
_FLAG, _TAG_END = "\U0001f3f4", "\U000e007f"
UNUSUAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# Scripts with letters that look like Latin ones.
_ALIKE = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})


class Suspicion(NamedTuple):
    """A finding: its path (`inputSchema.properties.city.description`), its type, and the text, made visible."""

    where: str
    what: str
    shown: str

    def __str__(self) -> str:
        return f"{self.where} {self.what}: {self.shown}"


def suspicions(definition: dict[str, Any]) -> list[Suspicion]:
    """The findings in a tool's definition, one of each type for each text."""
    found: list[Suspicion] = []
    left = MAX_DEFINITION_CHARS
    texts = (text for part in _PARTS if part in definition for text in _texts(definition[part], part, 0))
    for where, text in texts:
        read = text[: min(left, MAX_TEXT_CHARS)]
        found += _in_text(where, read)
        left -= len(read)
        if len(read) < len(text):
            found.append(Suspicion(where, LONG, f"{len(text)} characters"))
            if left <= 0:
                break
    return found


def looks_like_another(name: str) -> bool:
    """Whether a name has lookalike letters: of two scripts, or in a styled form."""
    composed = unicodedata.normalize("NFC", name)
    if unicodedata.normalize("NFKC", name) != composed:
        return True
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in composed if letter.isalpha()}
    return "LATIN" in scripts and not scripts.isdisjoint(_ALIKE)


def folded_name(name: str) -> str:
    """A name reduced to what it looks like: the same for `Read-File` and `read_file`."""
    return re.sub(r"[-_.\s]", "", unicodedata.normalize("NFKC", name).casefold())


def visible(text: str) -> str:
    """`text` with characters that are invisible, or change the direction of text, written as escapes."""
    return _escaped(text, {at for at, _ in _hidden(text)})


def _in_text(where: str, text: str) -> Iterator[Suspicion]:
    order = next((match for pattern in _ORDERS if (match := pattern.search(text)) is not None), None)
    if order is not None:
        yield Suspicion(where, ORDERS, _excerpt(text, order.start(), order.end()))
    far = (blanks for blanks in _BLANKS.finditer(text.rstrip()) if _leads_away(blanks[0]))
    if (blanks := next(far, None)) is not None:
        yield Suspicion(where, FAR, _excerpt(text, blanks.end(), blanks.end() + 1))
    seen = set()
    for at, what in _hidden(text):
        if what not in seen:
            seen.add(what)
            yield Suspicion(where, what, _excerpt(text, at, at + 1))


def _leads_away(blanks: str) -> bool:
    lines = blanks.split("\n")
    return len(lines) > FAR_LINES + 1 or max(map(len, lines)) >= FAR_CHARS


def _texts(value: Any, where: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every string in a value, including keys of objects, with its path."""
    if isinstance(value, str):
        yield where, value
    elif depth < MAX_DEPTH and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, f"{where}[{number}]", depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, dict):
        for key, item in value.items():
            # The key is part of the displayed path, so it is made visible and truncated.
            inner = f"{where}.{cut(visible(key[: KEY_CHARS + 1]), KEY_CHARS)}"
            yield f"{inner} (a key)", key
            yield from _texts(item, inner, depth + 1)


def _hidden(text: str) -> Iterator[tuple[int, str]]:
    """The hidden characters without a legitimate context: their positions and names."""
    if not UNUSUAL.search(text):
        return
    tagged = _flags(text)
    reads_leftwards = any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text if letter.isalpha())
    for match in UNUSUAL.finditer(text):
        at, letter = match.start(), match.group()
        if letter in _DIRECTION:
            if not (reads_leftwards and letter in _DIRECTION_MARKS):
                yield at, DIRECTION
        elif letter in "\u200c\u200d":
            if not _joins(text, at):
                yield at, HIDDEN
        elif letter in _INVISIBLE or "\U000e0000" <= letter <= "\U000e00ff":
            if at not in tagged:
                yield at, HIDDEN
        elif unicodedata.category(letter) == "Cc":
            yield at, CONTROL
        elif not _varies(text, at):
            yield at, HIDDEN


def _flags(text: str) -> set[int]:
    """The positions of the tag characters that are part of a flag, such as Scotland's."""
    found: set[int] = set()
    for match in re.finditer(f"{_FLAG}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{1,6}}{_TAG_END}", text):
        found.update(range(match.start() + 1, match.end()))
    return found


def _joins(text: str, at: int) -> bool:
    """Whether a joiner is between letters of a script that uses it, or between two emoji."""
    before, behind = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or not behind:
        return False
    if text[at] == "\u200d" and unicodedata.category(behind) == "So":
        return unicodedata.category(before) in ("So", "Sk") or before == "\ufe0f"
    return all(ord(one) > 0x590 and unicodedata.category(one)[0] in "LM" and not _is_variation(one)
               for one in (before, behind))  # fmt: skip


def _varies(text: str, at: int) -> bool:
    """Whether a variation selector follows a character that has several forms."""
    before = text[at - 1 : at]
    if not before or _is_variation(before) or before.isspace():
        return False
    if text[at] in "\ufe0e\ufe0f":
        return not before.isalpha() or before == "ℹ"
    return unicodedata.category(before) in ("Lo", "Sm")


def _is_variation(letter: str) -> bool:
    return "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"


def _excerpt(text: str, start: int, end: int) -> str:
    """The text from `start` to `end` on one line, made visible, with some context."""
    begin, stop = max(0, start - CONTEXT_CHARS), end + CONTEXT_CHARS
    hidden = {at - begin for at, _ in _hidden(text)}
    shown = cut(" ".join(_escaped(text[begin:stop], hidden).split()), SHOWN_CHARS)
    is_cut = stop < len(text) and not shown.endswith("…")
    return f'"{"…" if begin else ""}{shown}{"…" if is_cut else ""}"'


def _escaped(text: str, places: set[int]) -> str:
    if not places:
        return text
    return "".join(escape(letter) if at in places else letter for at, letter in enumerate(text))
