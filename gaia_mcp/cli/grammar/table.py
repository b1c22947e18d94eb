"""The commands, their arguments and their options.

Written from the Typer commands by: gaia mcp generate
"""

from __future__ import annotations

from gaia_mcp.cli.grammar.model import Argument, Command, Option

VERSION = Option("version", ("--version",), "Print the version and leave.", is_eager=True)
HELP = Option("help", ("--help",), "Show this message and exit.", is_eager=True)
URL = Option("url", ("--url",), "Connect to this URL over HTTP.", "URL")
ENTRY = Option("entry", ("--entry",), "Take the whole entry as JSON; also: --json '{…}'.", "JSON")
ENV = Option(
    "env", ("--env",), "Set a variable for the server; K alone stores the reference ${K}.", "K[=V]", is_repeatable=True
)
HEADER = Option("header", ("--header",), "Send this header, with --url.", "K:V", is_repeatable=True)
CWD = Option(
    "cwd", ("--cwd",), "Start the server in this folder.", "DIR", ("file_names.folder_names", "file_names.files")
)
REQUEST_TIMEOUT = Option(
    "request_timeout",
    ("--request-timeout",),
    "Save this time limit for each of its requests.",
    "SECONDS",
    bounds=(0.01, 600),
)
DISABLED = Option("disabled", ("--disabled",), "Save it as disabled.")
NO_CHECK = Option("no_check", ("--no-check",), "Save without connecting.")
FORCE = Option("force", ("--force",), "Replace a server of the same name.")
CONFIG = Option("config", ("--config",), "Use this file of servers, and no project's.", "PATH", ("file_names.files",))
AS_JSON = Option("as_json", ("--json",), "Print the answer as JSON.")
QUIET = Option("quiet", ("--quiet",), "Print nothing but the answer and errors.")
TIMEOUT = Option(
    "timeout",
    ("--timeout",),
    "Limit the time of all steps together. Default: 30, or the entry's, per request.",
    "SECONDS",
    bounds=(0.01, 86400.0),
)
DEBUG = Option("debug", ("--debug",), "Show tracebacks and what servers write to stderr.")
CHECK = Option("check", ("--check",), "Connect to every enabled server.")
CHECK_2 = Option("check", ("--check",), "Connect to the server, and show how it describes itself.")
UNSET = Option(
    "unset",
    ("--unset",),
    "Remove this from the entry: cwd, timeout, env.NAME, headers.NAME, …",
    "KEY",
    ("sources.entry_keys",),
    is_repeatable=True,
)
RENAME = Option("rename", ("--rename",), "Rename the server.", "NAME")
EVERYTHING = Option("everything", ("--all",), "Import from every host that is found here.")
SERVER = Option("server", ("--server",), "Import only this server; may be repeated.", "NAME", is_repeatable=True)
DRY_RUN = Option("dry_run", ("--dry-run",), "Show what would be saved, as a diff, and save nothing.")
FORCE_2 = Option("force", ("--force",), "Replace servers of the same name that differ.")
PROJECT = Option("project", ("--project",), "Use the hosts' files of the project in the working folder.")
TO = Option(
    "to", ("--to",), "Write into this host's file.", "{HOST | FILE}", ("sources.host_names", "file_names.files")
)
AS_HOST = Option("as_host", ("--as",), "Print what to paste into this host's file.", "HOST", ("sources.host_names",))
PROJECT_2 = Option("project", ("--project",), "Use the host's file of the project in the working folder.")
DRY_RUN_2 = Option("dry_run", ("--dry-run",), "Show what would be written, as a diff.")
EXPAND = Option("expand", ("--expand",), "Write the values of variables that the host does not look up.")
SHOW_SECRETS = Option("show_secrets", ("--show-secrets",), "With --as: print secrets rather than ****.")
SCHEMA = Option("schema", ("--schema",), "Print the whole input schema of each tool.")
ARGS = Option(
    "args",
    ("--args",),
    "Take all arguments from a JSON object, @FILE, or - for stdin.",
    "JSON",
    ("file_names.object_files",),
)
OUTPUT_DIR = Option(
    "output_dir",
    ("--output-dir",),
    "Save images, sound and other files here. Default: the working folder.",
    "DIR",
    ("file_names.folder_names", "file_names.files"),
)
LOCKED = Option("locked", ("--locked",), "Refuse unless this tool matches the lock file.")
LOCK_FILE = Option(
    "lock_file",
    ("--lock-file",),
    "Use this lock file. Default: mcp.lock.json in the working folder.",
    "PATH",
    ("file_names.files",),
)
READ_ONLY = Option("read_only", ("--read-only",), "Refuse unless the tool declares that it only reads.")
READ = Option("read", ("--read",), "Also print the new text of a resource that has changed.")
LEVEL = Option(
    "level", ("--level",), "Print the server's log messages from this level upwards.", "LEVEL", ("sources.log_levels",)
)
RESTART = Option("restart", ("--restart",), "Start the server again when it has ended.")
TIMEOUT_2 = Option(
    "timeout",
    ("--timeout",),
    "End after this time, with exit code 0. Default: never.",
    "SECONDS",
    bounds=(0.01, 86400.0),
)
RUNS = Option("runs", ("--runs",), "Show only the last N runs. Default: all that are stored.", "N")
FOLLOW = Option("follow", ("--follow", "-f"), "Keep printing what is written from now on.")
CLEAR = Option("clear", ("--clear",), "Delete the stored logs.")
EVERY = Option("every", ("--all",), "Test every enabled server, all at once.")
CALL_TOOL = Option("call_tool", ("--call",), "Call this tool too.", "TOOL", ("sources.check_tools",))
LOCKED_2 = Option("locked", ("--locked",), "Fail unless all tools match the lock file.")
JUNIT = Option("junit", ("--junit",), "Write JUnit XML for a build server.", "FILE", ("file_names.files",))
EVERY_2 = Option("every", ("--all",), "Lock every enabled server, all at once.")
UPDATE = Option("update", ("--update",), "Approve the changes, and show them.")
TO_2 = Option("to", ("--to",), "Append the recording to this file.", "FILE", ("file_names.files",), is_required=True)
KWARG = Option(
    "kwarg",
    ("--kwarg",),
    "Pass an argument to the class; what is not JSON is passed as text.",
    "K=JSON",
    is_repeatable=True,
)
RELOAD = Option("reload", ("--reload",), "Reload the agent when its files change; clients stay connected.")
PRINT_CONFIG = Option(
    "print_config",
    ("--print-config",),
    "Print the entry for a host such as cursor, and serve nothing.",
    "HOST",
    ("sources.host_names",),
)
INSTALL = Option("install", ("--install",), "Install the script where that shell looks for it.")
UNINSTALL = Option("uninstall", ("--uninstall",), "Remove the script again.")
CHECK_3 = Option("check", ("--check",), "Write nothing; fail if a file is out of date.")

