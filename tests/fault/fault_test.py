#!/usr/bin/env python3
"""Tests of librdmafault.so and of `rdmacheck run --fault` and `--sweep`, on the fake libibverbs.

usage: fault_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
COMMAND = str(BUILD / "rdmacheck")
CHECKER = str(BUILD / "librdmacheck.so")
FAULT = str(BUILD / "librdmafault.so")
SUBJECT = str(BUILD / "tests/cli/subject")
SCENARIOS = BUILD / "tests/scenario"
OWN = BUILD / "tests/fault"
FAKE = str(BUILD / "tests/fake/lib")


def table_names():
    """The verbs of the tables, exported and inline."""
    names = set()
    for table in ["verbs", "direct_verbs", "rdmacm"]:
        text = re.sub(r"//[^\n]*", "", (SOURCE / f"interpose/effects/{table}.def").read_text())
        names |= set(re.findall(r'PLT_VERB\(\w+,\s*"[\w.]+",\s*(\w+),', text)) | set(re.findall(r"SLOT_VERB\((\w+),", text))
    return names


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rdmacheck-fault-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def env(self, preload=(CHECKER, FAULT), **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("RDMACHECK") and k != "LD_PRELOAD"}
        env.update({"LD_LIBRARY_PATH": FAKE, "TMPDIR": str(self.folder), **more})
        if preload:
            env["LD_PRELOAD"] = ":".join(preload)
        return env

    def preloaded(self, *command, faults="", preload=(CHECKER, FAULT), **more):
        env = self.env(preload=preload, RDMACHECK_FAULTS=faults, **more)
        return subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, timeout=120, cwd=self.folder)

    def injected(self, done):
        return re.findall(r"fault injected: (\w+) fails with (\w+), call (\d+)", done.stderr)

    def all_rows(self, verb, fault, preload=(CHECKER, FAULT)):
        return self.preloaded(SCENARIOS / "all_rows", "clean", verb, faults=fault, preload=preload)

    def do(self, *arguments, status=0, env=None):
        done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder,
                              env=env or self.env(preload=()), timeout=300, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr


class Spec(Case):
    def complaint(self, fault):
        out, err = self.do("run", "--fault", fault, "--", "/bin/echo", "ran", status=2)
        self.assertEqual(out, "", "the program was started")
        return err

    def test_each_mistake_is_one_sentence_with_its_place(self):
        for fault, at, words in [
            ("ibv_create_cq:nht=3", 15, "did you mean 'nth'"),
            ("ibv_creat_cq:nth=3", 1, "did you mean 'ibv_create_cq'"),
            ("ibv_create_cq:nth=0", 19, "a whole number from 1"),
            ("ibv_create_cq:nth=1:errno=ENOMAM", 27, "did you mean 'ENOMEM'"),
            ("ibv_create_cq:rate=200%", 20, "is no rate"),
            ("ibv_create_cq:after=10", 21, "write it as 10s"),
            ("ibv_create_cq:nth", 15, "needs a value"),
            ("ibv_ack_cq_events:nth=1", 1, "returns nothing"),
            ("ibv_crate_*:nth=1", 1, "no verb that can fail matches"),
            ("delay=ibv_destroy_cq:sometimes:50ms", 22, "'before', 'after' or 'after-read'"),
            ("delay=ibv_destroy_cq:after-read:50ms", 22, "only in a get of events"),
            ("delay=ibv_destroy_cq:before", 28, "is no time"),
            ("disassociate=now", 14, "after:TIME"),
            ("disassociate=signal:KILL", 21, "no signal that a program can catch"),
            ("disassociate=after:1s:kernel=2.6", 30, "'modern' or '4.18'"),
            ("explode=now", 1, "is no kind of fault"),
        ]:
            with self.subTest(fault):
                err = self.complaint(fault)
                self.assertIn(f"rdmacheck: --fault {fault}, character {at}: ", err)
                self.assertIn(words, err)
                self.assertEqual(err.count("\n"), 1, err)

    def test_in_the_environment_a_mistake_is_said_once_and_the_rest_holds(self):
        done = self.preloaded(SUBJECT, "open", "pd", "close", faults="ibv_creat_cq:nth=1  ;ibv_alloc_pd:nth=1")
        self.assertEqual(done.stderr.count("character 1: no verb is called 'ibv_creat_cq'"), 1, done.stderr)
        self.assertIn("this fault is left out", done.stderr)
        self.assertIn("fault injected: ibv_alloc_pd fails with ENOMEM", done.stderr)

    def test_a_process_without_verbs_says_nothing(self):
        done = self.preloaded("/bin/sh", "-c", "echo quiet; /bin/true", faults="ibv_creat_cq:nth=1")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("quiet\n", "", 0))

    def test_the_rest_of_the_command_line_is_the_programs(self):
        out, _ = self.do("run", "--fault", "ibv_alloc_pd:nth=1", "--", "/bin/echo", "--fault", "x")
        self.assertEqual(out, "--fault x\n")

    def test_sweep_options_without_sweep(self):
        self.do("run", "--sweep-limit", "3", "--", "/bin/true", status=2)


class Failing(Case):
    def test_the_nth_call_and_no_other(self):
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_qp:nth=2:errno=ENOSPC")
        self.assertEqual(self.injected(done), [("ibv_create_qp", "ENOSPC", "2")], done.stderr)
        self.assertEqual(done.returncode, 1)

    def test_several_faults_of_one_verb_count_each_call(self):
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_cq:nth=1 ibv_create_cq:nth=2")
        self.assertEqual([n for _, _, n in self.injected(done)], ["1", "2"], done.stderr)

    def test_a_pattern_and_times(self):
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_*:times=1:errno=EAGAIN")
        self.assertEqual(self.injected(done), [("ibv_create_cq", "EAGAIN", "1")], done.stderr)

    def test_the_usual_errors(self):
        for verb, error in [("ibv_create_cq", "ENOMEM"), ("ibv_destroy_qp", "EBUSY"), ("ibv_alloc_pd", "ENOMEM")]:
            done = self.preloaded(OWN / "sweep_subject", "fixed", faults=f"{verb}:nth=1")
            self.assertEqual(self.injected(done), [(verb, error, "1")], done.stderr)

    def test_a_rate_is_the_same_with_the_same_seed(self):
        runs = set()
        for seed in (7, 7, 8, 9, 10):
            done = self.preloaded(OWN / "sweep_subject", "fixed", faults=f"ibv_*:rate=30%:seed={seed}")
            runs.add((seed, tuple(self.injected(done))))
        self.assertGreaterEqual(len(runs), 2)
        self.assertEqual(len([1 for seed, _ in runs if seed == 7]), 1, runs)

    def test_after_a_time(self):
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_cq:after=1000s")
        self.assertEqual((self.injected(done), done.returncode), ([], 0), done.stderr)
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_cq:after=1ns")
        self.assertEqual(len(self.injected(done)), 2, done.stderr)

    def test_only_of_a_caller_and_a_program(self):
        for field in ("caller=sweep_sub*", "program=sweep_subject", "caller=libc.so.6"):
            done = self.preloaded(OWN / "sweep_subject", "fixed", faults=f"ibv_create_cq:nth=1:{field}")
            self.assertEqual(len(self.injected(done)), 1, field + done.stderr)
        for field in ("caller=libucp*", "program=other"):
            done = self.preloaded(OWN / "sweep_subject", "fixed", faults=f"ibv_create_cq:nth=1:{field}")
            self.assertEqual(len(self.injected(done)), 0, field + done.stderr)

    def test_a_failed_create_was_never_made(self):
        # The fake libibverbs refuses the close's destroy order: what was made would be busy or leak.
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_qp", RDMACHECK_OPTIONS="json_path=r.json:strict=1")
        self.assertEqual(done.returncode, 1, done.stderr)
        kinds = json.loads((self.folder / "r.json").read_text())["summary"]["kinds"]
        self.assertNotIn("qp", kinds)
        self.assertNotIn("leak", done.stderr.replace("fault", ""))

    def test_an_inner_call_of_the_library_is_not_counted(self):
        # ibv_reg_mr calls ibv_reg_mr_iova2 by its own symbol.
        done = self.all_rows("ibv_reg_mr", "ibv_reg_mr_iova2:nth=1")
        self.assertEqual((self.injected(done), done.returncode), ([], 0), done.stderr)

    def test_alone_without_the_checker(self):
        done = self.all_rows("ibv_create_cq", "ibv_create_cq:nth=1", preload=(FAULT,))
        self.assertIn("==rdmacheck: fault injected: ibv_create_cq fails with ENOMEM, call 1 (ibv_create_cq:nth=1)", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_who_asks_dlsym_is_met_too(self):
        for preload in ((FAULT,), (CHECKER, FAULT)):
            for verb in ("ibv_create_qp", "ibv_alloc_pd", "ibv_reg_mr_iova2"):
                done = self.preloaded(SCENARIOS / "nccl_like", "clean", faults=f"{verb}:nth=1", preload=preload)
                self.assertEqual(self.injected(done), [(verb, "ENOMEM", "1")], done.stderr)
            done = self.preloaded(SCENARIOS / "rust_like_stub", faults="ibv_create_cq:nth=1", preload=preload)
            self.assertEqual(self.injected(done)[:1], [("ibv_create_cq", "ENOMEM", "1")], done.stderr)

    def test_answers_of_dlsym_stay(self):
        for fake in (FAKE, str(BUILD / "tests/fake/lib44")):
            bare = self.preloaded(SCENARIOS / "nccl_like", "clean", preload=(), LD_LIBRARY_PATH=fake)
            for preload in ((FAULT,), (CHECKER, FAULT), (FAULT, CHECKER)):
                done = self.preloaded(SCENARIOS / "nccl_like", "clean", preload=preload, LD_LIBRARY_PATH=fake)
                self.assertEqual((done.stdout, done.returncode), (bare.stdout, bare.returncode), done.stderr)

    def test_nothing_changes_without_faults(self):
        for program in ("dlsym_semantics", "threads_share_everything", "fork_while_threads_create", "all_released"):
            if not (SCENARIOS / program).exists():
                self.fail(program)
            bare = self.preloaded(SCENARIOS / program, preload=())
            done = self.preloaded(SCENARIOS / program, preload=(FAULT,))
            self.assertEqual((done.stdout, done.stderr, done.returncode), (bare.stdout, bare.stderr, bare.returncode), program)

    def test_a_child_goes_on_counting(self):
        done = self.preloaded(SUBJECT, "open", "pd", "fork", "pd", faults="ibv_alloc_pd:nth=2")
        self.assertEqual([n for _, _, n in self.injected(done)], ["2"], done.stderr)


class Rows(Case):
    """Each row of the tables that makes or releases something on the fake: made to fail, exported and inline ones."""

    def test_each_row_that_the_fake_has(self):
        done = self.preloaded(SCENARIOS / "all_rows", "list", preload=())
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertGreater(len(rows), 80)
        known = table_names()
        tried = set()
        for verb, _, release in rows:
            for fails in dict.fromkeys((verb, release)):
                if fails not in known or fails in tried:
                    continue
                tried.add(fails)
                spec = subprocess.run([COMMAND, "run", "--fault", f"{fails}:nth=1", "--", "/bin/true"], capture_output=True,
                                      text=True, env=self.env(preload=()))
                if "returns nothing" in spec.stderr:
                    continue
                with self.subTest(fails):
                    done = self.all_rows(verb, f"{fails}:nth=1:errno=ENOSPC")
                    self.assertIn((fails, "ENOSPC", "1"), self.injected(done), done.stderr)
                    self.assertNotEqual(done.returncode, 0)
        self.assertGreater(len(tried), 120)


class Findings(Case):
    def test_the_call_that_failed_names_the_fault(self):
        done = self.preloaded(SUBJECT, "open", "pd", "close", faults="ibv_alloc_pd:nth=1:errno=ENOSPC",
                              RDMACHECK_OPTIONS="json_path=r.json")
        self.assertIn("  injected fault: ibv_alloc_pd:nth=1:errno=ENOSPC (ibv_alloc_pd failed with ENOSPC)\n", done.stderr)
        self.assertNotIn("outside this process", done.stderr)
        report = json.loads((self.folder / "r.json").read_text())
        [fault] = report["injected_faults"]
        self.assertEqual((fault["fault"], fault["verb"], fault["call"], fault["result"]),
                         ("ibv_alloc_pd:nth=1:errno=ENOSPC", "ibv_alloc_pd", 1, 28))
        self.assertEqual(fault["stack"][0]["function"], "make_pd")
        [finding] = [f for f in report["findings"] if f["rule"] == "create-failed"]
        self.assertEqual(finding["injected_fault"]["fault"], fault["fault"])
        self.assertTrue(finding["injected_here"])

    def test_what_comes_after_names_it_as_what_was_before(self):
        done = self.preloaded(OWN / "sweep_subject", "leaky", faults="ibv_create_qp:nth=1", RDMACHECK_OPTIONS="json_path=r.json")
        self.assertIn("  after injected fault: ibv_create_qp:nth=1 (ibv_create_qp failed with ENOMEM)\n", done.stderr)
        report = json.loads((self.folder / "r.json").read_text())
        leaks = [f for f in report["findings"] if f["rule"] == "leak-at-close"]
        self.assertEqual(sorted(f["object"]["kind"] for f in leaks), ["cq", "pd"])
        self.assertTrue(all(f["injected_fault"]["verb"] == "ibv_create_qp" and "injected_here" not in f for f in leaks))

    def test_a_real_failure_of_the_same_verb_is_not_taken_for_it(self):
        # EINVAL is no shortage, and said nothing about; the second call is refused by the fake libibverbs itself.
        done = self.preloaded(OWN / "sweep_subject", "fixed", faults="ibv_create_qp:nth=1:errno=EINVAL",
                              FAKE_FAIL="ibv_create_qp@1=EAGAIN", RDMACHECK_OPTIONS="json_path=r.json")
        report = json.loads((self.folder / "r.json").read_text())
        [finding] = [f for f in report["findings"] if f["rule"] == "create-failed"]
        self.assertEqual((finding["result"], finding.get("injected_here", False)), (11, False), done.stderr)

    def test_merged_reports_keep_it(self):
        self.do("run", "--fault", "ibv_create_qp:nth=1", "--json", "r.json", "--", OWN / "sweep_subject", "leaky", status=1)
        report = json.loads((self.folder / "r.json").read_text())
        [fault] = report["processes"][0]["injected_faults"]
        self.assertEqual(fault["verb"], "ibv_create_qp")
        self.do("merge", "-o", "m.json", "r.json", "r.json")
        merged = json.loads((self.folder / "m.json").read_text())
        self.assertTrue(all(p["injected_faults"] == report["processes"][0]["injected_faults"] for p in merged["processes"]))
        out, _ = self.do("show", "r.json")
        self.assertIn("after injected fault: ibv_create_qp:nth=1", out)


class Loss(Case):
    EXPECTED = ["get_cq_event -1 EIO", "get_async_event 0 DEVICE_FATAL", "poll 0x8", "select 1 1", "epoll 1 0x8 4711", "closed"]

    def test_every_waiter_sees_it(self):
        for how, fault in [("signal", "disassociate=signal:USR1"), ("call", "disassociate=after:ibv_alloc_pd#2"),
                           ("time", "disassociate=after:400ms"), ("call", "disassociate=after:ibv_alloc_pd#2:device=fake*")]:
            for preload in ((FAULT,), (CHECKER, FAULT)):
                with self.subTest(fault=fault, preload=preload):
                    done = self.preloaded(OWN / "loss_subject", how, faults=fault, preload=preload)
                    self.assertEqual(done.stdout.splitlines(), self.EXPECTED, done.stderr)
                    self.assertIn(f"fault injected: device fake0 is lost ({fault})", done.stderr)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_left_is_lost_with_the_device_and_no_leak(self):
        done = self.preloaded(SUBJECT, "open", "pd", "close", faults="disassociate=after:ibv_alloc_pd#1",
                              RDMACHECK_OPTIONS="json_path=r.json")
        self.assertIn("fault injected: device fake0 is lost", done.stderr)

    def test_another_device_stays(self):
        done = self.preloaded(SUBJECT, "open", "pd", "free", "close", faults="disassociate=after:ibv_alloc_pd#1:device=mlx5_0")
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_descriptors_are_the_programs_own_without_a_loss(self):
        bare = self.preloaded(SCENARIOS / "channels_eat_descriptors", preload=())
        done = self.preloaded(SCENARIOS / "channels_eat_descriptors", preload=(FAULT,))
        self.assertEqual((done.stdout, done.returncode), (bare.stdout, bare.returncode))


class Delays(Case):
    def run_delayed(self, faults):
        return self.preloaded(OWN / "delay_subject", faults=faults, RDMAV_ALLOW_DISASSOC_DESTROY="1")

    def test_a_rare_overlap_happens_now(self):
        done = self.run_delayed("")
        self.assertIn("taken before", done.stdout)
        self.assertNotIn("event-destroy-race", done.stderr)
        for place in ("before", "after-read", "after"):
            done = self.run_delayed(f"delay=ibv_get_cq_event:{place}:700ms")
            self.assertIn("not yet taken", done.stdout, place)
            self.assertIn("event-destroy-race", done.stderr, place)

    def test_a_delay_of_a_destroy(self):
        done = self.run_delayed("delay=ibv_dealloc_pd:before:300ms:nth=1 delay=ibv_destroy_cq:after:10ms")
        self.assertEqual(done.returncode, 0, done.stderr)


class Sweep(Case):
    def sweep(self, mode, *options, status=0):
        return self.do("run", "--sweep", *options, "--", OWN / "sweep_subject", mode, status=status)

    def rows(self, out):
        return {match[1]: match[2] for match in re.finditer(r"^(\w+ #\d+) +(.*)$", out, re.M)}

    def test_a_leaky_error_path_is_found_with_its_line(self):
        out, err = self.sweep("leaky", status=23)
        line = next(i for i, text in enumerate((SOURCE / "tests/fault/sweep_subject.c").read_text().splitlines(), 1) if "@qp" in text)
        rows = self.rows(out)
        for call in ("ibv_create_qp #1", "ibv_create_qp #2"):
            self.assertRegex(rows[call], rf"ENOMEM +make_queues sweep_subject\.c:{line} +status 1 +LEAKS ")
            self.assertIn("1 pd of make_pd sweep_subject.c:", rows[call])
            self.assertIn("1 cq of make_queues sweep_subject.c:", rows[call])
        self.assertTrue(all("LEAKS" not in text for call, text in rows.items() if "create_qp" not in call), out)
        self.assertIn("2 leak, 0 hang, 0 crash", err)

    def test_its_fixed_variant_has_nothing(self):
        out, err = self.sweep("fixed")
        self.assertNotRegex(out, "LEAKS|HANGS|CRASHES|open at exit")
        self.assertIn("0 leak, 0 hang, 0 crash; 0 leave objects open", err)
        # Every call of the program that can fail stands there, releases too.
        self.assertEqual(len(self.rows(out)), 15, out)

    def test_hangs_and_crashes(self):
        out, err = self.sweep("hangs", "--sweep-timeout", "3", "--sweep-calls", "ibv_create_qp", "--sweep-limit", "1", status=23)
        self.assertIn("HANGS, killed after 3 s", out)
        self.assertIn("1 call was left out: --sweep-limit", err)
        out, _ = self.sweep("crashes", "--sweep-calls", "ibv_create_cq", status=23)
        self.assertIn("CRASHES, signal 11 (SIGSEGV)", out)

    def test_what_is_open_at_exit_is_shown_and_no_failure(self):
        out, err = self.sweep("gives-up")
        self.assertRegex(out, r"open at exit: 1 context of main sweep_subject.c:\d+, 1 pd of make_pd sweep_subject.c:\d+, 1 cq of ")
        self.assertRegex(err, r"0 leak, 0 hang, 0 crash; [1-9]\d* leave objects open at exit")
        self.sweep("gives-up", "--strict", status=23)

    def test_it_goes_on_where_it_was_interrupted(self):
        out, _ = self.sweep("fixed", "--sweep-log", "log")
        lines = (self.folder / "log").read_text().splitlines()
        (self.folder / "log").write_text("\n".join(lines[:5]) + "\n" + lines[5][:20])
        again, err = self.sweep("fixed", "--sweep-log", "log")
        self.assertIn("4 results of an earlier sweep in log", err)
        self.assertEqual(sorted(self.rows(out)), sorted(self.rows(again)))
        _, err = self.sweep("leaky", "--sweep-log", "log", status=2)
        self.assertIn("not the log of a sweep of this command", err)

    def test_interrupted(self):
        with subprocess.Popen([COMMAND, "run", "--sweep", "--sweep-log", "log", "--", str(OWN / "sweep_subject"), "hangs"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env(preload=()),
                              cwd=self.folder) as run:
            self.assertIn("15 runs", run.stderr.readline())
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, err)
        self.assertIn("the same command goes on with log", err)

    def test_nothing_to_sweep(self):
        _, err = self.do("run", "--sweep", "--", "/bin/true")
        self.assertIn("called no such verb", err)
        self.do("run", "--sweep", "--require-verbs", "--", "/bin/true", status=23)


class Library(Case):
    def test_nothing_of_it_is_there_without_it(self):
        symbols = subprocess.run(["nm", "-D", "--defined-only", CHECKER], capture_output=True, text=True).stdout
        for name in ("ioctl", "read", "write", "poll", "mmap", "select", "epoll_ctl"):
            self.assertNotRegex(symbols, rf"\b{name}\b")
        self.assertNotIn("rdmafault", symbols)
        out, _ = self.do("run", "--", SUBJECT, "env", "LD_PRELOAD")
        self.assertEqual(out, f"{CHECKER}\n")
        out, _ = self.do("run", "--fault", "ibv_alloc_pd:nth=1", "--", SUBJECT, "env", "LD_PRELOAD")
        self.assertEqual(out, f"{CHECKER}:{FAULT}\n")

    def test_exports_every_verb_and_no_more_than_it_needs(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", FAULT], capture_output=True, text=True, check=True).stdout
        found = {line.split()[-1].split("@")[0] for line in lines.splitlines() if " T " in line}
        checker = subprocess.run(["nm", "-D", "--defined-only", CHECKER], capture_output=True, text=True, check=True).stdout
        verbs = {line.split()[-1].split("@")[0] for line in checker.splitlines() if " T " in line}
        verbs = {name for name in verbs if not name.startswith("rdmacheck_")} - {"prctl", "dlclose"}
        system = {"ioctl", "read", "__read_chk", "write", "mmap", "mmap64", "poll", "__poll_chk", "ppoll", "__ppoll_chk",
                  "select", "pselect", "epoll_ctl"}
        self.assertEqual(found, verbs | system | {"rdmafault_hook_for", "rdmafault_library_lacks"})
        needed = subprocess.run(["readelf", "-dW", FAULT], capture_output=True, text=True).stdout
        self.assertEqual(set(re.findall(r"\(NEEDED\).*\[(.*)\]", needed)) - {"libc.so.6"} - {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, set())

    def test_it_is_looked_for_beside_the_command(self):
        _, err = self.do("run", "--fault", "ibv_alloc_pd:nth=1", "--", "/bin/true", status=2,
                         env=self.env(preload=(), RDMACHECK_FAULT_LIBRARY="/none.so"))
        self.assertIn("cannot find librdmafault.so (looked for /none.so)", err)


if __name__ == "__main__":
    unittest.main()
