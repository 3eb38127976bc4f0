#!/usr/bin/env python3
"""What users write for their own tests: the GoogleTest listener, rdmacheck_add_test() of CMake, the conftest.py of pytest.
Each with the library and without it, on the fake libibverbs. And the pod of docs/ci, as far as it runs without a cluster.

usage: users.py listener|cmake|pytest|pod COMMAND LIBRARY FAKE PROGRAMS WORK
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "users"
WHAT, COMMAND, LIBRARY, FAKE, PROGRAMS, WORK = sys.argv[1], *map(pathlib.Path, sys.argv[2:7])


def run(*command, watched=False, **options):
    environment = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(FAKE / "lib"), "PYTHONDONTWRITEBYTECODE": "1"}
    if watched:
        environment["LD_PRELOAD"] = str(LIBRARY)
    return subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False,
                          timeout=120, **options)


class Listener(unittest.TestCase):
    def results(self, watched):
        done = run(HERE_LISTENER, watched=watched)
        passed = set(re.findall(r"^\[       OK \] Device\.(\w+)", done.stdout, re.M))
        failed = set(re.findall(r"^\[  FAILED  \] Device\.(\w+) \(\d+ ms\)", done.stdout, re.M))
        return passed, failed, done

    def test_without_the_library_only_the_tests_own_failures(self):
        passed, failed, done = self.results(False)
        self.assertEqual(failed, {"FailsItselfAndLeavesOne"}, done.stdout)
        self.assertEqual(len(passed), 6)
        self.assertNotIn("rdmacheck", done.stdout + done.stderr)

    def test_a_test_that_leaves_objects_fails(self):
        passed, failed, done = self.results(True)
        self.assertEqual(failed, {"LeavesOne", "LeavesTwo", "DestroysTwice", "FailsItselfAndLeavesOne"}, done.stdout)
        self.assertEqual(passed, {"ReleasesWhatItCreates", "ReleasesAfterAnotherHasLeftOne", "KeepsOneOnPurpose"})
        self.assertIn("the test leaves 1 verbs object alive", done.stdout)
        self.assertIn("the test leaves 2 verbs objects alive", done.stdout)
        self.assertIn("1 error was reported during the test", done.stdout)
        self.assertRegex(done.stderr, r"listener_tests\.cc:\d+")  # where it was created
        self.assertEqual(done.returncode, 1)


PROJECT = """cmake_minimum_required(VERSION 3.18)
project(user NONE)
enable_testing()
set(RDMACHECK_COMMAND {command})
include({root}/scripts/cmake/rdmacheck_add_test.cmake)
rdmacheck_add_test(NAME leaks COMMAND {programs}/leak_qp JSON leaks.json)
rdmacheck_add_test(NAME known COMMAND {programs}/leak_qp BASELINE leaks.json)
rdmacheck_add_test(NAME hidden COMMAND {programs}/leak_qp SUPPRESSIONS hidden.supp)
rdmacheck_add_test(NAME clean COMMAND {programs}/acks_batched REQUIRE_VERBS)
rdmacheck_add_test(NAME no_verbs COMMAND /bin/true REQUIRE_VERBS)
rdmacheck_add_test(NAME open_at_exit COMMAND {programs}/{open_at_exit})
rdmacheck_add_test(NAME open_at_exit_strict STRICT COMMAND {programs}/{open_at_exit})
rdmacheck_add_test(NAME option COMMAND {programs}/leak_qp OPTIONS exitcode=0 stack_depth=4)
rdmacheck_add_test(NAME words COMMAND /bin/sh -c "test \\"$1\\" = 'a b'" sh "a b")
"""


class Cmake(unittest.TestCase):
    def test_each_argument_does_what_it_says(self):
        shutil.rmtree(WORK, ignore_errors=True)
        source = WORK / "source"
        source.mkdir(parents=True)
        leaks = run(COMMAND, "run", "--json", source / "leaks.json", "--", PROGRAMS / "leak_qp")
        self.assertEqual(leaks.returncode, 23, leaks.stderr)
        (source / "hidden.supp").write_text("leak-at-close:*leak_qp*:known\n")
        (source / "CMakeLists.txt").write_text(
            PROJECT.format(command=COMMAND, root=ROOT, programs=PROGRAMS, open_at_exit="open_at_exit"))
        configured = run("cmake", "-S", source, "-B", WORK / "build")
        self.assertEqual(configured.returncode, 0, configured.stderr)
        done = run("ctest", "--test-dir", WORK / "build", cwd=WORK)
        failed = set(re.findall(r"^\s+\d+ - (.+) \(Failed\)", done.stdout, re.M))
        self.assertEqual(failed, {"leaks", "no_verbs", "open_at_exit_strict"}, done.stdout)
        self.assertTrue((WORK / "build" / "leaks.json").exists())

    def test_a_call_without_what_it_needs_says_so(self):
        shutil.rmtree(WORK, ignore_errors=True)
        for call, sentence in [("NAME x", "NAME and COMMAND are needed"),
                               ("NAME x COMMAND true STRICTLY", None),
                               ("NAME x STRICT y COMMAND true", "unknown arguments: y"),
                               ("NAME x COMMAND true", "the command rdmacheck is not found")]:
            source = WORK / "bad"
            source.mkdir(parents=True, exist_ok=True)
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.18)\nproject(user NONE)\nenable_testing()\n"
                f"include({ROOT}/scripts/cmake/rdmacheck_add_test.cmake)\n"
                + ("" if sentence and "not found" in sentence else f"set(RDMACHECK_COMMAND {COMMAND})\n")
                + f"rdmacheck_add_test({call})\n")
            done = run("cmake", "-S", source, "-B", WORK / "bad_build")
            shutil.rmtree(WORK / "bad_build", ignore_errors=True)
            if sentence is None:  # a word of the command
                self.assertEqual(done.returncode, 0, done.stderr)
            else:
                self.assertNotEqual(done.returncode, 0, call)
                self.assertIn(sentence, " ".join(done.stderr.split()))


class Pytest(unittest.TestCase):
    def results(self, *before):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        shutil.copy(ROOT / "docs" / "ci" / "conftest.py", WORK)
        shutil.copy(HERE / "test_verbs.py", WORK)
        return run(*before, "/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rfE", "test_verbs.py", cwd=WORK)

    def test_without_the_library_all_pass(self):
        done = self.results()
        self.assertIn("3 passed", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_the_test_that_leaves_an_object_fails(self):
        done = self.results(COMMAND, "run", "--")
        self.assertIn("3 passed, 1 error", done.stdout)
        self.assertIn("ERROR test_verbs.py::test_leaves_one", done.stdout)
        self.assertIn("rdmacheck: 1 verbs objects left alive, 0 errors reported", done.stdout)
        self.assertNotEqual(done.returncode, 0)


class Pod(unittest.TestCase):
    """The init container's command and the variables of docs/ci/pod.yml, with folders of ours for the mounted ones."""

    def here(self, text):
        for place in ("/opt/rdmacheck", "/rdmacheck", "/reports"):
            text = re.sub(rf"(?<![\w/]){place}\b", str(WORK / place.replace("/", "_").strip("_")), text)
        return text

    def test_the_pods_report(self):
        shutil.rmtree(WORK, ignore_errors=True)
        for file in (COMMAND, LIBRARY):
            folder = WORK / "opt_rdmacheck" / ("bin" if file == COMMAND else "lib")
            folder.mkdir(parents=True)
            shutil.copy(file, folder)
        (WORK / "reports").mkdir()
        (WORK / "rdmacheck").mkdir()
        pod = (ROOT / "docs" / "ci" / "pod.yml").read_text()
        command = re.findall(r'"([^"]+)"', re.search(r"command: \[(.*)\]", pod)[1])
        self.assertEqual(run(*map(self.here, command)).returncode, 0)
        variables = {name: self.here(value) for name, value in re.findall(r"name: (\w+)\n +value: (.+)", pod)}
        self.assertEqual(set(variables), {"LD_PRELOAD", "RDMACHECK_OPTIONS"})
        words = ["env", *(f"{name}={value}" for name, value in variables.items())]
        self.assertEqual(run(*words, PROGRAMS / "leak_qp").returncode, 23)
        self.assertEqual(run(*words, PROGRAMS / "lost_to_exit_without_handlers", "open").returncode, 5)
        left = sorted(re.sub(r".*\.(\w+)\.\d+\.", r"\1.", path.name) for path in (WORK / "reports").iterdir())
        self.assertEqual(left, ["leak_qp.json", "leak_qp.txt", "lost_to_exit_without_handlers.journal"])
        merged = run(WORK / "rdmacheck/bin/rdmacheck", "merge", "-o", WORK / "job.json", *(WORK / "reports").glob("*.j*"))
        self.assertEqual(merged.returncode, 0, merged.stderr)
        gated = run(WORK / "rdmacheck/bin/rdmacheck", "gate", WORK / "job.json")
        self.assertEqual(gated.returncode, 23, gated.stderr)


HERE_LISTENER = WORK.parent / "listener_tests"
chosen = {"listener": Listener, "cmake": Cmake, "pytest": Pytest, "pod": Pod}[WHAT]
suite = unittest.defaultTestLoader.loadTestsFromTestCase(chosen)
sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
