#!/usr/bin/env python3
"""Tests of the command: every call, every exit status, hostile input.

usage: cli_test.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
COMMAND = str(BUILD / "rdmacheck")
SUBJECT = str(BUILD / "tests/cli/subject")
GOLDEN = str(SOURCE / "tests/golden/report.json")
FAKE = str(BUILD / "tests/fake/lib")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rdmacheck-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("RDMACHECK") and k != "LD_PRELOAD"}
        env.update(LD_LIBRARY_PATH=FAKE, TMPDIR=str(self.folder), **more)
        return env

    def do(self, *arguments, status=0, stdin=b"", env=None, **popen):
        done = subprocess.run([COMMAND, *map(str, arguments)], input=stdin, capture_output=True, cwd=self.folder,
                              env=env or self.env(), timeout=120, **popen)
        self.assertEqual(done.returncode, status, done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace"))
        return done.stdout.decode(errors="surrogateescape"), done.stderr.decode(errors="surrogateescape")

    def run_(self, *arguments, status=0, options=(), **more):
        return self.do("run", *options, "--", *arguments, status=status, **more)

    def report(self, *arguments, name="r.json", status=23, options=()):
        self.run_(SUBJECT, *arguments, options=["--json", name, *options], status=status)
        return json.loads((self.folder / name).read_text())

    def leftovers(self):
        return [p.name for p in self.folder.iterdir() if p.name.startswith("rdmacheck-run-")]


class Run(Case):
    def test_a_leak_makes_an_exit_of_0_23(self):
        out, err = self.run_(SUBJECT, "open", "pd", "close", status=23)
        self.assertEqual(out, "")
        self.assertIn("ERROR: rdmacheck: leak-at-close", err)
        self.assertRegex(err, r"rdmacheck: 1 of 1 process called verbs: \d+ calls, 1 context\n")
        self.assertEqual(self.leftovers(), [])

    def test_nothing_found_is_0(self):
        _, err = self.run_(SUBJECT, "open", "pd", "free", "close")
        self.assertIn("no errors", err)

    def test_the_programs_own_status_stays(self):
        self.run_(SUBJECT, "open", "pd", "free", "close", "exit", "7", status=7)
        self.run_(SUBJECT, "open", "pd", "close", "exit", "7", status=7)

    def test_a_leak_of_a_child_counts_though_the_parent_ends_well(self):
        self.run_("/bin/sh", "-c", f"{SUBJECT} open pd close; exit 0", status=23)

    def test_no_verbs_is_said_and_required_if_wanted(self):
        _, err = self.run_("/bin/true")
        self.assertIn("nothing was checked", err)
        _, err = self.run_("/bin/true", options=["--require-verbs"], status=23)
        self.assertIn("--require-verbs", err)
        self.run_(SUBJECT, "open", "close", options=["--require-verbs"])

    def test_strict(self):
        self.run_(SUBJECT, "open", "pd")
        self.run_(SUBJECT, "open", "pd", options=["--strict"], status=23)

    def test_statuses_of_a_shell(self):
        self.run_("/no/such/program", status=127)
        self.run_("no-such-program-anywhere", status=127)
        self.run_(str(self.folder), status=126)
        plain = self.folder / "plain"
        plain.write_text("x")
        self.run_(str(plain), status=126)
        self.run_(SUBJECT, "kill", "15", status=143)
        self.run_(SUBJECT, "kill", "9", status=137)

    def test_ends_without_exit_are_named(self):
        _, err = self.run_(SUBJECT, "open", "kill", "9", status=137)
        self.assertRegex(err, r"process \d+ \(subject\) ended by signal 9 \(SIGKILL\) with 1 context open\n")
        _, err = self.run_(SUBJECT, "open", "_exit", "4", status=4)
        self.assertRegex(err, r"process \d+ \(subject\) ended by _exit")
        _, err = self.run_(SUBJECT, "open", "exec", "open", "close")
        self.assertRegex(err, r"process \d+ \(subject\) ended by exec")
        _, err = self.run_("/bin/sh", "-c", f"{SUBJECT} open kill 9; exit 0")
        self.assertRegex(err, r"process \d+ \(subject\) ended by a signal or _exit")

    def test_what_a_killed_process_left_open_is_a_warning(self):
        report = self.report("open", "pd", "other", "kill", "9", status=137)
        self.assertEqual({(f["rule"], f["severity"], f["object"]["kind"], f["count"]) for f in report["findings"]},
                         {("open-at-exit", "warning", "context", 1), ("open-at-exit", "warning", "pd", 1)})
        self.assertIn("the process ended by signal 9 (SIGKILL), without a report of its own", report["findings"][0]["hints"])
        self.assertEqual(report["summary"]["kinds"]["pd"], {"created": 2, "destroyed": 0, "alive": 2})
        self.assertEqual(sum(group["count"] for group in report["alive"]), 3)

    def test_a_worker_that_ends_by__exit_fails_a_strict_run(self):
        worker = ["/bin/sh", "-c", f"{SUBJECT} open fork pd _exit 0; true"]
        self.run_(*worker)
        report = json.loads(self.do("run", "--strict", "--json", "r.json", "--", *worker, status=23) and
                            (self.folder / "r.json").read_text())
        self.assertEqual([(p["ended_by"], bool(p.get("remarks"))) for p in report["processes"] if p["ended_by"]],
                         [("a signal or _exit", True)])
        self.assertIn("pd", {f["object"]["kind"] for f in report["findings"] if f["severity"] == "error"})
        self.run_(SUBJECT, "open", "fork", "pd", "free", "close", "_exit", "0", options=["--strict"], status=23)  # the parent's

    def test_a_hang_that_a_timeout_kills_names_the_call(self):
        # Long enough for a loaded machine to come as far as the destroy.
        hangs = ["timeout", "-s", "KILL", "12", SUBJECT, "open", "pd", "free"]
        env = self.env(FAKE_DELAY="ibv_dealloc_pd=600000")
        self.run_(*hangs, options=["--json", "r.json"], status=137, env=env)
        (process,) = json.loads((self.folder / "r.json").read_text())["processes"]
        self.assertTrue(any(re.fullmatch(r"thread \d+( \(subject\))? was inside ibv_dealloc_pd of pd #\d+.*", one) for one in process["remarks"]),
                        process["remarks"])
        self.assertEqual([f["rule"] for f in json.loads((self.folder / "r.json").read_text())["findings"] if f["rule"] != "open-at-exit"], [])  # when the grandchild was killed is not known
        # Killed after more than ten seconds in it: then nothing else explains the kill.
        slow = subprocess.Popen([COMMAND, "run", "--json", "slow.json", "--", *hangs[4:]], cwd=self.folder, env=env, stderr=subprocess.PIPE)
        self.addCleanup(slow.kill)
        # That nothing explains it is found where every destroy is watched, with the place where it stands.
        options = ["--json", "r.json", "--option", "hang_timeout=1", "--option", "hang_stacks=1"]
        _, err = self.run_(*hangs, options=options, status=137, env=env)
        self.assertRegex(err, r"blocked-destroy: ibv_dealloc_pd of pd #\d+ .*no unacknowledged event explains it")
        blocked = next(f for f in json.loads((self.folder / "r.json").read_text())["findings"] if f["rule"] == "blocked-destroy")
        self.assertEqual([stack["role"] for stack in blocked["stacks"]], ["here", "other-thread", "created"])
        self.assertIn("nanosleep", blocked["stacks"][1]["frames"][0]["function"])
        self.assertEqual(blocked["stacks"][1]["frames"][-1]["function"], blocked["stacks"][0]["frames"][-1]["function"])
        time.sleep(10)  # its destroy began some time after it was started
        slow.send_signal(signal.SIGTERM)
        self.assertIn("ended by signal 15", slow.communicate(timeout=60)[1].decode())
        self.assertEqual(slow.returncode, 143)
        blocked = next(f for f in json.loads((self.folder / "slow.json").read_text())["findings"] if f["rule"] == "blocked-destroy")
        self.assertRegex(blocked["message"], r"ibv_dealloc_pd of pd #\d+ .*had not returned when the process ended: no unacknowledged event")

    def test_a_killed_process_nobody_waited_for_has_ended(self):
        for name in ("ready", "never"):
            os.mkfifo(self.folder / name)
        for _ in range(20):
            _, err = self.run_("/bin/sh", "-c", f"{SUBJECT} open pd read >ready <>never & read line <ready; kill -9 $!; exit 0")
            self.assertRegex(err, r"process \d+ \(subject\) ended by a signal or _exit with 1 context, 1 pd open\n")
            self.assertNotIn("still run", err)

    def test_the_text_of_what_a_killed_process_left(self):
        _, err = self.run_(SUBJECT, "open", "pd", "kill", "9", status=137)
        self.assertRegex(err, r"(?s)==(\d+)==WARNING: rdmacheck: open-at-exit: 2 objects are still open .*\n    #\d make_pd subject\.c:\d+ ")
        self.assertIn("the process ended by signal 9 (SIGKILL), without a report of its own", err)
        # What it had reported itself does not come twice, and what is known not at all.
        _, err = self.run_(SUBJECT, "open", "pd", "close", "open", "kill", "9", status=137)
        self.assertEqual(err.count("leak-at-close:"), 1, err)
        (self.folder / "a.supp").write_text("open-at-exit:subject.c:known\n")
        options = ["--strict", "--suppressions", "a.supp", "--json", "r.json"]
        _, err = self.run_("/bin/sh", "-c", f"{SUBJECT} open pd kill 9; true", options=options)
        self.assertNotIn("open-at-exit", err)
        self.assertIn("no errors, 2 suppressed", err)
        self.assertEqual(json.loads((self.folder / "r.json").read_text())["summary"]["suppressed"], 2)

    def test_a_process_that_calls_its_first_verb_after_the_end(self):
        os.mkfifo(self.folder / "go")
        script = f"(read line <go; exec {SUBJECT} open pd close) >late 2>&1 & exit 0"
        _, err = self.run_("/bin/sh", "-c", script)
        folder = pathlib.Path(re.search(r"reports of processes that still run will go to (/\S+); 1 of them has called no verb so far\n", err)[1])
        (self.folder / "go").write_text("go\n")
        deadline = time.monotonic() + 60
        while not list(folder.glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.01)
        out, _ = self.do("show", *folder.glob("*.json"))
        self.assertIn("leak-at-close", out)
        self.assertNotIn("journal", (self.folder / "late").read_text())

    def test_a_process_ends_with_its_last_thread(self):
        self.run_(BUILD / "tests/scenario/main_thread_leaves", "clean")
        self.run_(BUILD / "tests/scenario/main_thread_leaves", "leak", status=23)

    def test_a_killed_process_keeps_what_it_had_reported(self):
        report = self.report("open", "pd", "close", "open", "other", "kill", "9", status=137)
        self.assertEqual(sorted((f["rule"], f["object"]["kind"]) for f in report["findings"]),
                         [("leak-at-close", "pd"), ("open-at-exit", "context"), ("open-at-exit", "pd")])
        self.assertEqual(len(report["processes"]), 1)
        self.assertEqual(sorted((group["kind"], group["count"]) for group in report["alive"]), [("context", 1), ("pd", 1), ("pd", 1)])  # what was left at the close too

    def test_no_journal_if_none_is_wanted(self):
        _, err = self.run_(SUBJECT, "open", "kill", "9", options=["--option", "journal_path="], status=137)
        self.assertRegex(err, r"ended by signal 9 \(SIGKILL\): its end was not checked\n")

    def test_a_journal_of_ones_own(self):
        name = str(self.folder / "j-%p")
        self.run_(SUBJECT, "open", "close", options=["--option", f"journal_path={name}"])
        self.assertEqual(list(self.folder.glob("j-*")), [])
        _, err = self.run_(SUBJECT, "open", "kill", "9", options=["--option", f"journal_path={name}"], status=137)
        self.assertIn("with 1 context open", err)
        (journal,) = self.folder.glob("j-*")
        self.assertEqual(stat.S_IMODE(journal.stat().st_mode), 0o600)
        out, _ = self.do("show", journal)
        self.assertIn("WARNING: rdmacheck: open-at-exit: 1 object is still open when the process ends: 1 context", out)
        for call in ("json", "html", "sarif", "folded", "suppress"):
            self.do(call, journal)
        self.do("gate", journal)
        self.do("diff", journal, journal)
        journal.write_bytes(journal.read_bytes()[:70000])
        _, err = self.do("show", journal, status=2)
        self.assertRegex(err, r"/j-\d+:70000: a journal of \d+ segments is cut off here")

    def test_an_exec_loses_no_report(self):
        report = self.report("open", "pd", "close", "exec", "open", "other", "close")
        self.assertEqual(len(report["processes"]), 2)
        self.assertEqual(sorted(f["rule"] for f in report["findings"]), ["leak-at-close", "leak-at-close"])
        self.assertEqual(report["processes"][0]["ended_by"], "exec")

    def test_forked_children_are_processes_of_their_own(self):
        report = self.report("open", "fork", "pd", "close")
        self.assertEqual(len(report["processes"]), 2)
        self.assertEqual(report["summary"]["errors"], 1)

    def test_equal_findings_of_many_processes_stand_once(self):
        self.run_("/bin/sh", "-c", f"for i in 1 2 3; do {SUBJECT} open pd close; done; true", options=["--json", "r.json"],
                  status=23)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(len(report["processes"]), 3)
        self.assertEqual([f["processes"] for f in report["findings"]], [[[0, 2]]])
        self.assertEqual(report["findings"][0]["count"], 3)

    def test_no_children(self):
        script = f"{SUBJECT} open pd close; echo ${{LD_PRELOAD-unset}}${{RDMACHECK_RUN-unset}}; true"
        out, err = self.run_("/bin/sh", "-c", script, options=["--no-children"])
        self.assertEqual(out, "unsetunset\n")
        self.assertIn("nothing was checked", err)
        self.run_(SUBJECT, "open", "pd", "close", options=["--no-children"], status=23)

    def test_an_ld_preload_that_is_there_stays(self):
        other = FAKE + "/libibverbs.so.1"
        out, _ = self.run_(SUBJECT, "env", "LD_PRELOAD", env=self.env(LD_PRELOAD=other))
        self.assertEqual(out, f"{BUILD}/librdmacheck.so:{other}\n")
        out, _ = self.do("run", "--no-children", "--", SUBJECT, "env", "LD_PRELOAD", env=self.env(LD_PRELOAD=other))
        self.assertEqual(out, other + "\n")

    def test_the_users_options_stay_and_more_are_added(self):
        env = self.env(RDMACHECK_OPTIONS="exitcode=9:log_path=/dev/null")
        _, err = self.run_(SUBJECT, "open", "pd", "close", env=env, status=9)
        self.assertNotIn("leak-at-close", err)
        self.run_(SUBJECT, "open", "pd", options=["--option", "strict=1", "--option", "log_path=stdout"], status=23)
        self.run_(SUBJECT, "open", "pd", options=["--option", "strict=1:log_path=stdout"], status=23)
        _, err = self.run_(SUBJECT, options=["--option", "strict=1:lok_path=stdout"], status=2)
        self.assertIn("lok_path", err)
        _, err = self.run_(SUBJECT, options=["--option", "strickt=1"], status=2)
        self.assertIn("did you mean 'strict'", err)
        self.run_(SUBJECT, options=["--option", "strict"], status=2)
        # json_path of the user is written all the same.
        self.run_(SUBJECT, "open", "pd", "close", env=self.env(RDMACHECK_OPTIONS="json_path=own.json"),
                  options=["--json", "r.json"], status=23)
        self.assertEqual(json.loads((self.folder / "own.json").read_text())["summary"]["errors"], 1)

    def test_exitcode_0_leaves_the_status_alone(self):
        self.run_(SUBJECT, "open", "pd", "close", options=["--option", "exitcode=0"])

    def test_suppressions_are_read_before_the_run(self):
        (self.folder / "a.supp").write_text("leak-at-close:make_pd:known\n")
        (self.folder / "bad.supp").write_text("leek-at-close:x\n")
        self.run_(SUBJECT, "open", "pd", "close", options=["--suppressions", "a.supp"])
        self.run_("/bin/sh", "-c", f"cd /; {SUBJECT} open pd close", options=["--suppressions", "a.supp"])
        _, err = self.run_(SUBJECT, "open", options=["--suppressions", "bad.supp"], status=2)
        self.assertIn("bad.supp:1", err)
        self.run_(SUBJECT, "open", options=["--suppressions", "none.supp"], status=2)
        (self.folder / "b.supp").write_text("leak-at-close:make_other_pd\n")
        self.run_(SUBJECT, "open", "pd", "other", "close", options=["--suppressions", "a.supp", "--suppressions", "b.supp"])

    def test_a_baseline_lets_known_errors_pass_and_no_others(self):
        self.run_(SUBJECT, "open", "pd", "close", options=["--write-baseline", "base.json"], status=23)
        _, err = self.run_(SUBJECT, "open", "pd", "close", options=["--baseline", "base.json"])
        self.assertIn("0 new errors, 1 known, 0 gone", err)
        _, err = self.run_(SUBJECT, "open", "other", "close", options=["--baseline", "base.json"], status=23)
        self.assertIn("1 new error, 0 known, 1 gone", err)
        self.run_(SUBJECT, "open", options=["--baseline", "none.json"], status=2)

    def test_outputs_that_cannot_be_written_are_said_before_the_run(self):
        out, err = self.do("run", "--json", "/no/such/folder/r.json", "--", "/bin/echo", "ran", status=2)
        self.assertEqual(out, "")
        self.assertIn("/no/such/folder/r.json", err)

    def test_signals_are_passed_on_and_standard_streams_are_the_programs(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGRTMIN + 3):
            with subprocess.Popen([COMMAND, "run", "--", SUBJECT, "await", str(int(number))], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.env(), text=True) as run:
                self.assertEqual(run.stdout.readline(), "ready\n")
                run.send_signal(number)
                out, _ = run.communicate(timeout=60)
                self.assertEqual((out, run.returncode), (f"got {int(number)}\n", 0))
        out, _ = self.run_("/bin/cat", stdin=b"one\ntwo\n")
        self.assertEqual(out, "one\ntwo\n")

    def test_what_cannot_be_watched_is_said(self):
        static = BUILD / "tests/cli/static_subject"
        _, err = self.run_(static)
        self.assertIn("is linked statically", err)
        self.assertIn("nothing was checked", err)
        if os.geteuid() == 0:
            copy = self.folder / "setuid"
            shutil.copy(SUBJECT, copy)
            os.chown(copy, 12345, -1)
            os.chmod(copy, 0o4755)
            _, err = self.run_(copy)
            self.assertIn("is setuid", err)

    def test_a_library_that_is_nowhere(self):
        _, err = self.run_("/bin/true", env=self.env(RDMACHECK_LIBRARY="/none.so"), status=2)
        self.assertIn("/none.so", err)

    def test_installed_folders_and_names_that_ld_preload_cannot_hold(self):
        bin_ = self.folder / "a place: here/bin"
        lib = self.folder / "a place: here/lib"
        bin_.mkdir(parents=True)
        lib.mkdir()
        shutil.copy(COMMAND, bin_)
        shutil.copy(BUILD / "librdmacheck.so", lib)
        done = subprocess.run([bin_ / "rdmacheck", "run", "--", SUBJECT, "open", "pd", "close"], capture_output=True,
                              env=self.env(), text=True)
        self.assertEqual(done.returncode, 23, done.stderr)

    def test_every_form_at_once(self):
        self.run_(SUBJECT, "open", "pd", "close", status=23,
                  options=["--json", "r.json", "--html", "r.html", "--sarif", "r.sarif", "--junit", "r.xml"])
        for name in ("r.json", "r.html", "r.sarif", "r.xml"):
            self.assertGreater((self.folder / name).stat().st_size, 100, name)
        out, _ = self.run_(SUBJECT, "open", "pd", "close", options=["--github"], status=23)
        self.assertIn("::error ", out)

    def test_usage(self):
        self.do("run", status=2)
        self.do("run", "--", status=2)
        self.do("run", "--no-such-flag", "--", "/bin/true", status=2)
        self.do(status=2)
        self.do("no-such-call", status=2)
        # What follows the program is the program's.
        out, _ = self.run_("/bin/echo", "--strict", "--json")
        self.assertEqual(out, "--strict --json\n")


class Snapshot(Case):
    def test_two_snapshots_and_what_grew(self):
        with subprocess.Popen([COMMAND, "run", "--", SUBJECT, "open", "pd", "read"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env(), text=True,
                              cwd=self.folder) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            pid = int(subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout)
            first, _ = self.do("snapshot", pid)
            run.stdin.write("pd\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline(), "pd\n")
            second, _ = self.do("snapshot", pid)
            run.stdin.close()
            run.stdin = None
            run.wait(60)
        first, second = first.strip(), second.strip()
        self.assertNotEqual(first, second)
        out, _ = self.do("diff", first, second, status=23)
        self.assertIn("+1 pd (1 then 2)", out)
        self.assertIn("SUMMARY: rdmacheck: 1 object more", out)
        out, _ = self.do("diff", first, first)
        self.assertIn("nothing grew", out)
        out, _ = self.do("diff", second, first)
        self.assertIn("-1 pd", out)

    def test_json_path_names_the_file(self):
        env = self.env(RDMACHECK_OPTIONS="json_path=out-%e-%p.json:snapshot_signal=10")
        with subprocess.Popen([COMMAND, "run", "--", SUBJECT, "open", "read"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=env, text=True, cwd=self.folder) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            pid = int(subprocess.run(["pgrep", "-P", str(run.pid)], capture_output=True, text=True).stdout)
            out, _ = self.do("snapshot", pid)
            self.assertEqual(out.strip(), str(self.folder / f"out-subject-{pid}.snapshot-1.json"))
            run.stdin.close()
            run.stdin = None
            run.wait(60)

    def test_it_sends_no_signal_to_strangers(self):
        with subprocess.Popen(["/bin/sleep", "60"]) as sleep:
            self.do("snapshot", sleep.pid, status=2)
            self.assertIsNone(sleep.poll())
            sleep.kill()
        self.do("snapshot", 4194303, status=2)
        self.do("snapshot", "-1", status=2)
        self.do("snapshot", "x", status=2)


class Reports(Case):
    def test_show_is_the_text_that_the_process_wrote(self):
        out, _ = self.do("show", "--no-symbols", GOLDEN)
        self.assertEqual(out, (SOURCE / "tests/golden/report.txt").read_text())

    def test_show_finds_the_names_that_a_report_lacks(self):
        self.run_(SUBJECT, "open", "pd", "close", options=["--json", "r.json", "--option", "symbolize=0"], status=23)
        out, _ = self.do("show", "--no-symbols", "r.json")
        self.assertNotIn("make_pd", out)
        out, _ = self.do("show", "r.json")
        self.assertRegex(out, r"#0 make_pd subject.c:\d+ \(subject\+0x")

    def test_standard_input_and_output(self):
        out, _ = self.do("show", "-", stdin=pathlib.Path(GOLDEN).read_bytes())
        self.assertIn("SUMMARY", out)
        self.do("show", "-o", "out.txt", GOLDEN)
        self.assertIn("SUMMARY", (self.folder / "out.txt").read_text())
        self.do("show", "-o", "/no/such/folder/x", GOLDEN, status=2)

    def test_no_colour_but_on_a_terminal(self):
        out, _ = self.do("show", GOLDEN)
        self.assertNotIn("\x1b", out)
        for no_color, wanted in (("", True), ("1", False)):
            env = self.env(TERM="xterm", NO_COLOR=no_color)
            out = subprocess.run(["script", "-qec", f"{COMMAND} show {GOLDEN}", "/dev/null"], capture_output=True, text=True,
                                 env=env, stdin=subprocess.DEVNULL).stdout
            self.assertEqual("\x1b[1;31m" in out, wanted)

    def test_merge_names_the_ranks(self):
        document = json.loads(pathlib.Path(GOLDEN).read_text())
        names = []
        for rank in [*range(20), 700]:
            document["process"]["rank"] = str(rank)
            document["process"]["pid"] = 1000 + rank
            name = f"rank{rank}.json"
            (self.folder / name).write_text(json.dumps(document))
            names.append(name)
        self.do("merge", "-o", "all.json", *names)
        merged = json.loads((self.folder / "all.json").read_text())
        self.assertEqual(len(merged["processes"]), 21)
        self.assertEqual(len(merged["findings"]), len(document["findings"]))
        self.assertEqual({f["ranks"] for f in merged["findings"]}, {"ranks 0-19,700"})
        self.assertEqual(merged["findings"][0]["processes"], [[0, 20]])
        self.assertEqual(merged["findings"][0]["count"], 21 * document["findings"][0]["count"])
        # A merged report is a report.
        self.do("merge", "-o", "again.json", "all.json")
        self.assertEqual(json.loads((self.folder / "again.json").read_text()), merged)
        out, _ = self.do("show", "all.json")
        self.assertIn("in 21 processes: ranks 0-19,700", out)
        self.assertNotEqual(len(self.do("merge", "-o", "-", "all.json")[0]), 0)

    def test_gate(self):
        self.report("open", "pd", "close", name="old.json")
        self.report("open", "pd", "other", "close", name="new.json")
        out, _ = self.do("gate", "old.json", status=23)
        self.assertIn("GATE: rdmacheck: failed: 1 error", out)
        out, _ = self.do("gate", "--baseline", "old.json", "old.json")
        self.assertIn("passed: 0 new errors, 1 known, 0 gone", out)
        out, _ = self.do("gate", "--baseline", "old.json", "new.json", status=23)
        self.assertIn("failed: 1 new error, 1 known, 0 gone", out)
        self.assertIn("make_other_pd", out)
        out, _ = self.do("gate", "--baseline", "new.json", "old.json")
        self.assertIn("1 gone", out)
        self.do("gate", "--write-baseline", "base.json", "new.json", status=23)
        self.do("gate", "--baseline", "base.json", "new.json")
        (self.folder / "s.supp").write_text("*:make_other_pd\n")
        self.do("gate", "--baseline", "old.json", "--suppressions", "s.supp", "new.json")

    def test_gate_knows_a_rebuilt_program(self):
        source = (SOURCE / "tests/cli/subject.c").read_text()
        for name, text in (("one", source), ("two", "\n" * 20 + source)):
            (self.folder / f"{name}").mkdir()
            (self.folder / f"{name}/subject.c").write_text(text)
            subprocess.run(["cc", "-g", "-O1" if name == "two" else "-O0", f"-I{SOURCE}/tests/scenario", f"-I{SOURCE}/tests/fake",
                            f"{name}/subject.c", "-o", f"{name}/subject", f"-L{FAKE}", "-libverbs"], cwd=self.folder, check=True)
            self.run_(f"{self.folder}/{name}/subject", "open", "pd", "close", options=["--json", f"{name}.json"], status=23)
        self.do("gate", "--baseline", "one.json", "two.json")

    def test_gate_does_not_pass_what_is_counted_and_not_listed(self):
        report = self.report("open", "pd", "free", "close", status=0)
        report["summary"]["errors"] = 3
        for process in report["processes"]:
            process["summary"]["errors"] = 3
            process["summary"]["not_listed"] = 3
        (self.folder / "r.json").write_text(json.dumps(report))
        out, _ = self.do("gate", "r.json", status=23)
        self.assertIn("3 errors are counted but not listed", out)

    def test_suppress_writes_lines_that_hold(self):
        for symbols in ("1", "0"):
            self.report("open", "pd", "other", "close", options=["--option", f"symbolize={symbols}"])
            self.do("suppress", "-o", "s.supp", "r.json")
            lines = [l for l in (self.folder / "s.supp").read_text().splitlines() if not l.startswith("#")]
            self.assertEqual(len(lines), 2, lines)
            self.run_(SUBJECT, "open", "pd", "other", "close", options=["--suppressions", "s.supp"])
        out, _ = self.do("suppress", "--builtin")
        self.assertIn("open-at-exit:ncclIbInit:", out)
        self.do("suppress", status=2)

    def test_options_and_rules(self):
        self.assertIn("halt_on_error=0", self.do("options")[0])
        out, _ = self.do("rules")
        rules = [l.split()[0] for l in out.splitlines()]
        self.assertIn("leak-at-close", rules)
        for rule in rules:
            out, _ = self.do("rules", rule)
            self.assertTrue(out.startswith(rule + " ("), out)
            self.assertGreater(len(out), 300, rule)
        _, err = self.do("rules", "leek-at-close", status=2)
        self.assertIn("did you mean 'leak-at-close'", err)

    def test_every_help_has_an_example_that_works(self):
        out, _ = self.do("--help")
        calls = re.findall(r"^  ([a-z-]+)  ", out[out.index("Subcommands:"):], re.M)
        self.assertGreater(len(calls), 12)
        shutil.copy(SUBJECT, self.folder / "app")
        for name in ("report.json", "known.json", "rank0.json", "rank1.json", "app.snapshot-1.json", "app.snapshot-2.json"):
            shutil.copy(GOLDEN, self.folder / name)
        for call in calls:
            out, _ = self.do(call, "--help")
            example = re.search(r"^  rdmacheck (.*)$", out, re.M)
            self.assertIsNotNone(example, call)
            if call == "snapshot":
                continue  # of a process: class Snapshot
            done = subprocess.run(["/bin/sh", "-c", f"{COMMAND} {example[1]}"], cwd=self.folder, env=self.env(),
                                  capture_output=True)
            self.assertEqual(done.returncode, 0, (call, example[1], done.stderr))


class Hostile(Case):
    def bad(self, data, sentence, call="show"):
        path = self.folder / "bad.json"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        _, err = self.do(call, *(["-o", "out"] if call in ("merge", "html") else []), "bad.json", status=2)
        self.assertRegex(err, r"^rdmacheck: bad.json:\d+: " + sentence)
        return err

    def test_broken(self):
        self.bad("", "expected an object, found the end of the file")
        self.bad("[]", "expected an object, found '\\['")
        self.bad("{", "expected a string, found the end of the file")
        self.bad('{"schema": "other"}', "'schema' is not")
        self.bad("{} x", "the report has no 'schema'")
        self.bad(b'{"\xff": 1}', "a byte that is not UTF-8")
        self.bad('{"a": "\x01"}', "a control character inside a string")
        self.bad('{"a": 01}', "expected ',' or '}', found '1'")
        self.bad('{"a": .5}', "expected a value")
        self.bad('{"a": NaN}', "expected a value")
        self.bad('{"a": "\\ud800"}', "half of a surrogate pair")
        self.bad('{"a": ' + "[" * 100000, "nested deeper than 64 levels")
        self.bad('{"a": ' + '{"a":' * 100000, "nested deeper than 64 levels")

    def test_every_truncation_is_told(self):
        data = pathlib.Path(GOLDEN).read_bytes().rstrip()
        for length in range(0, len(data), 997):
            self.bad(data[:length], "")

    def test_wrong_types_and_values(self):
        def changed(*path, value):
            document = json.loads(pathlib.Path(GOLDEN).read_text())
            at = document
            for step in path[:-1]:
                at = at[step]
            if value is KeyError:
                del at[path[-1]]
            else:
                at[path[-1]] = value
            return json.dumps(document)
        self.bad(changed("version", value=2), "a report of version 2")
        self.bad(changed("findings", value={}), "expected an array")
        self.bad(changed("findings", 0, "rule", value="no-such-rule"), "'no-such-rule' is no rule")
        self.bad(changed("findings", 0, "rule", value=KeyError), "a finding has no 'rule'")
        self.bad(changed("findings", 0, "severity", value="fatal"), "'fatal' is no severity")
        self.bad(changed("findings", 0, "count", value=-1), "expected a whole number from 0")
        self.bad(changed("findings", 0, "count", value=1.5), "expected a whole number from 0")
        self.bad(changed("process", "pid", value=2**40), "a number that is too large")
        self.bad(changed("findings", 0, "processes", value=[[0, 4000000000]]), "a finding of process 4000000000")
        self.bad(changed("findings", 0, "processes", value=[[5, 1]]), "ranges of processes must ascend")
        # What a later version adds is passed over.
        path = self.folder / "more.json"
        path.write_text(changed("findings", 0, "something_new", value={"a": [1, 2, {"b": None}]}))
        self.do("show", "more.json")

    def test_twice(self):
        text = pathlib.Path(GOLDEN).read_text()
        self.bad(text.replace('"findings": [', '"findings": [], "findings": [', 1), "the report has 'findings' twice")

    def test_files_that_are_none(self):
        self.do("show", "none.json", status=2)
        self.do("show", str(self.folder), status=2)
        big = self.folder / "big.json"
        with open(big, "wb") as file:
            file.truncate(1 << 31)
        _, err = self.do("show", "big.json", status=2)

    def test_no_string_reaches_the_terminal_as_it_is(self):
        document = json.loads(pathlib.Path(GOLDEN).read_text())
        evil = "\x1b]0;owned\x07\x1b[2J\u202e\u009b31m\r\nfake line\u2028\x7f"
        def poison(value):
            if isinstance(value, dict):
                keep = ("schema", "rule", "severity", "role", "name" if value.get("name") == "rdmacheck" else "")
                return {k: v if k in keep else poison(v) for k, v in value.items()}
            if isinstance(value, list):
                return [poison(v) for v in value]
            return value + evil if isinstance(value, str) else value
        (self.folder / "evil\x1b[2J.json").write_text(json.dumps(poison(document)))
        name = "evil\x1b[2J.json"
        for call in (["show", name], ["gate", name], ["suppress", name], ["diff", name, name]):
            done = subprocess.run([COMMAND, *call], capture_output=True, cwd=self.folder, env=self.env())
            self.assertIn(done.returncode, (0, 23), (call, done.stderr))
            text = (done.stdout + done.stderr).decode()
            bad = [c for c in text if (ord(c) < 32 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2028"]
            self.assertEqual(bad, [], call)
            self.assertNotIn("\nfake line", text)
        _, err = self.do("show", "no\x1b[2Jfile", status=2)
        self.assertNotIn("\x1b", err)

    def test_memory_stays_small(self):
        path = self.folder / "deep.json"
        path.write_text('{"x": [' + ",".join(["[[[[]]]]"] * 500000) + "]}")
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        self.do("show", "deep.json", status=2, preexec_fn=limit)


if __name__ == "__main__":
    unittest.main(verbosity=2)
