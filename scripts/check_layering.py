#!/usr/bin/env python3
"""Checks who includes whom (docs/design.md): interpose runs inside the user's call, report runs where findings are told
and knows no verbs, the ledger knows neither. Prints each include that breaks a rule; exit 1 if there is one.

usage: scripts/check_layering.py [ROOT]
       scripts/check_layering.py --self-test
"""
import pathlib
import re
import sys
import tempfile

# Folder -> what its files may include of ours, as prefixes. The longest matching folder decides.
OURS = {
    "interpose/verbs": ["interpose/verbs/", "interpose/rdmacm/rdmacm.def", "interpose/judge/call.h", "interpose/judge/judge.h",
                        "interpose/ledger/"],
    "interpose/hooks": ["interpose/hooks/", "interpose/verbs/", "interpose/rdmacm/cm_effect.h",
                        "interpose/runtime/runtime.h", "interpose/runtime/guard.h", "interpose/judge/judge.h",
                        "interpose/ledger/"],
    "interpose/judge": ["interpose/judge/", "interpose/rdmacm/cm_judge.h", "interpose/ledger/", "interpose/runtime/runtime.h",
                        "interpose/runtime/guard.h",
                        "interpose/hooks/disassoc.h", "interpose/verbs/fingerprint.h",
                        "interpose/verbs/all_verbs.def",
                        "report/finding.h", "report/errno_name.h", "report/frugal.h", "report/limits.h",
                        "report/process_id.h"],
    "interpose/rdmacm": ["interpose/rdmacm/", "interpose/verbs/", "interpose/judge/", "interpose/ledger/",
                         "interpose/runtime/runtime.h", "report/finding.h", "report/errno_name.h"],
    "interpose/ledger": ["interpose/ledger/", "report/mapped_file.h", "report/frugal.h", "report/process_id.h"],
    "interpose/runtime": ["interpose/runtime/", "interpose/judge/", "interpose/ledger/", "report/"],
    "interpose/include": [],
    "report": ["report/"],
    "report/cli": ["report/", "interpose/runtime/options.h", "interpose/runtime/run_mark.h"],
}
# The only file that sees everything.
EVERYTHING = {"interpose/runtime/startup.cc"}

# A header of others -> the folders or files that may include it. Everybody may include what no row names.
THEIRS = [
    (r"infiniband/", ["interpose/verbs/verbs_abi.h", "interpose/hooks/"]),
    (r"rdma/", ["interpose/rdmacm/cm_abi.h"]),
    (r"libunwind", ["interpose/ledger/unwind.cc"]),
    (r"dlfcn\.h", ["interpose/hooks/", "report/symbolize.cc"]),
    (r"elfutils/|dwarf\.h|libelf\.h", ["report/symbolize.cc"]),
    (r"nlohmann/", ["report/json_writer.cc", "report/json_values.h", "report/cli/", "report/forms/"]),
    (r"absl/", ["interpose/"]),
    (r"(iostream|fstream|sstream)$", ["report/cli/", "report/forms/"]),
    (r"gtest/|gmock/|benchmark/", []),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def allowed(path, prefixes):
    return any(path == p or (p.endswith("/") and path.startswith(p)) for p in prefixes)


def includes(file):
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def broken_rules(root):
    for file in sorted([*root.glob("interpose/**/*"), *root.glob("report/**/*")]):
        if file.suffix not in {".c", ".cc", ".h", ".def"}:
            continue
        name = file.relative_to(root).as_posix()
        folder = max((f for f in OURS if name.startswith(f + "/")), key=len, default=None)
        if folder is None:
            yield name, 1, "lies in a folder that this script has no rule for"
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
                if name not in EVERYTHING and not allowed(header, OURS[folder]):
                    yield name, number, f'"{header}": {folder} may include of ours only {" ".join(OURS[folder]) or "nothing"}'
            else:
                for pattern, places in THEIRS:
                    if re.match(pattern, header) and not allowed(name, places):
                        yield name, number, f"<{header}>: only in {' '.join(places) or 'tests'}"
    # A scenario is written as a user would write it, but for the one that is made of the tables' rows.
    for file in sorted(root.glob("tests/scenario/**/*")):
        if file.suffix not in {".c", ".cc", ".h"} or file.parent.name == "rows":
            continue
        for number, _, header in includes(file):
            if header.startswith(("interpose/", "report/")) and header != "interpose/include/rdmacheck/rdmacheck.h":
                yield file.relative_to(root).as_posix(), number, f"{header}: a scenario sees only what a user sees"


def self_test():
    bad = {
        "report/a.cc": '#include "interpose/ledger/kind.h"\n',
        "interpose/ledger/b.cc": '#include "report/finding.h"\n',
        "interpose/judge/c.cc": "#include <infiniband/verbs.h>\n",
        "interpose/ledger/d.cc": "#include <dlfcn.h>\n",
        "interpose/runtime/e.cc": "#include <libunwind.h>\n",
        "interpose/hooks/f.cc": '#include "intercept.h"\n',
        "interpose/other/g.cc": "\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**bad, "interpose/ledger/kind.h": "", "report/finding.h": ""}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = {name for name, _, _ in broken_rules(root)}
        assert found == set(bad), found ^ set(bad)


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    failed = 0
    for name, number, what in broken_rules(root):
        print(f"{name}:{number}: {what}")
        failed = 1
    return failed


sys.exit(main())
