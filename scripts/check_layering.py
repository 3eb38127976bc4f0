#!/usr/bin/env python3
"""Checks that the rooms of the tree use each other downwards only, and draws them into docs/design.md.

A room is a folder. The two lists below are the two programs, top to bottom: a file may include what lies in its own room or
in a room further down its list; a room that both programs have keeps to both. A function that a header declares is defined in
the same room; one that a source file declares for itself (C does not read our headers) in the same room or further down.

usage: scripts/check_layering.py [ROOT]      prints each line that breaks a rule, and whether the picture is out of date
       scripts/check_layering.py --draw      writes the picture into docs/design.md
       scripts/check_layering.py --self-test
"""
import pathlib
import re
import sys
import tempfile

LIBRARY = ["interpose/process", "interpose/hooks", "interpose/effects", "interpose/judge", "interpose/checker",
           "interpose/verbs", "interpose/stacks", "interpose/ledger", "interpose/libraries", "interpose/options",
           "interpose/base", "report"]
COMMAND = ["report/cli", "interpose/options", "report/forms", "report/reader", "report"]
# librdmafault.so. What it reads as its faults the command reads too, to say before a run what makes no sense.
FAULTS = ["interpose/fault", *LIBRARY[1:]]
FAULT_WORDS = {"interpose/fault/spec.h", "interpose/fault/verb_names.h"}
ROOMS = {
    "interpose/fault": "librdmafault.so: verbs that fail, devices that are lost",
    "interpose/process": "when things happen: load, exit, annotations",
    "interpose/hooks": "how a call reaches us",
    "interpose/effects": "what each verb does: the tables and their words",
    "interpose/judge": "the rules",
    "interpose/checker": "what all rules share: Call, Checker, Reporter; fork, snapshots",
    "interpose/verbs": "the libraries' structs, as far as we read them",
    "interpose/stacks": "unwinding, the depot, loaded modules",
    "interpose/ledger": "objects, the dead, threads",
    "interpose/libraries": "the real functions, in the loaded files",
    "interpose/options": "what the user, or rdmacheck run, asks for",
    "interpose/base": "memory, locks, clock, stacks of our own",
    "interpose/include": "the headers for users",
    "report": "findings, the text and the JSON report",
    "report/cli": "the command",
    "report/forms": "the other forms of a report",
    "report/reader": "reading reports",
}

