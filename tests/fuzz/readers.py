"""The readers of what other people and programs have written, against mutated texts of every kind.

Each may refuse a text by an error of ours, and nothing else. What we write into a file of others adds to it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from gaia_mcp.cli.calls.tool_call import filled_uri
from gaia_mcp.cli.checks.locked import _parsed as parsed_lock
from gaia_mcp.cli.completion.answering import read_line
from gaia_mcp.cli.lines import CommandLine
from gaia_mcp.client.tools import read_tools
from gaia_mcp.client.transports.stdio.launch import command_words
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import MCPError
from gaia_mcp.hosts import Layout, read_servers, with_server
from gaia_mcp.hosts.conversion import entry_from
from gaia_mcp.hosts.dialects import NotCarriedError
from gaia_mcp.hosts.known import HOSTS
from gaia_mcp.hosts.pasted import looks_pasted, read_pasted
from gaia_mcp.recordings import Player, TranscriptError, read_transcripts
from gaia_mcp.storage.json_files import parse_object
from gaia_mcp.text.strict_json import TextProblemError
from gaia_mcp.toolspec.arguments import ArgumentSyntaxError, read_assignment, read_object, typed_value
from gaia_mcp.toolspec.contract import Undefinable, canonical_tool, fingerprint, tool_difference
from gaia_mcp.toolspec.describe import signature, type_in_words
from gaia_mcp.toolspec.poisoning import suspicions
from tests.fuzz.mutations import Mutator
from tests.fuzz.oracles import Fault
from tests.wire_support import ANSWERS

OURS = (MCPError, TextProblemError, NotCarriedError, TranscriptError, ArgumentSyntaxError, Undefinable)
ENTRY = {"command": "uvx", "args": ["x", "--a=é"], "env": {"K": "v\n"}}
NAME = "new one"
NOT_KEPT = str.maketrans("", "", " {}[]~\n\r\t")
JSON_LAYOUT = Layout("json", ("mcpServers",))
TOML_LAYOUT = Layout("toml", ("mcp_servers",))
YAML_LAYOUTS = (Layout("yaml", ("extensions",)), Layout("yaml", ("mcpServers",), listed=True))

JSON_TEXT = """// mine
{
  "theme": "dark", /* inner */ "n": [1, 2.5e3, null,],
  "mcpServers": {
    "a": {"command": "node", "args": ["x.js"], "env": {"T": "${T}"}}, // last
    "b": {"url": "https://h/mcp", "headers": {"A": "b"}, "disabled": true,},
  },
}
"""
TOML_TEXT = """# mine
model = "x" # comment
notes = '''
[mcp_servers.fake]
'''
[mcp_servers.a]
command = "node"
args = ["x.js", 'y']
[mcp_servers.a.env]
T = \"\"\"t
[mcp_servers.c]\"\"\"
[mcp_servers."b c"]
url = "https://h/mcp"
[other]
when = 2026-01-01T00:00:00Z
"""
YAML_TEXT = """# mine
extensions:
  a: &one
    cmd: node   # comment
    args: [x.js, "y"]
    envs: {T: 't'}
  b:
    <<: *one
    uri: https://h/mcp
mcpServers:
  - name: a
    command: node
    args:
      - x.js
  - {name: b, url: "https://h/mcp"}
text: |
  mcpServers:
   - name: c
