#!/usr/bin/env python3
"""Builds a program that calls all of rdmacheck.h in each way that users build programs, and runs it with the library and
without it, on the fake libibverbs.

usage: run.py --library LIB --fake FOLDER --include FOLDER --work FOLDER
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# A weak address is settled at another moment in each of these.
LINKS = [["-fPIE", "-pie"], ["-fno-pic", "-no-pie"], ["-fno-pic", "-no-pie", "-O2"], ["-fPIC", "-no-pie", "-O2"]]
LANGUAGES = {"gcc": ["-std=gnu89"], "g++": ["-x", "c++", "-std=gnu++98"], "clang": ["-std=gnu11"]}

BARE = """active 0
checkpoint 0
growth 0
no such checkpoint 0
snapshot 38, of no path 38
errors 0
"""
WITH = """active 1
checkpoint positive
growth 1
no such checkpoint -1
snapshot 0, of no path 22
errors 0
errors 1
errno kept
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ["library", "fake", "include", "work"]:
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    work = arguments.work
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    failed = passed = 0
    for compiler, options in LANGUAGES.items():
        for link in LINKS:
            name = " ".join([compiler, *options, *link])
            program = work / "all_eight"
            subprocess.run([compiler, *options, *link, "-Wall", "-Wextra", "-Werror", 
                            "-I", arguments.include, "-o", program, HERE / "all_eight.c", "-x", "none", "-libverbs"], check=True)
            environment = {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(arguments.fake / "lib")}
            snapshot = work / "snapshot.json"
            # ibv_dealloc_pd(NULL) ends a program that is not watched, after what is compared here.
            bare = subprocess.run([program, snapshot], env=environment, capture_output=True, text=True)
            if snapshot.exists():
                bare.stdout += "a snapshot without the library"
            watched = subprocess.run([program, snapshot], env=environment | {"LD_PRELOAD": str(arguments.library)},
                                     capture_output=True, text=True)
            ok = (bare.stdout.startswith(BARE) or bare.returncode < 0) and watched.stdout == WITH and snapshot.exists()
            ok = ok and watched.returncode == 23 and "open-at-exit" in watched.stderr and "leak" not in watched.stderr
            snapshot.unlink(missing_ok=True)
            passed += ok
            failed += not ok
            if not ok:
                print(f"{name}: bare {bare.returncode}: {bare.stdout}\nwatched {watched.returncode}: {watched.stdout}{watched.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