# A header of others -> the folders or files that may include it. Everybody may include what no row names.
THEIRS = [
    (r"infiniband/", ["interpose/verbs/verbs_abi.h", "interpose/hooks/"]),
    (r"rdma/", ["interpose/verbs/cm_abi.h", "interpose/fault/"]),
    (r"libunwind", ["interpose/stacks/unwind.cc"]),
    (r"dlfcn\.h", ["interpose/hooks/", "interpose/fault/", "interpose/libraries/", "report/symbolize.cc"]),
    (r"elfutils/|dwarf\.h|libelf\.h", ["report/symbolize.cc"]),
    (r"nlohmann/", ["report/json_writer.cc", "report/json_values.h", "report/cli/", "report/forms/"]),
    (r"absl/", ["interpose/"]),
    (r"(iostream|fstream|sstream)$", ["report/cli/", "report/forms/"]),
    (r"gtest/|gmock/|benchmark/", ["interpose/include/rdmacheck/gtest.h"]),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# At the begin of a line: a function of a namespace, or a member defined outside of its class.
FUNCTION = re.compile(r"^(?!using|typedef|namespace|static_assert|return|else|if|for|while|switch|#|//|template <>)"
                      r"[A-Za-z_][\w:<>,&* \[\]]*?[ *&](?:(\w+)::)?(\w+)\(")
# What the watched libraries define; the headers of interpose/verbs declare what the installed ones lack.
OF_LIBRARIES = re.compile(r"(__)?(ibv|rdma|mlx5dv|mlx4dv|efadv|hnsdv)_")
CLASS = re.compile(r"^(?:class|struct)(?: alignas\(\d+\))? (\w+)[^;]*\{")
NO_FUNCTIONS = {"operator", "decltype", "defined", "sizeof", "alignas", "__attribute__"}
BEGIN, END = "<!-- rooms: drawn by scripts/check_layering.py -->\n", "<!-- /rooms -->\n"


def room_of(name):
    return max((room for room in ROOMS if name.startswith(room + "/")), key=len, default=None)


def below(room):
    """The rooms whose files this one's may include."""
    lists = [program for program in (LIBRARY, COMMAND, FAULTS) if room in program]
    return set.intersection(*(set(program[program.index(room):]) for program in lists)) if lists else {room}


def sources(root):
    for file in sorted([*root.glob("interpose/**/*"), *root.glob("report/**/*")]):
        if file.suffix in {".c", ".cc", ".h", ".def"}:
            yield file.relative_to(root).as_posix(), file


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def broken_includes(root):
    for name, file in sources(root):
        room = room_of(name)
        if room is None:
            yield name, 1, "lies in a folder that this script has no room for"
            continue
        for number, quoted, header in includes(file):
            ours = header.startswith(("interpose/", "report/", "tests/", "scripts/"))
            if quoted and not ours and not header.startswith("absl/"):
                yield name, number, f'"{header}": write the path from the root of the tree'
            elif ours and not quoted:
                yield name, number, f"<{header}>: ours, so in quotes"
            elif ours:
                if not (root / header).exists():
                    yield name, number, f'"{header}": no such file'
                elif room_of(header) not in below(room) and not (room == "report/cli" and header in FAULT_WORDS):
                    yield name, number, f'"{header}": {room_of(header)} does not lie below {room}'
            else:
                for pattern, places in THEIRS:
                    if re.match(pattern, header) and not any(name == p or p.endswith("/") and name.startswith(p) for p in places):
                        yield name, number, f"<{header}>: only in {' '.join(places) or 'tests'}"
    # A scenario is written as a user would write it, but for the one that is made of the tables' rows.
    for file in sorted(root.glob("tests/scenario/**/*")):
        if file.suffix not in {".c", ".cc", ".h"} or file.parent.name == "rows":
            continue
        for number, _, header in includes(file):
            if header.startswith(("interpose/", "report/")) and header != "interpose/include/rdmacheck/rdmacheck.h":
                yield file.relative_to(root).as_posix(), number, f"{header}: a scenario sees only what a user sees"


def functions(file):
    """(line, class or None, name, is it a definition?) of each function that begins at the begin of a line."""
    lines = file.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        match = FUNCTION.match(line)
        if match is None or match[2].isupper() or match[2] in NO_FUNCTIONS:
            continue
        text = " ".join(lines[number - 1:number + 11])
        depth, end = 0, len(text)
        for at in range(match.end() - 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            if depth == 0:
                end = at + 1
                break
        rest = text[end:]
        stop = re.search(r"[;{]", rest)
        if stop is not None and "=" not in rest[:stop.start()]:
            yield number, match[1], match[2], stop[0] == "{"


def broken_functions(root):
    defined, classes, declared = {}, {}, []
    for name, file in sources(root):
        room = room_of(name)
        if room is None or room == "interpose/include" or file.suffix == ".def":
            continue
        if file.suffix == ".h":
            for line in file.read_text().splitlines():
                if match := CLASS.match(line):
                    classes.setdefault(match[1], set()).add(room)
        for number, owner, function, is_definition in functions(file):
            if is_definition:
                defined.setdefault(function, set()).add(room)
                if owner is not None:
                    declared.append((name, number, owner, function, room))
            elif owner is None:
                declared.append((name, number, None, function, room))
    for name, number, owner, function, room in declared:
        if owner is not None:
            if owner in classes and room not in classes[owner]:
                yield name, number, f"{owner}::{function}: the class is of {' '.join(sorted(classes[owner]))}"
        elif function not in defined:
            if name.endswith(".h") and not OF_LIBRARIES.match(function):
                yield name, number, f"{function}: declared and nowhere defined"
        elif name.endswith(".h") and room not in defined[function]:
            yield name, number, f"{function}: declared here, defined in {' '.join(sorted(defined[function]))}"
        elif not name.endswith(".h") and not defined[function] & below(room):
            yield name, number, f"{function}: declared here, defined in {' '.join(sorted(defined[function]))}, further up"


def picture(root):
    uses = {}
    for name, file in sources(root):
        uses.setdefault(room_of(name), set()).update(room_of(header) for _, quoted, header in includes(file) if quoted)
    lines = ["```"]
    for program in (LIBRARY, COMMAND, FAULTS[:1]):
        width = max(len(room) for room in program)
        for room in program:
            if program is COMMAND and room in LIBRARY and room != "report":
                continue
            if program is LIBRARY or room not in LIBRARY:
                lines.append(f"{room:{width}}  {ROOMS[room]}")
                arrows = [other.replace("interpose/", "") for other in LIBRARY + COMMAND[:1] + COMMAND[2:-1]
                          if other in uses.get(room, ()) and other != room]
                if arrows:
                    lines.append(f"{'':{width}}  └─► {' '.join(arrows)}")
        lines.append("")
    return "\n".join(lines[:-1] + ["```", ""])


def drawn(root):
    page = root / "docs/design.md"
    text = page.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return page, text, text[:begin] + picture(root) + text[end:]


def broken_rules(root):
    yield from broken_includes(root)
    yield from broken_functions(root)


def self_test():
    bad = {
        "report/a.cc": '#include "interpose/ledger/kind.h"\n',
        "interpose/ledger/b.cc": '#include "interpose/judge/judge.h"\n',
        "interpose/judge/c.cc": "#include <infiniband/verbs.h>\n",
        "interpose/ledger/d.cc": "#include <dlfcn.h>\n",
        "interpose/process/e.cc": "#include <libunwind.h>\n",
        "interpose/hooks/f.cc": '#include "intercept.h"\n',
        "interpose/other/g.cc": "\n",
        "interpose/options/h.cc": '#include "interpose/base/clock.h"\n',
        "interpose/effects/i.h": "void Attach(int context,\n            int more);\n",
        "interpose/checker/j.h": "class Call {\n};\nint Nowhere(int a);\n",
        "interpose/judge/k.cc": "int Call::Stack() const {\n}\n",
        "interpose/ledger/l.cc": "void Judge();\n",
    }
    good = {
        "interpose/ledger/kind.h": "", "interpose/judge/judge.h": "void Judge();\n", "interpose/base/clock.h": "",
        "interpose/hooks/attach.cc": "void Attach(int context, int more) {\n}\n",
        "interpose/judge/judge.cc": '#include "interpose/ledger/kind.h"\nvoid Judge() {\n}\n',
        "interpose/hooks/entry.c": "void Judge();\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**bad, **good}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = {name for name, _, _ in broken_rules(root)}
        assert found == set(bad), found ^ set(bad)
        (root / "docs").mkdir()
        page = root / "docs/design.md"
        page.write_text("a\n" + BEGIN + "old\n" + END + "b\n")
        new = drawn(root)[2]
        assert "└─► ledger" in new and "old" not in new and new.endswith(END + "b\n"), new


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    draw = sys.argv[1:] == ["--draw"]
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 and not draw else pathlib.Path(__file__).resolve().parent.parent
    page, old, new = drawn(root)
    if draw:
        page.write_text(new)
        return 0
    failed = 0
    for name, number, what in broken_rules(root):
        print(f"{name}:{number}: {what}")
        failed = 1
    if old != new:
        print(f"{page}: the picture of the rooms is not of these includes: scripts/check_layering.py --draw")
        failed = 1
    return failed


sys.exit(main())
