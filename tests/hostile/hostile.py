"""Runs a program bare and with the library, and compares. For the drivers of this folder."""
import argparse
import concurrent.futures
import json as json_module
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PATIENCE = 60  # seconds; a hang is a failure, and nothing else is timed


class Run:
    """What a program did: its status (a signal is negative, None a hang), output, and the reports of the library."""

    def __init__(self, status, out, err, folder):
        self.status, self.out, self.err = status, out, err
        self.log, self.documents = "", []
        for file in sorted(folder.iterdir()):
            if not file.is_file():
                continue
            if file.name.startswith("report.") and file.suffix == ".json":
                self.documents.append(json_module.loads(file.read_text("utf-8")))
            elif file.name == "log.txt":
                self.log = file.read_text("utf-8")
        self.rules = sorted({finding["rule"] for document in self.documents for finding in document["findings"]})

    def behaviour(self):
        return self.status, self.out, without_our_lines(self.err)

    def __str__(self):
        status = "does not end" if self.status is None else f"status {self.status}"
        return f"{status}, prints {self.out[-300:]!r}, says {self.err[-600:]!r}"


def without_our_lines(text):
    """A report's blocks begin with ==PID== and end before the first line that is neither indented nor empty."""
    kept, ours = [], False
    for line in text.splitlines():
        if re.match(r"==\d+==|==rdmacheck: |SUMMARY: rdmacheck:", line):
            ours = True
        elif line and not line.startswith(" "):
            ours = False
        if not ours:
            kept.append(line)
    return "\n".join(kept)


class Hostile:
    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        for name in ("library", "programs", "scenarios", "fake"):
            parser.add_argument("--" + name, type=lambda text: pathlib.Path(text).resolve(), required=True)
        parser.add_argument("only", nargs="*")
        self.args = parser.parse_args()
        self.failed, self.ran = [], 0

    def run(self, command, library=True, options="", env=(), preload=(), after=(), limits=(), stdin=subprocess.DEVNULL,
            log=True, json=True, stderr=subprocess.PIPE, patience=PATIENCE):
        """preload comes before the library, after behind it; limits are (resource, number)."""
        with tempfile.TemporaryDirectory(prefix="hostile.") as folder:
            folder = pathlib.Path(folder)
            full = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": f"{self.args.fake}/lib", "HOME": "/tmp",
                    "SCENARIO_PROGRAMS": str(self.args.scenarios)}
            full.update(env)
            libraries = [*preload, *([self.args.library] if library else []), *after]
            if libraries and "LD_PRELOAD" not in full:
                full["LD_PRELOAD"] = " ".join(str(one) for one in libraries)
            if library:
                full["RDMACHECK_OPTIONS"] = ":".join(filter(None, [
                    f"json_path={folder}/report.%p.json" if json else "", f"log_path={folder}/log.txt" if log else "", "exitcode=0",
                    options.replace("@DIR@", str(folder))]))

            def limit():
                for what, number in limits:
                    resource.setrlimit(what, (number, number))

            process = subprocess.Popen([str(word) for word in command], env=full, cwd=folder, stdin=stdin,
                                       stdout=subprocess.PIPE, stderr=stderr, start_new_session=True, preexec_fn=limit)
            try:
                out, err = process.communicate(timeout=patience)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                status = None
            out = out.decode("utf-8", "replace")
            err = (err or b"").decode("utf-8", "replace").replace(str(folder), "@DIR@")
            return Run(status, out, err, folder)

    def program(self, name):
        return self.args.programs / name

    def check(self, what, condition, *seen):
        """One comparison; a failure is printed at once, with what was seen."""
        self.ran += 1
        if not condition:
            self.failed.append(what)
            if len(self.failed) <= 20:
                print(f"DIFFERS {what}")
                for one in seen:
                    print(f"    {one}", flush=True)
        return condition

    def same(self, what, bare, seen):
        return self.check(what, bare.status is not None and bare.behaviour() == seen.behaviour(), f"bare: {bare}",
                          f"with: {seen}")

    def each(self, function, items):
        """function(item) on both cores, in order."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            return list(pool.map(function, items))

    def end(self):
        print(f"{self.ran} comparisons, {len(self.failed)} differ")
        sys.exit(1 if self.failed or not self.ran else 0)
