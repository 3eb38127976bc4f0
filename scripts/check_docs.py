#!/usr/bin/env python3
"""Looks whether what documents and the command's help name exists.

Links and their anchors, files of the tree, options of the library, calls of the command with their options, options of the
scripts, ids of rules. Prints each that does not; exit 1 if there is one.

usage: scripts/check_docs.py [COMMAND]     the command whose help is asked; build/rdmacheck if none is given
       scripts/check_docs.py --self-test [COMMAND]
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "build" / "rdmacheck"
PAGES = ("README.md", "SECURITY.md", "CHANGELOG.md", "interpose/README.md", "tests/README.md", "docs")

FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\[[^]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.M)
CODE = re.compile(r"`([^`\n]+)`")
# A file of the tree: below a folder of it, not below one of somebody else's (`/usr/lib/…`) or of a build.
TOP = "docs|interpose|report|scripts|tests"
PATH = re.compile(rf"(?<![\w./$-])((?:{TOP})/[\w./*{{}},+-]*[\w*}}/])")
SCRIPT = re.compile(r"(?<![\w/-])(scripts/[\w.-]+)((?: +(?:--?[\w-]+|\[[^]\n]*\]))*)")
CALL = re.compile(r"(?<![\w./-])(?:build/)?rdmacheck ([a-z][a-z-]*)\b([^\n`|]*)")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
RULE_SAID = re.compile(r"==(?:ERROR|WARNING|NOTE): rdmacheck: ([\w-]+)|^([a-z]+(?:-[a-z]+)+):[^\s:]", re.M)
HYPHENED = re.compile(r"[a-z]+(?:-[a-z]+)+")
SET = re.compile(r"RDMACHECK_OPTIONS=(?:\"([^\"]*)\"|(\S+))|--option[ =](\S+)")
ASSIGNED = re.compile(r"(?<![\w-])([a-z_]+)=")

# `word-word` that is no rule, and `name=` that is no option: fields of a report or of a fault, words of scenarios.
NO_RULE = {
    "after-read", "event-taken", "folded-bytes", "other-thread", "probe-only", "second-context",  # of reports and faults
    "rxe-vm",
}
NO_OPTION = {
    "after", "caller", "delay", "device", "disassociate", "errno", "kernel", "nth", "program", "rate", "seed", "times",
    "args", "exit", "on", "options",  # RUN of a scenario
    "greeting", "name",  # of examples
    "qpn", "state",  # of objects
    "fast_unwind_on_malloc",  # of a sanitizer
}
# Of the words after `rdmacheck`, those of a sentence.
NO_CALL = {"is", "does", "has", "and", "finds", "watches", "under", "reports", "itself"}


def slug(heading):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", text))


@functools.lru_cache(None)
def anchors(path):
    found, seen = set(), {}
    for heading in HEADING.findall(FENCE.sub("", path.read_text())):
        name = slug(heading)
        found.add(name + (f"-{seen[name]}" if name in seen else ""))
        seen[name] = seen.get(name, 0) + 1
    return found


@functools.lru_cache(None)
def options():
    return set(re.findall(r"^RDMACHECK_(?:OPTION\([\w:]+, |NUMBER\()(\w+)",
                          (ROOT / "interpose/options/options.def").read_text(), re.M)) | {"help"}


@functools.lru_cache(None)
def rules():
    return set(re.findall(r'^RDMACHECK_RULE\(\w+, "([\w-]+)"', (ROOT / "report/rules.def").read_text(), re.M))


@functools.lru_cache(None)
def help_of(call=""):
    words = [COMMAND] + ([call] if call else []) + ["--help"]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout if done.returncode == 0 else None


@functools.lru_cache(None)
def calls():
    text = help_of()
    if text is None:
        sys.exit(f"check_docs.py: {COMMAND} --help fails")
    return re.findall(r"^  ([a-z][a-z-]*) ", text[text.index("Subcommands:"):text.index("Example:")], re.M)


def exists(name):
    """name with `*` and `{a,b}`; in each way that it can be read there must be such a file."""
    braces = re.search(r"\{([^{}]*)\}", name)
    if braces:
        return all(exists(name[:braces.start()] + one + name[braces.end():]) for one in braces[1].split(","))
    # Documents say `report/symbolize` of symbolize.h and symbolize.cc.
    return any(any(ROOT.glob(form)) for form in (name.rstrip("/"), name.rstrip("/") + ".*"))


def wrong_links(path, text):
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        goal = (path.parent / name).resolve() if name else path
        if not goal.exists():
            yield f"link to {target}: no such file"
        elif anchor and (goal.suffix != ".md" or anchor not in anchors(goal)):
            yield f"link to {target}: no such heading"


def wrong_paths(path, text, code):
    # `hooks/reentry.h` is said of interpose/hooks/reentry.h, and in tests/README.md `unit/` of tests/unit/.
    for piece in code:
        place = re.fullmatch(r"([\w-]+/)[\w./*{},+-]*", piece)
        folders = [folder for folder in (ROOT / "interpose", path.parent)
                   if folder != ROOT and place and (folder / place[1]).is_dir()]
        if folders and not any(exists(str((folder / piece).relative_to(ROOT))) for folder in folders):
            yield f"{piece}: no such file"
    for name in PATH.findall(text):
        # A sentence's example (tests/scenario/NAME.c) is no name of a file.
        if not re.search(r"[A-Z]{4}", name.removesuffix("README.md")) and not exists(name.rstrip(".")):
            yield f"{name}: no such file"


def wrong_options(text, code):
    values = [next(filter(None, groups), "") for groups in SET.findall(text)]
    for value in values:
        for name in re.findall(r"(?:^|[: ])([a-z_]+)=", re.sub(r"'[^']*'", "", value)):
            if name not in options() and name != "name":
                yield f"{name}=: no such option of the library"
    for piece in code:
        if " -- " not in piece and not re.search(r"[A-Z_]{4,}=|--", piece):
            for name in ASSIGNED.findall(piece):
                if name not in options() | NO_OPTION:
                    yield f"{name}=: no such option of the library"


def wrong_calls(text):
    for call, rest in CALL.findall(text):
        if call in NO_CALL:
            continue
        if call not in calls():
            yield f"rdmacheck {call}: no such call"
            continue
        known = help_of(call)
        # What stands behind -- is the program's, behind a comment or a pipe somebody else's.
        ours = re.split(r" -- |  # |\s[>&;]|  +(?=[a-z])", rest)[0]
        for option in OPTION.findall(ours):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known):
                yield f"rdmacheck {call} {option}: no such option"


def wrong_script_options(text):
    for script, given in SCRIPT.findall(text):
        if not (ROOT / script).is_file():
            continue  # told by wrong_paths
        for option in OPTION.findall(given):
            source = (ROOT / script).read_text()
            letter = re.search(rf"getopts \"?'?[^\s]*{option[1]}", source) if len(option) == 2 else None
            if option not in source and not letter:
                yield f"{script} {option}: no such option"


def wrong_rules(text, code):
    said = [a or b for a, b in RULE_SAID.findall(text)]
    for rule in said + [piece for piece in code if HYPHENED.fullmatch(piece)]:
        if rule not in rules() and rule not in NO_RULE and rule not in calls():
            yield f"{rule}: no such rule"


def wrong(path, text):
    code = CODE.findall(FENCE.sub("", text))
    yield from wrong_links(path, FENCE.sub("", text))
    yield from wrong_paths(path, text, code)
    yield from wrong_options(text, code)
    yield from wrong_calls("\n".join(code + FENCE.findall(text)))
    yield from wrong_script_options("\n".join(code + FENCE.findall(text)))
    yield from wrong_rules(text, code)


def pages():
    for name in PAGES:
        path = ROOT / name
        if path.is_dir():
            yield from sorted(path.rglob("*.md"))
        elif path.exists():
            yield path


def line_of(text, fault):
    word = fault.removeprefix("link to ").split(":")[0]
    at = text.find(word)
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def check():
    failed = 0
    texts = [(str(path.relative_to(ROOT)), path, path.read_text()) for path in pages()]
    texts += [(f"rdmacheck {call} --help", ROOT / "README.md", help_of(call)) for call in [""] + calls()]
    for name, path, text in texts:
        for fault in wrong(path, text):
            print(f"{name}:{line_of(text, fault)}: {fault}")
            failed = 1
    return failed


SELF_TEST = """\
[here](#rdmacheck) [there](docs/rules.md#leak-at-close) [not there](docs/rules.md#leek) [nor](docs/leek.md)
`docs/rules.md` `scripts/check_{docs,words}.py` `scripts/check_{docs,leek}.py` `tests/leek/*.c` `/usr/scripts/leek`
`strict=1` `strictt=1` `nth=3` `leak-at-close` `leek-at-close` `scripts/build --tests` `scripts/build --leek`
`rdmacheck run --strict -- ./app --leek` `rdmacheck run --leek -- ./app` `rdmacheck leek`
```
RDMACHECK_OPTIONS="json_path='a:b' leek=1" ./app
rdmacheck gate --baseline a.json b.json      # --leek
==1==ERROR: rdmacheck: leek-at-exit: x
```
"""
FAULTS = ["link to docs/rules.md#leek", "link to docs/leek.md", "docs/leek.md", "scripts/check_{docs,leek}.py", "tests/leek/*.c",
          "leek=", "strictt=", "rdmacheck run --leek", "rdmacheck leek", "scripts/build --leek", "leek-at-exit", "leek-at-close"]


def self_test():
    page = ROOT / "README.md"
    found = [fault.split(": ")[0] for fault in wrong(page, SELF_TEST)]
    assert sorted(found) == sorted(FAULTS), f"{sorted(found)}\n{sorted(FAULTS)}"
    assert slug("`%p` and [x](y.md), or *z*?") == "p-and-x-or-z"
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    testing = arguments[:1] == ["--self-test"]
    arguments = arguments[testing:]
    if len(arguments) > 1 or arguments[:1] and arguments[0].startswith("-"):
        sys.exit(__doc__)
    COMMAND = pathlib.Path(arguments[0]) if arguments else COMMAND
    sys.exit(self_test() if testing else check())
