"""Which programs a document may have run: those of its package, and none that runs what its arguments say.

uvx puts the programs of a package before those of PATH, and runs whichever has the name: those of the package itself,
those of its dependencies, or those of the system. What a package contains is not known here, so its own programs are
recognized by their names.
"""

from __future__ import annotations

import re

# Programs that run the code, the commands or the files in their arguments, by their names without a version.
_RUNNING = """
ash bash busybox cmd csh dash elvish fish ksh mksh nu powershell pwsh rbash sh tcsh toybox xonsh yash zsh
at awk batch bc chroot chrt command crontab doas ed emacs entr env eval ex exec expect find firejail flatpak flock
gawk gdb git go ionice java ld less lldb ltrace m4 make man mawk mc more nano nawk nice nohup nsenter nvim open
osascript parallel perf rpm rsync run run-parts runuser scp screen script sed setarch setsid sftp snap socat ssh
ssh-agent sshpass start stdbuf strace su sudo systemd-run tar taskset time timeout tmux unshare vi view vim vimdiff
watch wine wsl xargs xdg-open xterm yes zip
ansible ansible-playbook aws curl dc docker ftp gcloud kubectl mysql nc ncat nerdctl netcat nmap openssl podman psql
rclone redis-cli sqlite telnet terraform wget
bpython celery chainlit coverage daphne debugpy django-admin dotenv fab fabric flask gradio granian gunicorn hatch
honcho hypercorn idle invoke ipython jupyter kernprof marimo memray nox notebook papermill pdm pip pipenv pipx
poetry ptpython py py-spy pydoc pypy pytest python python-dotenv pythonw rye scalene streamlit supervisord tox uv
uvicorn uvx viztracer watchdog watchfiles watchmedo
babel-node bun bunx chokidar-cli coffee coffeescript concurrently corepack cross-env deno dotenv-cli electron
env-cmd esno forever jiti node nodejs nodemon npm npm-run-all npx onchange pm2 pnpm pnpx shelljs shx supergateway
swc-node ts-node tsx vite-node yarn zx
cargo clj clojure csharprepl csi dotnet dotnet-script elixir erl escript ghc groovy guile irb iex jbang jshell julia
kotlin lua luajit msbuild nuget ocaml octave perl php r racket rscript ruby runghc rust-script scala swift tclsh
fastmcp mcp mcp-cli mcp-proxy mcphost mcpm mcpo mcp-use
"""
_OPEN = frozenset(_RUNNING.split())
# Words that say nothing about a package.
_COMMON = frozenset(
    ("agent", "ai", "api", "app", "cli", "client", "core", "io", "mcp", "py", "python", "server", "tool")
)
# A shorter beginning, such as `my`, is one of many names.
_TELLING_CHARS = 4


def runs_anything(name: str) -> bool:
    """Whether the program, or the package that is named after its program, runs what its arguments say."""
    bare = re.sub(r"\.(?:exe|cmd|bat|com|ps1)$", "", name.lower())
    return bare in _OPEN or bare.rstrip("0123456789.").rstrip("-_") in _OPEN


def is_own_program(program: str, package: str) -> bool:
    """Whether `program` is plausibly one of `package`: it shares a word with the package's name, or is called after
    MCP, and it does not run what its arguments say.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", program) or runs_anything(program):
        return False
    if "mcp" in program.lower() or program.lower() == package.lower():
        return True
    return any(_are_alike(one, other) for one in _words(program) for other in _words(package))


def _words(name: str) -> set[str]:
    return {word for word in re.split(r"[-_.]+", name.lower()) if word and word.removesuffix("s") not in _COMMON}


def _are_alike(one: str, other: str) -> bool:
    """Whether two words are equal, or one is the beginning of the other, as `sema` is of `semahash`."""
    shorter, longer = sorted((one, other), key=len)
    return shorter == longer or (len(shorter) >= _TELLING_CHARS and longer.startswith(shorter))
