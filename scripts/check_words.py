#!/usr/bin/env python3
"""Looks for words that are not the field's, in all that people read: documents, sentences, comments, tests.

A reader of a report may have another first language, so what is written is short and literal, in the words of the man pages.
Prints each place with the word to write instead; exit 1 if there is one.

usage: scripts/check_words.py
       scripts/check_words.py --self-test
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is not written -> what is.
WORDS = {
    r"for ever\b": "forever",
    r"clean twins?\b": "passing variant",
    r"stand-in libibverbs|the stand-in\b": "fake libibverbs",
    r"mend(s|ed|ing)?\b": "fix",
    r"(verb|call|destroy|kernel|function|it) answers\b": "returns",
    r"answer(s|ed) (E[A-Z]{3,}|-1|0|NULL)\b": "returns",
    r"speaks? alone\b": "is reported",
    r"nobody is left to ack\b": "the thread that received it has exited",
    r"this very thread\b": "the calling thread",
    r"legal,? and quiet\b": "not reported",
    r"accuses (nobody|the)\b": "say what is reported",
    r"goes before\b": "is destroyed while … still uses it",
}
ALL = re.compile("|".join(f"(?P<w{i}>\\b{word})" for i, word in enumerate(WORDS)), re.I)
SKIPPED = ("report/forms/page/", "docs/images/", "tests/forms/golden/", "scripts/check_words.py")


def found(text):
    for number, line in enumerate(text.splitlines(), 1):
        for match in ALL.finditer(line):
            yield number, match[0], list(WORDS.values())[int(match.lastgroup[1:])] if match.lastgroup else ""


def main(arguments):
    if arguments == ["--self-test"]:
        lines = [word for _, word, _ in found("it answers EBUSY\nwaits for ever\na clean twin\nreturns 0, forever\n")]
        assert lines == ["it answers", "for ever", "clean twin"], lines
        return 0
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    failed = 0
    for name in files:
        if not name or name.startswith(SKIPPED) or not (ROOT / name).is_file():
            continue
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        for number, word, instead in found(text):
            print(f"{name}:{number}: “{word}”: write {instead}")
            failed = 1
    return failed


sys.exit(main(sys.argv[1:]))
