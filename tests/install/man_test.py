#!/usr/bin/env python3
"""The manual pages as they are installed: man and mandoc read them without a complaint, and each option, rule, call and
function is in them.

usage: man_test.py BUILD SOURCE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    assert done.returncode == 0 and not done.stderr, f"{done.args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def words_of_command(command):
    """Calls, and the options of each."""
    help_ = run(command, "--help")
    calls = re.findall(r"^  (\S+)", help_[help_.index("Subcommands:"):help_.index("Example:")], re.M)
    assert len(calls) > 10, help_
    yield from (f"rdmacheck {call}" for call in calls)
    for call in calls:
        options = re.findall(r"--[a-z][a-z-]*", re.sub(r"(?s)\nExample:.*", "", run(command, call, "--help")))
        assert "--help" in options
        yield from options


def words_of_library(command, header):
    options = re.findall(r"^  (\w+=)", run(command, "options"), re.M)
    rules = re.findall(r"^[\w-]+", run(command, "rules"), re.M)
    functions = re.findall(r"\b(rdmacheck_\w+\(.*)\) \{", header.read_text())
    assert len(options) > 10 and len(rules) > 10 and len(functions) == 8, (options, rules, functions)
    return options + [f"{rule} (" for rule in rules] + functions


def main():
    build, source = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    command = build / "rdmacheck"
    with tempfile.TemporaryDirectory() as prefix:
        run("cmake", "--install", build, "--prefix", prefix, "--component", "runtime")
        folder = pathlib.Path(prefix) / "share/man"
        wanted = {
            "rdmacheck.1": list(words_of_command(command)),
            "librdmacheck.7": words_of_library(command, source / "interpose/include/rdmacheck/rdmacheck.h"),
        }
        assert sorted(page.name for page in folder.rglob("*.*")) == sorted(wanted)
        for name, words in wanted.items():
            page = next(folder.rglob(name))
            run("mandoc", "-T", "lint", "-W", "warning", page)
            # An empty configuration: the index of this machine's own pages is not asked, and none is written.
            environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANPATH": str(folder), "MANWIDTH": "1000"}
            text = run("man", "-C", os.devnull, "--warnings", name.split(".")[0], env=environment).replace("‐", "-")
            missing = [word for word in words
                       if re.search(rf"(?<![\w-]){re.escape(word)}" + (r"(?![\w-])" if word[-1].isalnum() else ""), text) is None]
            assert not missing, f"{name} lacks {missing}"


main()
