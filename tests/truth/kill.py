#!/usr/bin/env python3
"""Random programs that are killed half way (truth --kill 1): their journals hold what the kernel listed just before.

usage: kill.py LIBRARY PROGRAM COMMAND [SEEDS]
"""
import json
import os
import subprocess
import sys
import tempfile


def journal_account(command, path):
    done = subprocess.run([command, "json", "--no-symbols", path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the journal {path} cannot be read: {done.stderr}")
    report = json.loads(done.stdout)
    counts, numbers, listed = {}, {"qp": [], "mr": []}, True
    for group in report["alive"]:
        kind = group["kind"]
        counts[kind] = counts.get(kind, 0) + group["count"]
        listed = listed and len(group["objects"]) == group["count"]
        for item in group["objects"]:
            if kind in numbers:
                value = item["numbers"]["qpn" if kind == "qp" else "lkey"]
                numbers[kind].append(value if isinstance(value, int) else int(value, 16))
    if not listed:
        sys.exit(f"the report of {path} does not list every object")
    return counts, {kind: sorted(values) for kind, values in numbers.items()}, report["processes"][0].get("remarks", [])


def main(library, program, command, seeds="20"):
    objects = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, LD_PRELOAD=library, RDMACHECK_OPTIONS=f"symbolize=0:log_path=/dev/null:journal_path={folder}/%p")
        done = subprocess.run([program, "--kill", "1", "--seeds", seeds, "--ops", "3000", "--checkpoints", "4"], env=env,
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}the programs did not get as far as their kill: status {done.returncode}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if len(lines) != int(seeds):
            sys.exit(f"{len(lines)} of {seeds} programs said what the kernel has")
        for kernel in lines:
            counts, numbers, remarks = journal_account(command, f"{folder}/{kernel['pid']}")
            ours = {kind: counts.get(kind, 0) for kind in kernel["counts"]}
            theirs = {kind: kernel["numbers"].get(kind, []) for kind in numbers}
            objects += sum(kernel["counts"].values())
            if ours != kernel["counts"] or numbers != theirs or any("torn" in remark for remark in remarks):
                wrong += 1
                print(f"the kernel has {kernel['counts']} {theirs}\nthe journal has {ours} {numbers} {remarks}")
    print(f"{seeds} programs killed, {objects} objects in the kernel's lists, {wrong} journals differ")
    if objects == 0:
        sys.exit("no program had an object when it was killed")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