"""
CONFIG: dict[str, Any] = {
    "mcpServers": {
        "a": {"command": "node", "args": ["x"], "env": {"K": "${V:-d}", "S": {"$keyring": "k"}}, "timeout": 5},
        "b": {"url": "https://h/mcp", "headers": {"A": "b"}, "type": "http", "includeTools": ["a*"], "disabled": False},
        "c": {"agent": "demo"},
    }
}
LOCK = {
    "version": 1,
    "servers": {"a": {"entry": {"command": "x"}, "tools": {"t": {"name": "t", "inputSchema": {"type": "object"}}}}},
}
RECORDING = [
    {"format": "gaia-mcp recording", "version": 1, "server": "s", "date": "2026-01-01"},
    {"from": "client", "message": {"jsonrpc": "2.0", "id": 1, "method": "ping"}, "ms": 1},
    {"from": "server", "message": {"jsonrpc": "2.0", "id": 1, "result": {}}, "ms": 2},
]
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": ["integer", "null"], "enum": [1, 2]},
        "b": {"type": "array", "items": {"$ref": "#/$defs/c"}},
        "d": {"anyOf": [{"type": "string", "format": "date"}, {"type": "object", "properties": {"e": {"const": 1}}}]},
    },
    "required": ["a"],
    "$defs": {"c": {"type": "number"}},
}
TOOL = {**ANSWERS["tools/list"][0]["tools"][1], "inputSchema": SCHEMA}
TOKENS = [
    "{", "}", "[", "]", ",", ":", '"', "'", "'''", '"""', "//", "/*", "*/", "#", "\\", "\\u", "\\ud800", "&a", "*a",
    "<<", "|", ">", "- ", "---", "...", "!!", "%", "=", ".", "\r", "\n", "\r\n", "\t", " ", "\0", "\ufeff", "\u2028",
    "\x85", "é", "\U0001f600", "1e999", "null", "true", "nan", "0x1", "[[a]]", "[mcp_servers]", "mcpServers", "${",
    "$(", "`", "~", "{+x}", "{?y*}", "{", "-" * 300, "[" * 300,
]  # fmt: skip


class Reader(NamedTuple):
    """What reads, and texts that it reads well; with `parses`, it reads the JSON value of a text."""

    read: Callable[[Any], object]
    texts: list[str]
    parses: bool = False


def changed_text(text: str, random: Random) -> str:
    """A text with a few characters removed, repeated, moved or put in."""
    for _ in range(random.choice((1, 1, 2, 5))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 3, 20)))
        kind = random.randrange(4)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:end] + text[start:]
        else:
            text = text[:start] + random.choice(TOKENS) + text[end if kind == 2 else start :]
    return text


def _added(layout: Layout) -> Callable[[str], None]:
    """Reads the servers of a text, and adds one: the rest of it must be what it was."""

    def act(text: str) -> None:
        before = read_servers(text, layout)
        entry = {"name": NAME, **ENTRY} if layout.listed else ENTRY
        after = with_server(text, layout, NAME, entry)
        if read_servers(after, layout) != {**before, NAME: entry}:
            raise Fault(f"other servers are in {after!r:.600}")
        # Of the braces around nothing, nothing may be left.
        kept = iter(after)
        if before and NAME not in before and not all(letter in kept for letter in text.translate(NOT_KEPT)):
            raise Fault(f"it has lost something: {after!r:.600}")
        if layout.format == "toml" and (values := tomllib.loads(text)) and NAME not in before:
            now = tomllib.loads(after)
            del now[layout.root[0]][NAME]
            if now != {layout.root[0]: {}, **values}:
                raise Fault(f"other values are in {after!r:.600}")

    return act


def _config(text: str) -> None:
    document = parse_object(text.encode("utf-8", "surrogatepass"), Path("f"))
    servers = document.get("mcpServers")
    for name, raw in servers.items() if isinstance(servers, dict) else ():
        entry = read_entry(name, raw)
        entry.target.described()
        repr(entry.identity())


def _host_entry(raw: Any) -> None:
    for host in HOSTS.values() if isinstance(HOSTS, dict) else HOSTS:
        try:
            json.dumps(entry_from(raw, host.dialect))
        except NotCarriedError:
            continue


def _pasted(text: str) -> None:
    looks_pasted(text)
    for one in read_pasted(text):
        json.dumps(one.raw, allow_nan=False)


def _recording(text: str) -> None:
    player = Player(read_transcripts(text.encode("utf-8", "surrogatepass"))[0])
    player.prologue()
    player.receive(b'{"jsonrpc":"2.0","id":9,"method":"ping"}')


