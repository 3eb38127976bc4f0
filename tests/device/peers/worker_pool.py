#!/usr/bin/env python3
"""A pool of pyverbs workers (multiprocessing, fork and spawn) whose children end by os._exit with MRs registered: rdmacheck run
names the Python line of each. To be run beside a device: scripts/rxe-vm -- .../worker_pool.py COMMAND

usage: worker_pool.py COMMAND
       worker_pool.py worker fork|spawn leave|close
"""
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile

WORKERS = 3


def register_left(pd, access):
    from pyverbs.mr import MR
    return MR(pd, 4096, access)  # @left


def register_right(pd, access):
    from pyverbs.mr import MR
    return MR(pd, 8192, access)  # @right


def work(number, leaves):
    import pyverbs.enums as e
    from pyverbs.device import Context
    from pyverbs.pd import PD
    context = Context(name="rxe0")
    pd = PD(context)
    register = register_right if number == WORKERS - 1 else register_left
    mrs = [register(pd, e.IBV_ACCESS_LOCAL_WRITE) for _ in range(number + 1)]
    if not leaves:
        for each in (*mrs, pd, context):
            each.close()
    os._exit(0)


def pool(method, leaves):
    made = multiprocessing.get_context(method)
    processes = [made.Process(target=work, args=(number, leaves)) for number in range(WORKERS)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0, process.exitcode


def line_of(mark):
    return next(number for number, line in enumerate(open(__file__), 1) if line.rstrip().endswith("# @" + mark))


def check(command, method):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "merged.json")
        subject = ["/usr/bin/python3", __file__, "worker", method]
        done = subprocess.run([command, "run", "--strict", "--json", report, "--", *subject, "leave"], capture_output=True, text=True)
        print(done.stderr)
        assert done.returncode == 23, done.returncode
        # Each worker on its own: which line, and how many.
        found = json.load(open(report))
        mrs = {}
        for finding in found["findings"]:
            if finding["rule"] != "open-at-exit" or finding["object"]["kind"] != "mr":
                continue
            frames = next(stack["frames"] for stack in finding["stacks"] if stack["role"] == "created")
            python = [frame for frame in frames if frame.get("language") == "python"]
            names = [frame["function"].rpartition(".")[2] for frame in python]
            assert names[0] in ("register_left", "register_right") and "work" in names, names
            assert python[0]["file"].endswith("worker_pool.py"), python[0]
            mrs.setdefault(python[0]["line"], 0)
            mrs[python[0]["line"]] += finding["count"]
        expected = {line_of("left"): sum(range(1, WORKERS)), line_of("right"): WORKERS}
        assert mrs == expected, (mrs, expected)
        ended = re.findall(r"process \d+ \([^)]*\) ended by", done.stderr)
        assert len(ended) >= WORKERS, done.stderr
        shown = subprocess.run([command, "show", report], capture_output=True, text=True)
        print(shown.stdout)
        for mark, name in (("left", "register_left"), ("right", "register_right")):
            assert re.search(rf"#\d+ {name} worker_pool\.py:{line_of(mark)} \(python\)", shown.stdout), name
        # The passing variant: closed before os._exit().
        done = subprocess.run([command, "run", "--strict", "--", *subject, "close"], capture_output=True, text=True)
        assert done.returncode == 0 and "open-at-exit" not in done.stderr, done.stderr
    print(f"{method}: {WORKERS} workers, each named")


if __name__ == "__main__":
    if sys.argv[1] == "worker":
        pool(sys.argv[2], sys.argv[3] == "leave")
    else:
        for how in ("fork", "spawn"):
            check(sys.argv[1], how)