PROGRAM = Command(
    "Tools for MCP, the Model Context Protocol.",
    options=(VERSION, HELP),
    commands={
        "mcp": Command(
            "Keep MCP servers, look inside, call and test them, and serve agents.",
            options=(HELP,),
            commands={
                "add": Command(
                    "Save a server, after connecting to it once.",
                    (Argument("name", is_required=True), Argument("words", ("file_names.files",), takes_many=True)),
                    (
                        URL,
                        ENTRY,
                        ENV,
                        HEADER,
                        CWD,
                        REQUEST_TIMEOUT,
                        DISABLED,
                        NO_CHECK,
                        FORCE,
                        CONFIG,
                        AS_JSON,
                        QUIET,
                        TIMEOUT,
                        DEBUG,
                        HELP,
                    ),
                ),
                "list": Command(
                    "Show the configured servers.", options=(CHECK, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP)
                ),
                "show": Command(
                    "Show one server in full.",
                    (Argument("name", ("sources.server_names",), is_required=True),),
                    (CHECK_2, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "edit": Command(
                    "Change parts of a server's entry.",
                    (
                        Argument("name", ("sources.server_names",), is_required=True),
                        Argument("words", ("file_names.files",), takes_many=True),
                    ),
                    (
                        URL,
                        ENV,
                        HEADER,
                        CWD,
                        REQUEST_TIMEOUT,
                        UNSET,
                        RENAME,
                        NO_CHECK,
                        CONFIG,
                        AS_JSON,
                        QUIET,
                        TIMEOUT,
                        DEBUG,
                        HELP,
                    ),
                ),
                "enable": Command(
                    "Enable servers.",
                    (Argument("names", ("sources.server_names",), is_required=True, takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "disable": Command(
                    "Disable servers.",
                    (Argument("names", ("sources.server_names",), is_required=True, takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "remove": Command(
                    "Remove servers from the configuration.",
                    (Argument("names", ("sources.server_names",), is_required=True, takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "import": Command(
                    "Import servers from other hosts.",
                    (Argument("words", ("sources.host_names", "file_names.files"), takes_many=True),),
                    (EVERYTHING, SERVER, DRY_RUN, FORCE_2, PROJECT, CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "export": Command(
                    "Export servers to another host, in its own format.",
                    (Argument("names", ("sources.server_names",), is_required=True, takes_many=True),),
                    (
                        TO,
                        AS_HOST,
                        PROJECT_2,
                        DRY_RUN_2,
                        FORCE_2,
                        EXPAND,
                        SHOW_SECRETS,
                        CONFIG,
                        AS_JSON,
                        QUIET,
                        DEBUG,
                        HELP,
                    ),
                ),
                "trust": Command(
                    "Approve the servers of a project.",
                    (Argument("folder", ("file_names.folder_names", "file_names.files")),),
                    (AS_JSON, QUIET, DEBUG, HELP),
                ),
                "untrust": Command(
                    "Revoke the approval of a project.",
                    (Argument("folder", ("file_names.folder_names", "file_names.files")),),
                    (AS_JSON, QUIET, DEBUG, HELP),
                ),
                "tools": Command(
                    "Show the tools of servers, as signatures.",
                    (Argument("names", ("sources.server_names",), takes_many=True),),
                    (SCHEMA, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "search": Command(
                    "Search the tools of all servers.",
                    (Argument("words", is_required=True, takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "call": Command(
                    "Call a tool and print what it returns.",
                    (
                        Argument("target", ("sources.call_targets",), is_required=True),
                        Argument("words", ("sources.call_words",), takes_many=True),
                    ),
                    (ARGS, OUTPUT_DIR, LOCKED, LOCK_FILE, READ_ONLY, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "prompts": Command(
                    "Show the prompts of servers, with their arguments.",
                    (Argument("names", ("sources.server_names",), takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "prompt": Command(
                    "Fill in a prompt and print it.",
                    (
                        Argument("name", ("sources.server_names",), is_required=True),
                        Argument("prompt", ("sources.prompt_names",), is_required=True),
                        Argument("words", ("sources.prompt_words",), takes_many=True),
                    ),
                    (OUTPUT_DIR, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "resources": Command(
                    "Show the resources of servers, and their templates.",
                    (Argument("names", ("sources.server_names",), takes_many=True),),
                    (CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "read": Command(
                    "Read a resource and print it.",
                    (
                        Argument("name", ("sources.server_names",), is_required=True),
                        Argument("uri", ("sources.resource_uris",), is_required=True),
                        Argument("words", ("sources.template_words",), takes_many=True),
                    ),
                    (OUTPUT_DIR, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "watch": Command(
                    "Watch a server for changes and log messages.",
                    (
                        Argument("name", ("sources.server_names",), is_required=True),
                        Argument("uris", ("sources.resource_uris",), takes_many=True),
                    ),
                    (READ, LEVEL, RESTART, CONFIG, AS_JSON, QUIET, TIMEOUT_2, DEBUG, HELP),
                ),
                "logs": Command(
                    "Show what a server wrote to stderr.",
                    (Argument("name", ("sources.server_names",), is_required=True),),
                    (RUNS, FOLLOW, CLEAR, CONFIG, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "test-client": Command(
                    "Test servers, step by step.",
                    (Argument("words", ("sources.check_words",), takes_many=True),),
                    (EVERY, CALL_TOOL, LOCKED_2, LOCK_FILE, JUNIT, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "lock": Command(
                    "Record the tools of servers in a lock file, for --locked.",
                    (Argument("names", ("sources.server_names",), takes_many=True),),
                    (EVERY_2, LOCK_FILE, UPDATE, CONFIG, AS_JSON, QUIET, TIMEOUT, DEBUG, HELP),
                ),
                "record": Command(
                    "Record the messages between a client and a server.",
                    (Argument("name", ("sources.server_names",), is_required=True),),
                    (TO_2, CONFIG, DEBUG, HELP),
                ),
                "replay": Command(
                    "Serve a recorded conversation over stdio.",
                    (Argument("file", ("file_names.files",), is_required=True),),
                    (DEBUG, HELP),
                ),
                "serve": Command(
                    "Serve an agent as an MCP server over stdin and stdout.",
                    (Argument("target", ("sources.agent_names",), is_required=True),),
                    (KWARG, RELOAD, PRINT_CONFIG, DEBUG, HELP),
                ),
                "completion": Command(
                    "Complete commands, servers, tools and arguments with TAB.",
                    (Argument("shell", ("sources.shell_names",)),),
                    (INSTALL, UNINSTALL, AS_JSON, QUIET, DEBUG, HELP),
                ),
                "generate": Command(
                    "Write the man pages, the completion scripts and the command table of a checkout.",
                    (Argument("folder", ("file_names.files",)),),
                    (CHECK_3, AS_JSON, QUIET, DEBUG, HELP),
                    is_listed=False,
                ),
            },
        ),
    },
)
