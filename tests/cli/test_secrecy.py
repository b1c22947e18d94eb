"""Every kind of secret, in every encoding in which a server may repeat it, in every output of the program."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, quote_plus

import pytest

from tests.cli.conftest import Gaia, entry_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

PEM = "\n".join((
    "-----BEGIN PRIVATE KEY-----", "MC4CAQAwBQYDK2VwBCIEIH", "pQ7zL1vXc9Tn5Yr3Hs8Wd2", "-----END PRIVATE KEY-----",
))  # fmt: skip
# The first and the last line of a key tell nothing.
FRAME = "-----BEGIN PRIVATE KEY----------END PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.q7Rk2Lw9Zx4Vb6Nm1Tc8"
BASIC = base64.b64encode(b"jane:Bsc4417mnbv").decode()
NOTHING: Mapping[str, str] = MappingProxyType({})


class Given(NamedTuple):
    """How a server is given secrets: what its entry holds, what it inherits, and the secrets in that."""

    secrets: tuple[str, ...]
    env: Mapping[str, str] = NOTHING
    args: tuple[str, ...] = ()
    inherited: Mapping[str, str] = NOTHING


KINDS = {
    "named": Given(("K4pRt9wQx2Zu7Lm",), {"API_KEY": "K4pRt9wQx2Zu7Lm"}),
    "special": Given(('pä"ss\\wö&r<9>/+ x',), {"DB_PASSWORD": 'pä"ss\\wö&r<9>/+ x'}),
    "pem": Given((PEM, *PEM.split("\n")[1:3]), {"TLS_KEY": PEM}),
    "userinfo": Given(
        ("Pw%40rd%2F77xyQ", "Pw@rd/77xyQ"), {"DATABASE": "postgres://app:Pw%40rd%2F77xyQ@db.example:5432/main"}
    ),
    "query": Given(
        ("PASSaaaa77", "TOK/bbbb8899"), args=("https://u:PASSaaaa77@h.example/x?token=TOK%2Fbbbb8899&page=2",)
    ),
    "pairs": Given(("PWaaaa1111", "KEYbbbb2222"), args=("Server=db;Password=PWaaaa1111;ApiKey=KEYbbbb2222",)),
    "options": Given(("OptAbc12345xyz", "EqDef67890uvw"), args=("--token", "OptAbc12345xyz", "--secret=EqDef67890uvw")),
    "headers": Given(
        ("Hdr55aa66bb77cc", "Brr99zz88yy77", "tQ8vN3kR6yB1wE5s"),
        {"EXTRA": "Authorization: Bearer tQ8vN3kR6yB1wE5s"},
        ("-H", "X-Api-Key: Hdr55aa66bb77cc", "--header=Authorization: Bearer Brr99zz88yy77"),
    ),
    "basic": Given((BASIC, "Bsc4417mnbv"), args=("-H", f"Authorization: Basic {BASIC}")),
    "shapes": Given(
        (JWT, "AKIAQ3EGUYT5WB7XK2LD", "ghp_d83KfLs02JqXv9Rt1Yb6"),
        args=(JWT, "AKIAQ3EGUYT5WB7XK2LD"),
        env={"SETTING": "ghp_d83KfLs02JqXv9Rt1Yb6"},
    ),
    "json": Given(
        ('Jsn11"qq22ww33', "Nst44ee55rr66", "Arg77tt88yy"),
        {"CONFIG": json.dumps({"user": "jane", "password": 'Jsn11"qq22ww33', "in": {"apiSecret": "Nst44ee55rr66"}})},
        (json.dumps({"apiKey": "Arg77tt88yy", "retries": 3}),),
    ),
    "netrc": Given(("Ntr77tt88yy99",), {"LOGIN": "machine h.example login jane password Ntr77tt88yy99"}),
    "proxy": Given(("Prx22uu33ii44",), inherited={"HTTPS_PROXY": "http://worker:Prx22uu33ii44@proxy.example:3128"}),
}
# Kinds that share a home, a server and its command lines, so few that a cut message has a part of each secret.
HOMES = [
    ("named", "special", "pem", "userinfo"),
    ("query", "pairs", "options", "netrc"),
    ("headers", "basic", "proxy"),
    ("shapes", "json"),
]


def in_base64(before: bytes, secret: str, after: bytes) -> str:
    return base64.b64encode(before + secret.encode() + after).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "literal": str,
    "json": lambda secret: json.dumps(secret)[1:-1],
    "utf8json": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "json2": lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
    "repr": repr,
    "joined": lambda secret: " ".join(secret.split("\n")),
    "glued": lambda secret: "".join(secret.split("\n")),
    "percent": lambda secret: quote(secret, safe=""),
    "form": quote_plus,
    "html": html.escape,
    "base64": lambda secret: in_base64(b"", secret, b""),
    "base64at1": lambda secret: in_base64(b"x", secret, b"yz"),
    "base64at2": lambda secret: in_base64(b"xy", secret, b"z"),
    "urlsafe": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "basic": lambda secret: in_base64(b"user:", secret, b""),
    "cut": lambda secret: secret[: len(secret) * 3 // 4],
}
# What of a text is looked for: a part this long is enough to tell where it comes from.
PART_CHARS = 7
LABEL = re.compile(r"@(\w+)-(\d)@")


def secrets_of(kinds: Iterable[str]) -> list[tuple[str, str]]:
    """The secrets of some kinds, each with its kind. The place of a secret in this list is its number."""
    return [(kind, secret) for kind in kinds for secret in KINDS[kind].secrets]


def said_by(kinds: Iterable[str]) -> str:
    """What the server repeats: each secret in each form, with a label. The last line has the first secret of each kind
    once more, unless that has lines itself.
    """
    secrets = list(enumerate(secrets_of(kinds)))
    lines = [
        f"@{form}-{number}@ {clothed(secret)}" for form, clothed in FORMS.items() for number, (_, secret) in secrets
    ]
    last = [
        f"@literal-{number}@ {secret}"
        for number, (kind, secret) in secrets
        if secret == KINDS[kind].secrets[0] and "\n" not in secret
    ]
    return "\n".join(["begin", *lines, " ".join(last)])


def parts_of(form: str, secret: str) -> Iterator[str]:
    """The parts of a secret in this form by which it is recognised, as they are and as other formats write them."""
    text = FORMS[form](secret).strip("'\"")
    # Where it stands among other bytes, the characters at its edges are not its own.
    text = text[4:-4] if form in ("base64at1", "base64at2", "basic") else text
    for each in {text, json.dumps(text)[1:-1], html.escape(text)}:
        for at in range(max(len(each) - PART_CHARS + 1, 1)):
            part = each[at : at + PART_CHARS]
            if re.sub(r"^[\\n]+|[\\n]+$", "", part) not in FRAME and not part.endswith("=") and len(set(part)) > 3:
                yield part


def leaks_in(text: str, kinds: Iterable[str]) -> set[str]:
    """The kinds of which a secret stands in what was printed or written, with the form in which it does."""
    found = set()
    secrets = secrets_of(kinds)
    pieces = LABEL.split(text)
    for form, number, piece in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        kind, secret = secrets[int(number)]
        if any(part in piece for part in parts_of(form, secret)):
            found.add(f"{kind}: {form}")
    for kind, secret in secrets:
        if any(part in pieces[0] for part in parts_of("literal", secret)):
            found.add(f"{kind}: unlabelled")
    return found


class Ways:
    """The ways out of the program: what each prints or writes about the server `s`."""

    def __init__(self, gaia: Gaia, kinds: Iterable[str]) -> None:
        self.gaia = gaia
        text = gaia.cwd / "said.txt"
        text.write_text(said_by(kinds), "utf-8")
        env: dict[str, str] = {}
        args: list[str] = []
        for given in map(KINDS.__getitem__, kinds):
            gaia.environ.update(given.inherited)
            env |= given.env
            args += given.args
        entry = entry_of("repeats", str(text), *args)
        gaia.write({"s": {**entry, "env": env} if env else entry})

    def run(self, *words: str, **variables: str) -> str:
        ran = self.gaia(*words, **variables)
        return ran.stdout + ran.stderr

    def written(self, folder: str) -> str:
        files = [path for path in (self.gaia.home / folder).rglob("*") if path.is_file()]
        assert files
        return "\n".join(path.read_text("utf-8") for path in files)

    def entry(self) -> Iterator[tuple[str, str]]:
        """Those that show what the server is given, or tell of it in an error: how depends on the kind of secret."""
        yield "error", self.run("call", "s", "refuse", "--timeout", "20")
        yield (
            "arguments",
            self.run("call", "s", "refuse", "other=1") + self.run("call", "s", "refuse", "other=1", "--json"),
        )
        yield "last words", self.run("call", "s", "die")
        yield "logs", self.run("logs", "s")
        yield "run log", self.written(".local/state/gaia-mcp/log")
        yield "list", self.run("list") + self.run("list", "--json")
        yield "show", self.run("show", "s") + self.run("show", "s", "--json") + self.run("show", "s", "--check")
        yield "export", self.run("export", "s", "--as", "cursor") + self.run("export", "s", "--as", "vscode")
        self.gaia.cwd.joinpath("theirs.json").write_text(self.gaia.config.read_text())
        yield "import", self.run("import", "theirs.json", "--dry-run") + self.run("import", "theirs.json", "--json")
        yield "edit", self.run("edit", "s", "--cwd", "/nowhere") + self.run("add", "s", "--", "x", "--token", "y")

    def others(self) -> Iterator[tuple[str, str]]:
        """Those that pass on what the server repeats."""
        gaia = self.gaia
        yield "--json", self.run("call", "s", "refuse", "--json")
        yield "failed tool", self.run("call", "s", "fail")
        yield "stray line", self.run("call", "s", "stray")
        yield "--debug", self.run("call", "s", "refuse", "--debug")
        yield "logs --json", self.run("logs", "s", "--json")
        summary = gaia.cwd / "summary.md"
        yield "test-client", self.run("test-client", "s", "--junit", "report.xml", GITHUB_STEP_SUMMARY=str(summary))
        yield "test-client --call", self.run("test-client", "s", "--call", "fail", "--json", "--junit", "failed.xml")
        yield "JUnit", (gaia.cwd / "report.xml").read_text("utf-8") + (gaia.cwd / "failed.xml").read_text("utf-8")
        yield "step summary", summary.read_text("utf-8")
        yield "tools", self.run("tools", "s", "--schema") + self.run("tools", "s.fail")
        yield "tools --json", self.run("tools", "s", "--json")
        yield "prompts", self.run("prompts", "s", "--json") + self.run("resources", "s", "--json")
        yield "search", self.run("search", "fail") + self.run("search", "fail", "--json")
        yield "tool cache", self.written(".cache")
        yield "lock", self.run("lock", "s")
        yield "lock file", (gaia.cwd / "mcp.lock.json").read_text("utf-8")
        yield "help page", self.run("call", "s", "fail", "--help")
        asked = [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]
        stdin = "".join(json.dumps(one) + "\n" for one in asked)
        ran = gaia("record", "s", "--to", "talk.jsonl", stdin=stdin)
        yield "record", ran.stderr
        yield "recording", (gaia.cwd / "talk.jsonl").read_text("utf-8")


@pytest.mark.parametrize("kinds", HOMES, ids="+".join)
def test_no_secret_is_printed_or_written_in_any_form(gaia: Gaia, kinds: tuple[str, ...]) -> None:
    """Ours: each kind of secret in each output about its entry, the first home's in each output at all; in each
    encoding.
    """
    ways = Ways(gaia, kinds)
    outputs = chain(ways.entry(), ways.others() if kinds == HOMES[0] else ())

    assert {way: sorted(found) for way, text in outputs if (found := leaks_in(text, kinds))} == {}


def test_every_kind_of_secret_has_a_home() -> None:
    """Ours: a kind without one would be tested nowhere; labels have room for ten secrets."""
    assert sorted(kind for kinds in HOMES for kind in kinds) == sorted(KINDS)
    assert max(len(secrets_of(kinds)) for kinds in HOMES) <= 10


def test_values_that_are_not_secret_are_not_masked(gaia: Gaia) -> None:
    """Ours: the message helps only with its paths, URLs, words and the server's name."""
    says = "import os, sys; sys.exit('no %(ROOT)s at %(GRAFANA_URL)s for %(A_TOKEN)s' % os.environ)"
    variables = ("--env", "ROOT=/no/such/dir", "--env", "GRAFANA_URL=http://host:3000", "--env", "A_TOKEN=grafana")

    ran = gaia("add", *variables, "grafana", "--", sys.executable, "-c", says)
    gaia("add", "--no-check", *variables, "grafana", "--", sys.executable, "-c", says)
    called = gaia("call", "grafana", "search")

    for each in (ran, called):
        assert "server 'grafana' exited" in each.errors[0]
        assert each.errors[0].endswith("no /no/such/dir at http://host:3000 for grafana")
    assert "ROOT=/no/such/dir, GRAFANA_URL=http://host:3000, A_TOKEN=****" in gaia("show", "grafana").stdout


def test_the_result_of_a_tool_is_not_masked(gaia: Gaia) -> None:
    """Ours: the user has asked for it; only a failure is masked, since it is logged."""
    gaia.use("good-handshake", env={"API_TOKEN": "hunter22hunter"})

    ran = gaia("call", "good-handshake", "environment", "--json")

    assert "hunter22hunter" in ran.stdout
