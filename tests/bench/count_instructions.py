#!/usr/bin/env python3
"""Counts, with callgrind, what a pair, an event, a report and a start cost, and compares with instructions.json: a slow-down is seen
without a clock.

usage: count_instructions.py --build DIR --made-with COMPILER [--update] [--only NAME]

Each count is of one: twice as many less as many. A difference of more than 3 % fails; --update writes the file anew. Another
compiler or C library makes other code: then the counts are printed, nothing is compared, and the status is 77.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).with_name("instructions.json")
MOST = 0.03
NOT_COMPARED = 77


def count(command, preload=None, json_report=False):
    with tempfile.TemporaryDirectory() as folder:
        # A small environment, for its size is found again in what the loader does.
        env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_LIBRARY_PATH": os.path.join(options.build, "tests/fake/lib")}
        if preload:
            env["LD_PRELOAD"] = preload
            env["RDMACHECK_OPTIONS"] = "log_path=/dev/null:exitcode=0" + (f":json_path={folder}/json" if json_report else "")
        # env as the first program: valgrind itself would be preloaded otherwise.
        assignments = [f"{name}={value}" for name, value in env.items()]
        done = subprocess.run(["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={folder}/%p.out",
                               "env", "-i", *assignments, *command], env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                              capture_output=True, text=True, check=False)
        counts = re.findall(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not counts:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr[-2000:]}")
        return int(counts[-1])


def of_one(what, times, **more):
    program = os.path.join(options.build, "tests/bench/counted")
    few, many = (count([program, what, str(n)], preload=library, **more) for n in (times, 2 * times))
    return (many - few) / times


def start():
    return count(["/bin/true"], preload=library) - count(["/bin/true"])


def report():
    # A thousand stacks, each once: what is written of them is what it costs.
    program = os.path.join(options.build, "tests/bench/counted")
    return count([program, "report", "1000"], preload=library, json_report=True)


COUNTED = {"pair": lambda: of_one("pair", 2000), "pair_fresh": lambda: of_one("fresh", 3000), "event_pair": lambda: of_one("event", 1000),
           "start": start, "report_of_1000": report}


def main():
    made_with = f"{options.made_with}, {os.confstr('CS_GNU_LIBC_VERSION')}"
    baseline = json.loads(BASELINE.read_text())
    counts = {name: round(ask()) for name, ask in COUNTED.items() if options.only in (None, name)}
    if options.update:
        BASELINE.write_text(json.dumps({"made_with": made_with, "counts": {**baseline["counts"], **counts}}, indent=2) + "\n")
    compared = options.update or made_with == baseline["made_with"]
    failed = False
    for name, now in counts.items():
        before = now if options.update else baseline["counts"][name]
        differs = now / before - 1
        failed |= compared and abs(differs) > MOST
        print(f"{name:<16} {now:>12,} instructions  {differs:+7.1%} of {before:,}")
    if not compared:
        print(f"not compared: made with {baseline['made_with']}; here it is {made_with}")
        return NOT_COMPARED
    if failed:
        print(f"more than {MOST:.0%} from {BASELINE.name}. Is it meant to be so? tests/bench/count_instructions.py --update, and docs/performance.md")
    return failed


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", required=True)
parser.add_argument("--made-with", required=True)
parser.add_argument("--update", action="store_true")
parser.add_argument("--only", choices=COUNTED)
options = parser.parse_args()
options.build = os.path.abspath(options.build)
library = os.path.join(options.build, "librdmacheck.so")
sys.exit(main())
