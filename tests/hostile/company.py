#!/usr/bin/env python3
"""The library beside others that look after memory: sanitizers built into the program, valgrind, jemalloc, tcmalloc,
heaptrack. Nothing may be said that bare does not say, and the library's own findings must be there.
"""
import re
import subprocess

import hostile

SANITIZERS = {"address": "libasan.so", "thread": "libtsan.so", "undefined": "libubsan.so", "leak": "liblsan.so"}
RULES = {"clean": [], "busy": ["busy-destroy"], "leak": ["leak-at-close"]}


def runtime(name):
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return str(hostile.pathlib.Path(found).resolve())


def installed(pattern):
    """The one file of a package, wherever this distribution has it."""
    found = sorted(hostile.pathlib.Path("/usr/lib").rglob(pattern))
    return str(found[0]) if found else None


def main():
    suite = hostile.Hostile(__doc__)

    def compare(what, command, mode, **more):
        bare = suite.run(command, library=False, patience=120, **more)
        seen = suite.run(command, patience=120, **more)
        for run in (bare, seen):
            run.err = re.sub(r"0x[0-9a-f]+|==\d+==", "*", run.err)  # addresses, processes
        suite.same(what, bare, seen)
        suite.check(f"{what}: reported", seen.rules == RULES[mode], seen.rules, seen)
        return bare, seen

    for name, library in SANITIZERS.items():
        program = suite.program(f"company_{name}")
        # A runtime that is a shared library has to come first, as the manuals of the sanitizers say.
        for mode in RULES:
            compare(f"-fsanitize={name} {mode}, runtime first", [program, mode], mode, preload=[runtime(library)])
            if name == "undefined":
                compare(f"-fsanitize={name} {mode}", [program, mode], mode)
            if name == "address":
                env = {"ASAN_OPTIONS": "verify_asan_link_order=0"}
                compare(f"-fsanitize={name} {mode}, library first", [program, mode], mode, env=env)
                compare(f"-fsanitize={name} {mode}, library before the runtime", [program, mode], mode, env=env,
                        after=[runtime(library)])
            if name in ("thread", "leak"):
                compare(f"-fsanitize={name} {mode}, library first", [program, mode], mode)
            if name == "address" and mode == "clean":
                bare = suite.run([program, mode], library=False)
                suite.check("a clean program is clean", bare.status == 0 and bare.err == "", bare)

    # The sanitizer still finds what is the program's own.
    program = suite.program("company_thread")
    for run in (suite.run([program, "race"], library=False), suite.run([program, "race"])):
        races = re.findall(r"SUMMARY: ThreadSanitizer: data race .* in (\w+)", run.err)
        suite.check("a race of the program is found", run.status == 66 and races == ["work"], run)

    program = suite.program("company_plain")
    for pattern in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libheaptrack_preload.so"):
        other = installed(pattern)
        if not suite.check(f"{pattern} is installed", other is not None):
            continue
        for mode in RULES:
            env = {"DUMP_HEAPTRACK_OUTPUT": "heaptrack.out"}
            compare(f"{pattern} {mode}, before the library", [program, mode], mode, preload=[other], env=env)
            compare(f"{pattern} {mode}, behind the library", [program, mode], mode, after=[other], env=env)

    for mode in RULES:
        # helgrind and drd know no lock but pthread's, so they take each of the library's for none.
        for tool in ("memcheck",):
            command = ["valgrind", f"--tool={tool}", "--error-exitcode=0", program, mode]
            bare = suite.run(command, library=False, patience=240)
            seen = suite.run(command, patience=240)
            suite.check(f"valgrind {tool} {mode}: ends as bare", (bare.status, bare.out) == (seen.status, seen.out), bare, seen)
            errors = [re.findall(r"ERROR SUMMARY: (\d+) errors", run.err) for run in (bare, seen)]
            suite.check(f"valgrind {tool} {mode}: no error that bare has not", errors[0] == errors[1] and errors[0],
                        f"bare {errors[0]}, with {errors[1]}", seen.err[-3000:])
            suite.check(f"valgrind {tool} {mode}: reported", seen.rules == RULES[mode], seen.rules)
    suite.end()


main()