def _tool(definition: Any) -> None:
    tools, problems = read_tools([definition, definition])
    for tool in tools:
        signature(tool.name, tool.input_schema)
        type_in_words(tool.input_schema, tool.input_schema)
        for word in ("1", "x", "null", "[1]", "true", "1e999", ""):
            typed_value(word, tool.input_schema, tool.input_schema)
        suspicions(definition)
        now = canonical_tool(definition)
        fingerprint(now)
        tool_difference(tool.name, canonical_tool(TOOL), now)
    " ".join(problems).encode("utf-8", "surrogatepass")


READERS = {
    "json": Reader(_added(JSON_LAYOUT), [JSON_TEXT, json.dumps(CONFIG), "{}", '{"mcpServers":{}}']),
    "toml": Reader(_added(TOML_LAYOUT), [TOML_TEXT, "", "mcp_servers = {}\n"]),
    "yaml": Reader(_added(YAML_LAYOUTS[0]), [YAML_TEXT, "", "extensions: {}\n"]),
    "yaml list": Reader(_added(YAML_LAYOUTS[1]), [YAML_TEXT, "", "mcpServers: []\n"]),
    "config": Reader(_config, [json.dumps(CONFIG), json.dumps(CONFIG, indent=2)]),
    "host entry": Reader(_host_entry, [json.dumps(raw) for raw in CONFIG["mcpServers"].values()], parses=True),
    "lock": Reader(lambda text: parsed_lock(Path("f"), text.encode("utf-8", "surrogatepass")), [json.dumps(LOCK)]),
    "recording": Reader(_recording, ["".join(json.dumps(row) + "\n" for row in RECORDING)]),
    "pasted": Reader(_pasted, [JSON_TEXT, TOML_TEXT, f"```json\n{json.dumps(CONFIG)}\n```", '"a": {"command": "x"},']),
    "tool": Reader(_tool, [json.dumps(TOOL)], parses=True),
    "arguments": Reader(lambda text: read_object(text, "--args"), ['{"a": [1, 2.5, "x", null], "b": {"c": true}}']),
    "assignment": Reader(read_assignment, ["a=1", 'a:={"b": [1]}', "a=@file", "a.b=c=d", r"a\=b=c"]),
    "shell words": Reader(read_line, ["gaia mcp call a b 'c d' \"e $f\" g\\ h", "gaia mcp call a x=$'\\n'"]),
    "command line": Reader(lambda text: command_words("s", text, None), ["uvx 'a b' --c=\"d e\" f\\ g", "node x.js"]),
    "template": Reader(
        lambda text: filled_uri(CommandLine(), "s", text, ["x=1", "y=a b"]), ["file:///{x}{?y*}", "a{+x}/{#y,x:3}"]
    ),
}  # fmt: skip


def faults(name: str, count: int, seed: int) -> Iterator[str]:
    """Have a reader read `count` mutated texts. Yields each fault, with the text that leads to it."""
    random, reader = Random(seed), READERS[name]
    mutator = Mutator(random)
    for _ in range(count):
        text = random.choice(reader.texts)
        if text.startswith("{") and random.random() < 0.5:
            try:
                text = mutator.record(json.loads(text), valid=0).decode("utf-8", "replace")
            except ValueError:
                text = changed_text(text, random)
        else:
            text = changed_text(text, random)
        try:
            read = json.loads(text) if reader.parses else text
        except (ValueError, RecursionError):
            continue
        try:
            reader.read(read)
        except OURS:
            continue
        except Fault as fault:
            yield f"{name}: {fault} for {text!r:.1500}"
        except Exception as problem:
            yield f"{name}: {type(problem).__name__}: {problem} for {text!r:.1500}"


def report(count: int, seed: int) -> int:
    """Try all readers and print what came of it. Returns how many faults there were."""
    found = 0
    for name in READERS:
        problems = list(faults(name, count, seed))
        for problem in problems:
            print(problem)
        print(f"{name}: {count} texts, {len(problems)} faults", flush=True)
        found += len(problems)
    return found
