#!/usr/bin/env python3
"""Python frames in reports: worker.py on the fake libibverbs, with each Python from 3.9 to 3.13 that this machine has.

    run.py --library FILE --command FILE --fake DIR --helper FILE
"""
import argparse
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    jsonschema = None

HERE = pathlib.Path(__file__).resolve().parent
WORKER = HERE / "worker.py"
SCHEMA = json.loads((HERE.parents[1] / "docs" / "report.schema.json").read_text())
LINE = next(number for number, line in enumerate(WORKER.read_text().splitlines(), 1) if "@register" in line)
OLDEST, NEWEST = 9, 13


def pythons():
    """The machine's own, and those of pyenv: one of each version."""
    found = {}
    for path in ["/usr/bin/python3", sys.executable, *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))]:
        if not os.path.exists(path):
            continue
        minor = int(subprocess.run([path, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True,
                                   check=True).stdout)
        if OLDEST <= minor <= NEWEST:
            found.setdefault(minor, path)
    return found


class Test:
    def __init__(self, options, python, minor, folder):
        self.options, self.python, self.minor, self.folder = options, python, minor, folder
        self.runs = 0

    def run(self, how, status=23, **more):
        """The reports of a run, and what it printed."""
        self.runs += 1
        folder = self.folder / f"{self.minor}-{self.runs}"
        folder.mkdir()
        options = [f"json_path={folder}/%p.json", *(f"{name}={value}" for name, value in more.items())]
        env = dict(os.environ, LD_PRELOAD=self.options.library, LD_LIBRARY_PATH=f"{self.options.fake}/lib",
                   RDMACHECK_OPTIONS=":".join(options), HELPER=self.options.helper)
        done = subprocess.run([self.python, WORKER, how], env=env, capture_output=True, text=True, timeout=120)
        if done.returncode != status:
            raise AssertionError(f"{how}: exit {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
        self.files = sorted(folder.glob("*.json"))
        reports = [json.loads(file.read_text()) for file in self.files]
        for report in reports:
            if jsonschema is not None:
                jsonschema.validate(report, SCHEMA)
        return reports, done.stderr

    def created(self, reports):
        """Where each protection domain was made."""
        return [stack["frames"] for report in reports for finding in report["findings"] for stack in finding["stacks"]
                if stack["role"] == "created" and finding["object"]["kind"] == "pd"]

    def expect(self, how, *functions, status=23):
        reports, text = self.run(how, status)
        stacks = self.created(reports)
        assert stacks, how
        for frames in stacks:
            python = [frame for frame in frames if frame.get("language") == "python"]
            names = [frame["function"].rpartition(".")[2] for frame in python]
            assert names[0] == "register" and python[0]["line"] == LINE and python[0]["file"].endswith("worker.py"), python
            assert python[0]["module"] is None and python[0]["offset"] == 0, python[0]
            rest = iter(names)
            assert all(name in rest for name in functions), (how, names)
            assert not any("frozen importlib" in frame["file"] for frame in python), names
            assert frames.index(python[0]) > 0, "the frames of C come first"
            evals = [frame for frame in frames if frame["function"] == "_PyEval_EvalFrameDefault"]
            # C between two parts of Python code: since 3.11 it is not known which frames the outer part has.
            assert not evals or how in ("callback", "task"), frames
        assert re.search(rf"#\d+ (Worker\.)?register worker\.py:{LINE} \(python\)", text), text
        return reports, text, stacks

    def all(self):
        self.expect("call", "main", "<module>")
        self.expect("exit", "main", "<module>", status=0)  # left for the end: reported when the interpreter is gone
        self.expect("thread", "run", "_bootstrap")
        self.expect("task", "task", "run_forever", "in_task", "main", "<module>")
        self.expect("exception", "__del__", "in_exception")
        self.expect("fork", "main", "in_process", "<module>", status=0)  # its worker ends by os._exit()
        self.expect("spawn", "main", "run")
        _, _, stacks = self.expect("callback", "in_callback", "main")
        if self.minor <= 10:  # one frame of the loop for each: each run has its own
            languages = "".join("p" if frame.get("language") else "c" for frame in stacks[0])
            assert re.fullmatch(r"c+pc+p+c*", languages), languages
        # Code that comes and goes at the same address, and equal stacks once.
        reports, _, stacks = self.expect("many", "many", "main", "<module>")
        assert len(stacks) == 1 and sum(len(group["objects"]) for group in reports[0]["alive"]) <= 2

        # The thread gave up the GIL: Python is not asked, and one frame stands for a run of the interpreter's.
        reports, text = self.run("released")
        assert "(python)" not in text, text
        for frames in self.created(reports):
            modules = [os.path.basename(frame["module"] or "") for frame in frames]
            interpreters = [bool(re.match(r"(lib)?python3?[.0-9]*(so|$)", module)) for module in modules]
            assert True in interpreters and not any(a and b for a, b in zip(interpreters, interpreters[1:])), frames
        # Python holds the GIL, but may not be asked: in a signal handler, and in a child that fork() has not returned to.
        for how, status in (("alloc_in_handler", 23), ("alloc_in_child", 0)):
            reports, _ = self.run(how, status)
            stacks = self.created(reports)
            assert stacks and not any(frame.get("language") for frames in stacks for frame in frames), (how, stacks)
        reports, text = self.run("call", python=0)
        assert "(python)" not in text and sum("_PyEval" in (frame["function"] or "") for frame in self.created(reports)[0]) >= 1
        reports, text = self.run("clean", 0, strict=1)
        assert not text and not any(report["findings"] for report in reports), text

        for pattern in ("register", "worker.py", "*.main", "main"):
            file = self.folder / "suppressions"
            file.write_text(f"leak-at-close:{pattern}\n")
            status = 23 if pattern == "*.main" else 0
            reports, _ = self.run("call", status, suppressions=file)
            assert all(bool(finding["suppressed_by"]) == (status == 0) for finding in reports[0]["findings"])
        self.read_back()
        self.killed()

    def read_back(self):
        """The command keeps them, and calls stacks equal that differ in lines only."""
        self.run("call")
        report = self.files[0]
        command = lambda *words, status=0: self.command(words, status)
        assert f"register worker.py:{LINE} (python)" in command("show", report)
        merged = self.folder / "merged.json"
        command("merge", "-o", merged, report, report)
        assert f"register worker.py:{LINE} (python)" in command("show", merged)
        assert ";main;" in command("folded", report).replace("Worker.", "") and "worker.py" in command("sarif", report)
        assert re.search(r"^[\w*-]+:(Worker\.)?register", command("suppress", report), re.M)
        other = json.loads(report.read_text())
        for finding in other["findings"]:
            for stack in finding["stacks"]:
                for frame in stack["frames"]:
                    if frame.get("language"):
                        frame["line"] += 10
        moved = self.folder / "moved.json"
        moved.write_text(json.dumps(other))
        command("gate", "--baseline", report, moved)
        moved.write_text(json.dumps(other).replace("register", "enrol"))
        command("gate", "--baseline", report, moved, status=23)

    def killed(self):
        """The journal has them too."""
        journal = self.folder / "journal"
        self.run("killed", -9, journal_path=journal)
        shown = self.command(["show", journal], 0)
        assert f"register worker.py:{LINE} (python)" in shown and "_PyEval" not in shown, shown

    def command(self, words, status):
        done = subprocess.run([self.options.command, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ("library", "command", "fake", "helper"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    found = pythons()
    assert found, "no Python from 3.9 to 3.13"
    failed = 0
    for minor, python in sorted(found.items()):
        with tempfile.TemporaryDirectory() as folder:
            test = Test(options, python, minor, pathlib.Path(folder))
            try:
                test.all()
            except AssertionError as error:
                failed += 1
                print(f"3.{minor} ({python}): line {error.__traceback__.tb_next.tb_lineno}: {error}", file=sys.stderr)
                continue
            print(f"3.{minor} ({python}): {test.runs} runs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
