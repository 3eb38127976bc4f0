#!/usr/bin/env python3
"""Checks commit subjects: `area: Do one thing`, at most 64 characters, then an empty line and the reason
(docs/contributing.md). Prints what is wrong, one line each; exit 1 if anything is.

usage: scripts/check_commit.py [REVISION-RANGE]     HEAD and all before it by default
       scripts/check_commit.py --file MESSAGE       as a commit-msg hook
       scripts/check_commit.py --self-test
"""
import pathlib
import re
import subprocess
import sys

AREAS = {"build", "ci", "docs", "scripts", "tests", "interpose", "base", "checker", "effects", "fault", "hooks", "judge", "ledger",
         "libraries", "options", "process", "rdmacm", "runtime", "stacks", "verbs",
         "report", "cli", "forms"}
LONGEST = 64


def complaints(message):
    subject, _, rest = message.partition("\n")
    match = re.fullmatch(r"([a-z_]+): (.+)", subject)
    if not match:
        yield "not of the form 'area: Do one thing'"
        return
    area, text = match.groups()
    if area not in AREAS:
        yield f"area '{area}' is none of {', '.join(sorted(AREAS))}"
    if len(subject) > LONGEST:
        yield f"{len(subject)} characters; {LONGEST} are enough"
    if not text[0].isupper():
        yield "the words after the colon begin with a capital letter"
    if text.endswith("."):
        yield "no full stop at the end"
    if rest and not rest.startswith("\n"):
        yield "an empty line belongs after the subject"
    if not rest.strip():
        yield "the body must say why"


def self_test():
    assert not list(complaints("ledger: Keep the entry when destroy fails\n\nIt may be tried again."))
    bad = ["Fix bug\n\nWhy.", "core: Fix it\n\nWhy.", "ledger: " + "Long " * 15 + "line\n\nWhy.", "ledger: keep it\n\nWhy.",
           "ledger: Keep it.\n\nWhy.", "ledger: Keep it\nWhy.", "ledger: Keep it\n\n \n"]
    for message in bad:
        assert len(list(complaints(message))) == 1, (message, list(complaints(message)))


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        self_test()
        return 0
    if arguments[:1] == ["--file"]:
        lines = pathlib.Path(arguments[1]).read_text().splitlines()
        commits = [("this message", "\n".join(line for line in lines if not line.startswith("#")))]
    else:
        root = pathlib.Path(__file__).resolve().parent.parent
        if not (root / ".git").exists():
            print("not a git checkout: there are no commits to look at")
            return 0
        # The checkout may be somebody else's (a container's bind mount, a CI's clone).
        git = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
        log = subprocess.run([*git, "log", "--no-merges", "--format=%h%x00%B%x01", *(arguments or ["HEAD"])],
                             capture_output=True, text=True, check=True).stdout
        commits = [tuple(item.strip("\n").split("\0", 1)) for item in log.split("\1") if item.strip()]
    failed = 0
    for name, message in commits:
        for complaint in complaints(message):
            print(f"{name} {message.splitlines()[0] if message else ''!r}: {complaint}")
            failed = 1
    return failed


sys.exit(main())
