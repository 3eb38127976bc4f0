#!/usr/bin/env python3
"""Completion of the installed command, as a user sees it: keys are typed into the shell on a terminal of its own.

usage: completion_test.py BUILD bash|zsh|fish|words    words: what the command offers is what its help has
"""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

# Typed, with TAB at the end -> the line then. `|` is where the cursor must be; a blank before it: the word is done.
TYPED = {
    "sn": "snapshot |",
    "run --req": "run --require-verbs |",
    "run --json=rep": "run --json=report.json |",
    "run --strict --option unw": "run --strict --option unwinder=|",
    "run --option unwinder=l": "run --option unwinder=libunwind |",
    "run --option=event_races=al": "run --option=event_races=always |",
    "run --option log_path=rep": "run --option log_path=report.json |",
    "run --fault ibv_create_srq_": "run --fault ibv_create_srq_ex |",
    "run --json report.json --html rep": "run --json report.json --html report.json |",
    "run --option verbosity=1 -- ./my_p": "run --option verbosity=1 -- ./my_program |",
    "run ./my_program rep": "run ./my_program report.json |",
    "show rep": "show report.json |",
    "gate --base": "gate --baseline |",
    "html --debug-root fol": "html --debug-root folder/|",
    "rules double": "rules double-destroy |",
    "diff report.json rep": "diff report.json report.json |",
}
# Each prints the line and the cursor's place on ^G, between marks.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], r"""
. /usr/share/bash-completion/bash_completion
bind -x '"\C-g": printf "<[%s|%s]>\n" "$READLINE_LINE" "$READLINE_POINT"'
PS1='ready> '
"""),
    "zsh": (["zsh", "-f", "-i"], r"""
fpath=("$PREFIX/share/zsh/vendor-completions" $fpath)
autoload -Uz compinit; compinit -u -D
show_line() { print -r -- "<[$BUFFER|$CURSOR]>" }
zle -N show_line; bindkey '^G' show_line; bindkey -e
bindkey '^G' show_line
PS1='ready> '
"""),
    "fish": (["fish", "-i"], r"""
bind \cg 'printf "<[%s|%s]>\n" (commandline) (commandline -C)'
function fish_prompt; printf 'ready> '; end
"""),
}


class Terminal:
    """A shell on a terminal. It waits as long as it takes: ctest has the time limit."""

    def __init__(self, words, environment, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.seen = b""

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, pattern):
        while True:
            found = re.search(pattern, self.seen, re.S)
            if found:
                self.seen = self.seen[found.end():]
                return found
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                sys.exit(f"the shell ended: {self.seen!r}")
            self.seen += more


def in_shell(shell, prefix, work):
    folder = work / "here"
    (folder / "folder").mkdir(parents=True)
    (folder / "report.json").write_text("{}")
    (folder / "my_program").write_text("#!/bin/sh\n")
    (folder / "my_program").chmod(0o755)
    environment = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "HOME": str(work), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "PREFIX": str(prefix), "XDG_DATA_DIRS": f"{prefix}/share:/usr/share", "COLUMNS": "200", "LINES": "50"}
    words, setting = SHELLS[shell]
    terminal = Terminal(words, environment, folder)
    (work / "setting").write_text(setting)
    terminal.type(f". {work}/setting\n")
    terminal.wait(rb"ready> ")
    wrong = []
    for typed, wanted in TYPED.items():
        terminal.type(f"rdmacheck {typed}\t\a")
        found = terminal.wait(rb"<\[([^\]]*)\|(\d+)\]>")
        line, cursor = found[1].decode(), int(found[2])
        if line[:cursor] + "|" + line[cursor:] != f"rdmacheck {wanted}":
            wrong.append(f"{typed!r} became {line[:cursor]}|{line[cursor:]}")
        terminal.type("\x15")
    # fish shows its list in a pager, which needs a better terminal.
    terminal.type("complete -C 'rdmacheck '\n" if shell == "fish" else "rdmacheck \t\t")
    terminal.wait(rb"(?=.*\brun\b)(?=.*\bshow\b)(?=.*\bgate\b)(?=.*\brules\b)")
    if wrong:
        sys.exit("\n".join(wrong))


def offered(command, *words):
    said = subprocess.run([command, "complete", *words], text=True, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    assert said[-1].startswith(":"), said
    return {line.split("\t")[0] for line in said[:-1]}


def words(command):
    def help_(*call):
        return subprocess.run([command, *call, "--help"], text=True, check=True, stdout=subprocess.PIPE).stdout

    top = help_()
    calls = re.findall(r"^  (\S+)", top[top.index("Subcommands:"):top.index("Example:")], re.M)
    assert offered(command, "") == set(calls), offered(command, "") ^ set(calls)
    for call in calls:
        options = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", help_(call), re.M))
        assert offered(command, call, "-") == options, (call, offered(command, call, "-") ^ options)
    table = subprocess.run([command, "options"], text=True, check=True, stdout=subprocess.PIPE).stdout
    names = set(re.findall(r"^  (\w+=)", table, re.M))
    assert offered(command, "run", "--option", "") == names
    rules = subprocess.run([command, "rules"], text=True, check=True, stdout=subprocess.PIPE).stdout
    assert offered(command, "rules", "") == set(re.findall(r"^\S+", rules, re.M))


def main():
    build, what = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        subprocess.run(["cmake", "--install", build, "--prefix", work / "prefix", "--component", "runtime"], check=True,
                       stdout=subprocess.DEVNULL)
        if what == "words":
            words(work / "prefix/bin/rdmacheck")
        else:
            assert shutil.which(what), f"{what} is not here: scripts/build --tests installs it"
            in_shell(what, work / "prefix", work)


main()
