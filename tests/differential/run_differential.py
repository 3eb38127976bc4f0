#!/usr/bin/env python3
"""Compares every call of differential.cc with and without the library.

    run_differential.py --library FILE --program FILE --exceptions FILE --on fake|device [--fake DIR] [VERB]

What a call returns, errno, and the signal that ends a process must be equal. What may differ stands in the exceptions,
a line each:

    EFFECT | CALL | WITHOUT | WITH | WHY

with * in the first four; BEFORE is errno as it was before the call. An exception that no call needed fails the
test, and so does a call that could not be prepared, one that the fake did not fail although it was told to, and a row
of the table that was not called.
"""
import argparse
import collections
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile


def calls_of(args, preload, folder):
    """{(verb, effect, call, errno before): result}, in order."""
    env = {"PATH": os.environ["PATH"], "FAKE_KEEP": "1"}
    if args.on == "fake":
        env["LD_LIBRARY_PATH"] = str(args.fake / "lib")
    if preload:
        env["LD_PRELOAD"] = str(args.library)
        # Names would take longer than all the rest.
        env["RDMACHECK_OPTIONS"] = f"log_path={folder}/report.txt:symbolize=0"
    done = subprocess.run([str(args.program), *args.verb], env=env, cwd=folder, stdout=subprocess.PIPE, text=True,
                          timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"{args.program} ended with {done.returncode}")
    calls = {}
    for line in done.stdout.splitlines():
        key, _, result = line.partition(": ")
        calls[tuple(key.split())] = result
    return calls


class Exception_:
    def __init__(self, line, number):
        self.fields = [field.strip() for field in line.split("|")]
        self.line = number
        self.used = 0
        if len(self.fields) != 5 or not all(self.fields):
            sys.exit(f"line {number} of the exceptions: EFFECT | CALL | WITHOUT | WITH | WHY")

    def fits(self, key, without, with_):
        _, effect, call, before = key
        values = (effect, call, without, with_)
        patterns = [field.replace("BEFORE", before) for field in self.fields[:4]]
        return all(fnmatch.fnmatchcase(value, pattern) for value, pattern in zip(values, patterns))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("library", "program", "exceptions"):
        parser.add_argument("--" + name, type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--fake", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--on", choices=("fake", "device"), required=True)
    parser.add_argument("verb", nargs="*")
    args = parser.parse_args()
    exceptions = [Exception_(line, number) for number, line in enumerate(args.exceptions.read_text().splitlines(), 1)
                  if line.strip() and not line.startswith("#")]
    with tempfile.TemporaryDirectory(prefix="differential.") as folder:
        without = calls_of(args, False, folder)
        with_ = calls_of(args, True, folder)

    wrong = []
    if without.keys() != with_.keys():
        wrong += [f"called only once: {' '.join(key)}" for key in without.keys() ^ with_.keys()]
    unprepared = [key for key, result in without.items() if result.startswith("unprepared")]
    if args.on == "fake":
        wrong += [f"could not be prepared: {' '.join(key)}: {without[key]}" for key in unprepared]
        # What cannot fail returns nothing, or aborts in the fake.
        for key, result in without.items():
            if key[2].startswith("fail=") and result in ("0 errno=" + key[3], "object errno=" + key[3]):
                wrong.append(f"was told to fail, and did not: {' '.join(key)}: {result}")
    differing = 0
    for key, result in without.items():
        seen = with_.get(key, result)
        if seen == result:
            continue
        differing += 1
        allowed = [exception for exception in exceptions if exception.fits(key, result, seen)]
        for exception in allowed:
            exception.used += 1
        if not allowed:
            wrong.append(f"{' '.join(key)}: {result!r} without the library, {seen!r} with it")
    if not args.verb:
        wrong += [f"line {exception.line} of the exceptions: nothing needs it" for exception in exceptions if not exception.used]
    verbs = collections.Counter(key[0] for key in without)
    print(f"{len(without)} calls of {len(verbs)} verbs, {len(unprepared)} that this machine cannot prepare, "
          f"{differing} differ, as {len(exceptions)} exceptions say")
    for text in wrong[:100]:
        print(f"DIFFERS {text}")
    if len(wrong) > 100:
        print(f"and {len(wrong) - 100} more")
    return 1 if wrong or not without else 0


if __name__ == "__main__":
    sys.exit(main())
