#!/usr/bin/env python3
"""Leak and passing variant of every row of the tables, by all_rows.cc on the fake libibverbs.

    run_all_rows.py --library FILE --program FILE --fake DIR

Leaked, the row's object is one finding: of the row's kind, one object, created in make_VERB of all_rows.cc. Released,
there is no finding. What it needed on the way is left too, and is someone else's row.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(args, mode, verb, report):
    env = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(args.fake / "lib"), "LD_PRELOAD": str(args.library),
           "RDMACHECK_OPTIONS": f"json_path={report}:log_path=/dev/null:strict=1"}
    for name in ("LSAN_OPTIONS", "ASAN_OPTIONS", "TSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return subprocess.run([str(args.program), mode, verb], env=env, capture_output=True, text=True, timeout=60)


def leak_differs(args, verb, kind, folder):
    report = folder / "leak.json"
    done = run(args, "leak", verb, report)
    if done.returncode != 23:
        return f"status {done.returncode}, not 23: {done.stderr}"
    document = json.loads(report.read_text())
    own = []
    for finding in document["findings"]:
        created = [s for s in finding["stacks"] if s["role"] == "created"]
        first = created[0]["frames"][0] if created and created[0]["frames"] else {}
        if re.search(rf"\bmake_{verb}\(", first.get("function") or ""):
            own.append((finding, first))
    told = [f"{f['rule']} {f['object']['kind']} at {x.get('function')}" for f, x in own]
    own = [(f, x) for f, x in own if f["object"]["kind"] == kind]
    if len(own) != 1:
        everything = [f["message"] + str([s["frames"][:1] for s in f["stacks"]]) for f in document["findings"]]
        return f"{len(own)} findings of kind {kind} under make_{verb}, not 1 ({told})\n    " + "\n    ".join(everything)
    finding, first = own[0]
    if finding["count"] != 1 or finding["severity"] != "error":
        return f"{finding['count']} objects, severity {finding['severity']}"
    if finding["rule"] not in ("leak-at-close", "open-at-exit", "device-list-leak"):
        return f"rule {finding['rule']}"
    if not (first.get("file") or "").endswith("/all_rows.cc") or not first.get("line"):
        return f"no file and line: {first}"
    counted = document["summary"]["kinds"][kind]
    if counted["alive"] < 1:
        return f"summary.kinds.{kind} is {counted}"
    wrong = [f["rule"] for f in document["findings"] if f["rule"] not in ("leak-at-close", "open-at-exit", "device-list-leak")]
    return f"other rules speak: {wrong}" if wrong else None


def clean_differs(args, verb, kind, folder):
    report = folder / "clean.json"
    done = run(args, "clean", verb, report)
    document = json.loads(report.read_text()) if report.exists() else None
    if done.returncode != 0:
        messages = [f["message"] for f in document["findings"]] if document else "no report"
        return f"status {done.returncode}: {done.stderr} {messages}"
    if document is None:
        return "no report"
    if document["findings"]:
        return "findings: " + "; ".join(f["message"] for f in document["findings"])
    counted = document["summary"]["kinds"].get(kind)
    # A descriptor goes by close(2): its entry leaves the ledger only when somebody looks.
    if counted is None or counted["created"] < 1 or counted["alive"] != 0:
        return f"summary.kinds.{kind} is {counted}"
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("library", "program", "fake"):
        parser.add_argument("--" + name, type=lambda text: pathlib.Path(text).resolve(), required=True)
    args = parser.parse_args()
    listed = subprocess.run([str(args.program), "list"], env={"LD_LIBRARY_PATH": str(args.fake / "lib")},
                            capture_output=True, text=True)
    if listed.returncode != 0:
        sys.exit(f"{listed.stdout}{listed.stderr}")
    failed = 0
    rows = [line.split() for line in listed.stdout.splitlines()]
    with tempfile.TemporaryDirectory(prefix="all_rows.") as folder:
        folder = pathlib.Path(folder)
        for verb, kind, release in rows:
            for file in folder.iterdir():
                file.unlink()
            for mode, differs in (("leak", leak_differs), ("clean", clean_differs)):
                difference = differs(args, verb, kind, folder)
                if difference:
                    failed += 1
                    print(f"DIFFERS {mode} {verb}: {difference}")
            print(f"row {verb}: {kind}, released by {release}")
    print(f"{len(rows)} rows, {failed} differ")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
