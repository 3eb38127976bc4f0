#!/usr/bin/env python3
"""Runs rdma-core's own test suite (Debian: in the doc folder of python3-pyverbs) on the soft device, without the library
and with it: the same tests have to pass, to be skipped and to fail, and an error may be reported only in the tests named
in FAULTS. To be run beside a device: scripts/rxe-vm -- .../run_suite.py LIB

usage: run_suite.py LIBRARY [FOLDER_OF_THE_SUITE]
"""
import ctypes
import glob
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
PLACES = ["/usr/share/doc/rdma-core/tests", PROJECT / ".deps/rdma-core-tests"]

# Tests that do what the checker calls an error, with the rule and why it is one. The part in front of the test's own
# name is left out.
FAULTS = {}

# Tests left out of both runs, since they end the whole run on this device without the library too.
EXCLUDED = {
    "test_rdmacm_async_ex_multicast_traffic": "rdma-core 65: waits forever",
}


def chosen(suite):
    """The suite without what EXCLUDED names."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(chosen(test))
        elif getattr(test, "_testMethodName", "") not in EXCLUDED:
            kept.addTest(test)
    return kept


class Result(unittest.TestResult):
    """One line for each test: its name, how it ended, and how many errors we reported meanwhile."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.how = {}
        self.now = getattr(ctypes.CDLL(None), "rdmacheck_check_now", lambda: 0)
        print("RDMACHECK", int(hasattr(ctypes.CDLL(None), "rdmacheck_active")))
        self.before = self.now()

    def startTest(self, test):
        super().startTest(test)
        print("START", test.id(), flush=True)

    def stopTest(self, test):
        super().stopTest(test)
        errors = self.now()
        print("RESULT", test.id(), self.how.get(test.id(), "ok"), errors - self.before, flush=True)
        self.before = errors

    def addError(self, test, error):
        self.how[test.id()] = "error"
        if not hasattr(test, "_testMethodName"):  # set-up of a class or a module
            print("RESULT", test.id().replace(" ", "_"), "error", 0, flush=True)

    def addFailure(self, test, error):
        self.how[test.id()] = "failure"

    def addSkip(self, test, reason):
        self.how[test.id()] = "skipped"

    def addSubTest(self, test, subtest, error):
        if error:
            self.how[test.id()] = "failure"


def inside(folder):
    """As its run_tests.py does, with a result of our own."""
    sys.argv = ["run_tests.py", "--dev", "rxe0"]
    sys.path.insert(0, str(folder))
    from importlib.machinery import SourceFileLoader

    from args_parser import parser

    tests = SourceFileLoader("tests", str(folder / "__init__.py")).load_module()
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    chosen(suite).run(Result())


def run(folder, environment):
    started = subprocess.run([sys.executable, __file__, "--inside", folder], stdin=subprocess.DEVNULL, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    results = {}
    for line in started.stdout.splitlines():
        if line.startswith("RESULT "):
            _, name, how, errors = line.split(" ")
            results[name] = how, int(errors)
    return started.returncode, results, started.stdout


def main():
    library = sys.argv[1]
    places = [pathlib.Path(place) for place in sys.argv[2:] or PLACES]
    source = next((place for place in places if (place / "run_tests.py").exists()), None)
    if source is None:
        print(f"no test suite of rdma-core in {' or '.join(map(str, places))}")
        return 2
    work = tempfile.mkdtemp()
    folder = f"{work}/tests"
    shutil.copytree(source, folder)
    for packed in glob.glob(f"{folder}/*.gz"):
        with gzip.open(packed) as archive, open(packed[:-3], "wb") as file:
            shutil.copyfileobj(archive, file)

    plain = {name: value for name, value in os.environ.items() if name not in {"LD_PRELOAD", "RDMACHECK_OPTIONS"}}
    options = f"exitcode=0:verify=kernel:log_path={work}/report.%p"
    code, without, output = run(folder, plain)
    code_now, with_library, output_now = run(folder, {**plain, "LD_PRELOAD": library, "RDMACHECK_OPTIONS": options})

    failed = 0
    def complain(text):
        nonlocal failed
        failed = 1
        print(text)

    if "RDMACHECK 0" not in output or "RDMACHECK 1" not in output_now:
        complain("the second run was to be the one with the library")
    if not without:
        complain(f"the suite ran no test:\n{output}")
    if code != code_now:
        complain(f"status {code} without, {code_now} with the library; the last words with it:\n{output_now[-3000:]}")
    for name in sorted(set(without) | set(with_library)):
        before, after = without.get(name, ("absent", 0)), with_library.get(name, ("absent", 0))
        if before[0] != after[0]:
            complain(f"{name}: {before[0]} without, {after[0]} with the library")
        if after[1] and name.split(".")[-1] not in FAULTS:
            complain(f"{name}: {after[1]} errors reported")
    for name in FAULTS:
        if not any(test.endswith("." + name) and with_library[test][1] for test in with_library):
            print(f"note: {name} is expected to be found faulty, and is not")
    for report in sorted(glob.glob(f"{work}/report.*")):
        text = pathlib.Path(report).read_text()
        if "unwatched-object" in text or "not verified" in text:
            complain(f"the kernel's list was to be as ours:\n{text}")
    if "rdmacheck" in output_now:
        complain("words of ours in the output of the suite")
    for how in ["ok", "skipped", "failure", "error"]:
        print(f"{how}: {sum(1 for result in without.values() if result[0] == how)} without, "
              f"{sum(1 for result in with_library.values() if result[0] == how)} with the library")
    if failed or os.environ.get("SHOW_REPORTS"):
        for report in sorted(glob.glob(f"{work}/report.*")):
            print(f"---- {report}\n{pathlib.Path(report).read_text()}")
    return failed


if sys.argv[1:2] == ["--inside"]:
    inside(pathlib.Path(sys.argv[2]))
else:
    sys.exit(main())
