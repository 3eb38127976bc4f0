#!/usr/bin/env python3
"""kill -9 at random moments: the journal is always readable, and never holds a wrong object.

The program (maker.c) keeps a log of what it is making, has and is destroying. What it had stands in the journal, but for as many
as were torn; what stands there is in the log, with the same key and the function that made it; of what its children made
nothing stands there.

usage: kill_test.py BUILD_FOLDER [--times N] [--seed N]
"""
import argparse
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

THREADS, SLOTS = 3, 40
NONE, MAKING, HAS, DESTROYING = range(4)


def read_log(path):
    data = path.read_bytes()
    rows = {}
    for n in range(THREADS * SLOTS):
        state, lkey, addr = struct.unpack_from("<IIQ", data, 8 + n * 16)
        if state != NONE:
            rows[addr] = (state, lkey)
    return rows


def one(build, folder, moment, forks):
    log, journal = folder / "log", folder / "journal"
    for path in folder.iterdir():
        path.unlink()
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "RDMACHECK_", "FAKE_"))}
    env.update(LD_LIBRARY_PATH=str(build / "tests/fake/lib"), LD_PRELOAD=str(build / "librdmacheck.so"),
               RDMACHECK_OPTIONS=f"journal_path={folder}/journal%p:log_path={folder}/text")
    process = subprocess.Popen([build / "tests/journal/maker", log] + (["forks"] if forks else []), env=env)
    while not log.exists() or log.read_bytes()[:1] != b"\1":
        if process.poll() is not None:
            sys.exit(f"maker ended by itself: {process.returncode}\n{(folder / 'text').read_text()}")
        time.sleep(0.001)
    time.sleep(moment)
    process.kill()
    if process.wait() != -signal.SIGKILL:
        sys.exit(f"maker ended by itself: {process.returncode}")
    env.pop("LD_PRELOAD")
    journal = folder / f"journal{process.pid}"
    done = subprocess.run([build / "rdmacheck", "json", "--no-symbols", journal], env=env, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"the journal cannot be read: {done.stderr.decode()}")
    report = json.loads(done.stdout)
    torn = sum(int(n) for remark in report["processes"][0]["remarks"] for n in re.findall(r"^(\d+) records? of its journal", remark))
    rows = read_log(log)
    mistakes = []
    seen = set()
    stacks = {}
    for group in report["alive"]:
        if group["kind"] != "mr":
            continue
        for thing in group["objects"]:
            addr, lkey = thing["numbers"]["addr"], thing["numbers"]["lkey"]
            seen.add(addr)
            state, logged = rows.get(addr, (NONE, 0))
            if state == NONE:
                mistakes.append(f"an mr at {addr:#x} that the program does not have")
            elif state != MAKING and lkey != logged:
                mistakes.append(f"an mr at {addr:#x} with lkey {lkey:#x}, not {logged:#x}")
            stacks.setdefault(addr // 64 % 2, set()).add(json.dumps(group["stack"][0]))
    if len(stacks) == 2 and (stacks[0] & stacks[1] or len(stacks[0]) != 1 or len(stacks[1]) != 1):
        mistakes.append(f"stacks are mixed up: {stacks}")
    lost = [addr for addr, (state, _) in rows.items() if state == HAS and addr not in seen]
    if len(lost) > torn:
        mistakes.append(f"{len(lost)} mrs are not in the journal, and {torn} records were torn")
    return mistakes, len(seen), torn


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=int(os.environ.get("RDMACHECK_KILLS", "250")))
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    build = options.build.resolve()
    moments = random.Random(options.seed)
    objects = torn = 0
    with tempfile.TemporaryDirectory(prefix="rdmacheck-kill-") as name:
        for n in range(options.times):
            moment = moments.random() ** 3 * 0.02
            mistakes, some, torn_now = one(build, pathlib.Path(name), moment, n % 3 == 0)
            objects += some
            torn += torn_now
            if mistakes:
                sys.exit("\n".join(mistakes[:10] + [f"at kill {n}, {moment * 1e3:.3f} ms, seed {options.seed}"]))
    if objects == 0:
        sys.exit("nothing was ever alive: this shows nothing")
    print(f"{options.times} kills, {objects} objects compared, {torn} torn records left out")


main()
