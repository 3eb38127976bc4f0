#!/usr/bin/env python3
"""Runs scenario programs under the library and compares what it says with what stands in their comments.

    run_scenario.py --library FILE --programs DIR --fake DIR --on fake|device [--sanitizer address|thread] [--rdma-core N] SOURCE...

A line for each scenario; exit status 1 if one differs. A scenario's comments (// or #, at the start of a line):

    RUN: on=fake|device|both options="strict=1" env="A=1 B=2" args="leak" exit=23 lib=lib44 timeout=30 log=stderr
                        one run; a source may have several. Stand-in or device, the library's options, the program's
                        environment and words, the status, which fake. log=stderr: where the report goes of itself
    EXPECT: TEXT        a line of the report that holds TEXT, after the line of the EXPECT before it. {{...}} is a
                        regular expression, @name@ the number of the source line that bears the mark "@name"
    EXPECT-ALSO: TEXT   as EXPECT, but starting over at the top
    EXPECT-NOT: TEXT    no line holds it
    EXPECT-NOTHING      the report is empty, and there is no JSON
    EXPECT-OUT: TEXT    as EXPECT, in what the program prints itself (standard output)
    EXPECT-JSON: PATH OP VALUE    of the JSON report; OP is == != >= <= =~ or "exists"; VALUE is JSON, or a bare word;
                        a step [rule=leak-at-close] takes the first element of a list that fits, [-1] the last
    EXPECT-FILES: N     so many JSON reports (one a process) were written
    SAME-OUTPUT         without the library the program prints and returns the same (23 is then 0)

    RDMA-CORE: N: WHY   with --rdma-core below N the whole source is left out, which is said

They belong to the RUN before them; before the first RUN, to all. "{{fake}}" or "{{device}}" after the colon: only there.
Every heading of the report (ERROR, WARNING, NOTE, TOLD) has to be expected: anything else fails the scenario.
With --sanitizer everything was built with it (scripts/test-sanitizers). Its runtime is loaded before the library, and a
report of it that blames the library fails the scenario; what it says of the program or the fake libibverbs does not, for some
scenarios are about such faults. A line "SANITIZER: WHY" in a source: only such reports are looked at there, because with a
sanitizer in the process the program cannot do what it expects; it may even hang.
Normalised: "==PID==ERROR: rdmacheck: RULE: ..." reads "ERROR RULE: ...", "==PID==rdmacheck: ..." reads "TOLD ...".
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:  # the guest's or a bare machine's Python may lack it; tests/golden tests the schema itself
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where a program or the fake libibverbs is at fault on purpose, the runtime reports it and goes on.
SANITIZERS = {
    "address": ("libasan.so", "ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_abort=0:allocator_may_return_null=1"
                                           ":stack_trace_format='    #%n %f %S %M'"),
    "thread": ("libtsan.so", "TSAN_OPTIONS", "die_after_fork=0:report_thread_leaks=0:report_signal_unsafe=0:exitcode=0"
                                             ":handle_segv=0:handle_abort=0:second_deadlock_stack=1"),
}
LEAKS = ("leak-at-close", "open-at-exit", "device-list-leak")
DIRECTIVE = re.compile(r"^\s*(?://|#)\s*(RUN:|EXPECT(?:-ALSO|-NOT|-OUT|-JSON|-FILES)?:|EXPECT-NOTHING|SAME-OUTPUT)\s*(.*?)\s*$")


class Differs(Exception):
    pass


class Run:
    def __init__(self, words, number):
        self.line = number
        values = {"on": "both", "options": "", "env": "", "args": "", "exit": "0", "lib": "lib", "timeout": "30", "log": "file"}
        for word in shlex.split(words):
            name, equals, value = word.partition("=")
            if not equals or name not in values:
                raise Differs(f"line {number}: RUN has no {word!r}")
            values[name] = value
        self.__dict__.update(values)
        self.checks = []  # (what, text, line)


def parse(source, on):
    runs, common = [], []
    text = source.read_text()
    marks = {}
    for number, line in enumerate(text.splitlines(), 1):
        for mark in re.findall(r"(?://|#|/\*) ?@(\w+)", line):
            marks[mark] = str(number)
        found = DIRECTIVE.match(line)
        if not found:
            continue
        what, rest = found.groups()
        if what == "RUN:":
            runs.append(Run(rest, number))
            continue
        only = re.match(r"\{\{(fake|device)\}\}\s*", rest)
        if only:
            if only.group(1) != on:
                continue
            rest = rest[only.end():]
        (runs[-1].checks if runs else common).append((what.rstrip(":"), rest, number))
    if not runs:
        raise Differs("no RUN line")
    for run in runs:
        run.checks = common + run.checks
        if not run.checks:
            raise Differs(f"line {run.line}: this RUN expects nothing, not even EXPECT-NOTHING")
    return [run for run in runs if run.on in (on, "both")], marks, text


def pattern_of(text, marks):
    def mark(found):
        if found.group(1) not in marks:
            raise Differs(f"no line bears the mark @{found.group(1)}")
        return marks[found.group(1)]

    text = re.sub(r"@(\w+)@", mark, text)
    out, last = "", 0
    for found in re.finditer(r"\{\{(.*?)\}\}", text):
        out += re.escape(text[last:found.start()]) + "(?:" + found.group(1) + ")"
        last = found.end()
    return re.compile(out + re.escape(text[last:]))


def normalise(text):
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^==\d+==rdmacheck: ", "TOLD ", line)
        line = re.sub(r"^==\d+==(ERROR|WARNING|NOTE): rdmacheck: ", r"\1 ", line)
        lines.append(line)
    return lines


HEADING = re.compile(r"^(ERROR|WARNING|NOTE|TOLD) ")


def at_path(document, path):
    node = document
    for step in re.findall(r"[^.\[\]]+|\[[^\]]*\]", path):
        if step.startswith("["):
            inside = step[1:-1]
            if "=" in inside:
                name, _, value = inside.partition("=")
                fitting = [e for e in node if str(at_path(e, name)) == value]
                if not fitting:
                    raise KeyError(f"none with {inside}")
                node = fitting[0]
            else:
                node = node[int(inside)]
        elif step == "length":
            node = len(node)
        else:
            node = node[step]
    return node


def check_json(documents, text, marks):
    path, _, rest = text.partition(" ")
    op, _, wanted = rest.strip().partition(" ")
    tried = []
    for document in documents:
        try:
            found = at_path(document, path)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            tried.append(f"{type(error).__name__}: {error}")
            continue
        if op == "exists":
            return
        if op == "=~":
            if pattern_of(wanted, marks).search(str(found)):
                return
            tried.append(repr(found))
            continue
        try:
            value = json.loads(wanted)
        except ValueError:
            value = wanted
        fits = {"==": lambda: found == value, "!=": lambda: found != value, ">=": lambda: found >= value,
                "<=": lambda: found <= value}
        if op not in fits:
            raise Differs(f"EXPECT-JSON knows no {op!r}")
        if fits[op]():
            return
        tried.append(repr(found))
    raise Differs(f"JSON: {text}\n  but it is {', '.join(tried) or 'not there: no report was written'}")


def check_invariants(document, options, source):
    """What holds of every report, whatever the scenario."""
    if jsonschema:
        schema = json.loads((ROOT / "docs" / "report.schema.json").read_text())
        validator = jsonschema.validators.validator_for(schema)(schema)
        for error in validator.iter_errors(document):
            where = "/".join(map(str, error.absolute_path))
            raise Differs(f"JSON against docs/report.schema.json: {where}: {error.message[:300]}")
    findings = document["findings"]
    for severity, name in (("error", "errors"), ("warning", "warnings"), ("note", "notes")):
        counted = sum(1 for f in findings if f["severity"] == severity and not f.get("suppressed_by"))
        if counted != document["summary"][name]:
            raise Differs(f"JSON: summary.{name} is {document['summary'][name]}, the findings are {counted}")
    suppressed = sum(1 for f in findings if f.get("suppressed_by"))
    if suppressed != document["summary"]["suppressed"]:
        raise Differs(f"JSON: summary.suppressed is {document['summary']['suppressed']}, the findings are {suppressed}")
    for kind, counts in document["summary"]["kinds"].items():
        if counts["created"] - counts["destroyed"] != counts["alive"]:
            raise Differs(f"JSON: of {kind}: {counts}")
    without_stacks = ("stack_depth=0", "symbolize=0", "unwinder=none")
    if any(word in options for word in without_stacks) or source.suffix == ".py":
        return
    for finding in findings:
        if finding["rule"] not in LEAKS or finding["severity"] == "note":
            continue
        created = [s for s in finding["stacks"] if s["role"] == "created"]
        if not created or not created[0]["frames"]:
            raise Differs(f"JSON: a leak without a creating stack: {finding['message']}")
        frame = created[0]["frames"][0]
        file = pathlib.Path(frame["file"] or "?")
        here = next(source.parent.rglob(file.name), None)
        if here is None:
            raise Differs(f"JSON: {finding['message']}: its first frame is not the scenario's: {frame}")
        lines = here.read_text().splitlines()
        if not frame["function"] or not 0 < (frame["line"] or 0) <= len(lines):
            raise Differs(f"JSON: {finding['message']}: no function and line in {frame}")


def blames(frames, library):
    """Is the library where it happened, once the runtime's own functions are left out?"""
    for frame in frames:
        if re.search(r"lib[atu]+san\.so|sanitizer_common|/libsanitizer/", frame):
            continue
        return library.name in frame or f"{ROOT}/interpose/" in frame or f"{ROOT}/report/" in frame
    return False


def check_sanitizer(folder, library):
    """Fails if a report of the sanitizer blames the library."""
    for file in sorted(folder.glob("sanitizer.*")):
        text = file.read_text("utf-8", "replace")
        # ThreadSanitizer draws a line round each report, AddressSanitizer ends the process after one.
        for report in re.split(r"^={18}$", text, flags=re.M):
            if not re.search(r"(ERROR|WARNING): \w+Sanitizer|\w+Sanitizer:DEADLYSIGNAL|FATAL: \w+Sanitizer|CHECK failed", report):
                continue
            stacks = []
            for block in re.split(r"\n\s*\n|\n(?=\S)", report):
                heading = re.search(r"^(?!\s+#\d).*(?=\n\s+#\d)", block, re.M)
                frames = re.findall(r"^\s+#\d+ .*$", block, re.M)
                # Who made the thread, the mutex or the memory is no fault of theirs.
                if frames and not (heading and re.search(r"created|allocated|freed|Location", heading[0])):
                    stacks.append(frames)
            if "data race" not in report and "lock-order" not in report:
                stacks = stacks[:1]  # what follows is who had the memory before
            if not stacks or any(blames(frames, library) for frames in stacks):
                raise Differs(f"the sanitizer reports\n{report}")


def environment_of(run, args, preload, program, folder):
    keep = ("PATH", "HOME", "TMPDIR", "LANG", "LSAN_OPTIONS", "ASAN_OPTIONS", "TSAN_OPTIONS")
    env = {name: os.environ[name] for name in keep if name in os.environ}
    env.update(word.split("=", 1) for word in shlex.split(run.env))
    env["SCENARIO_PROGRAMS"] = str(args.programs)
    if args.sanitizer:
        _, name, value = SANITIZERS[args.sanitizer]
        env[name] = ":".join(filter(None, [env.get(name), value, f"log_path={folder}/sanitizer"]))
    if args.on == "fake":
        env["LD_LIBRARY_PATH"] = f"{args.fake}/{run.lib}"
    # A program that was built with it has the runtime anyway, but python3 has not, and it wants to come first.
    if preload:
        first = os.environ.get("SCENARIO_PRELOAD", "")
        env["LD_PRELOAD"] = " ".join(filter(None, [args.runtime, first, str(args.library)]))
    elif args.runtime:
        env["LD_PRELOAD"] = args.runtime
    return env


def start(run, program, env, folder, patient=False):
    """(status, stdout, stderr); a signal is a negative status, as in subprocess. Patient: a program that hangs is killed, no more."""
    command = [str(program), *shlex.split(run.args)]
    if program.suffix == ".py":
        command.insert(0, "/usr/bin/python3")  # never a version manager's, which is a shell script
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=env, cwd=folder, start_new_session=True)
    except OSError as error:
        raise Differs(f"cannot be run: {error}") from None
    late = False
    try:
        out, err = process.communicate(timeout=float(run.timeout))
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    if late and not patient:
        raise Differs(f"not finished after {run.timeout} s\n{out}{err}")
    return process.returncode, out, err, process.pid


def run_one(run, source, marks, args):
    program = args.programs / source.stem
    if source.suffix == ".py":
        program = source
    with tempfile.TemporaryDirectory(prefix="scenario.") as folder:
        folder = pathlib.Path(folder)
        log = folder / "report.txt"
        options = run.options.replace("@DIR@", str(folder))
        full = f"json_path={folder}/%p.json:" + (f"log_path={log}:" if run.log == "file" else "") + options
        env = environment_of(run, args, True, program, folder)
        env["RDMACHECK_OPTIONS"] = full.rstrip(":")
        status, out, err, pid = start(run, program, env, folder, patient=bool(args.only_reports))
        report = log.read_text("utf-8", "replace") if log.exists() else ""
        # What is reported although the report goes to a file, and with log=stderr everything.
        if run.log == "stderr" or "rdmacheck" in err:
            report = err + report
        if run.log == "stdout":
            report = out
        lines = normalise(report)
        documents = {}
        for file in folder.rglob("*.json"):
            # Each document must be whole, whenever the process died.
            documents[file.stem] = json.loads(file.read_text("utf-8"))
        if args.sanitizer:
            check_sanitizer(folder, args.library)
            if args.only_reports:
                return
        everything = f"status {status}\n--- report\n" + "\n".join(lines) + f"\n--- stdout\n{out}--- stderr\n{err}"
        try:
            compare(run, source, marks, status, lines, out, documents, pid, options)
            if any(what == "SAME-OUTPUT" for what, _, _ in run.checks):
                bare_status, bare_out, bare_err, _ = start(run, program, environment_of(run, args, False, program, folder), folder)
                wanted = 0 if run.exit == "23" else int(run.exit)
                if bare_out != out or bare_status != wanted:
                    raise Differs(f"without the library: status {bare_status}, not {wanted}, and it prints\n{bare_out}{bare_err}")
        except Differs as difference:
            raise Differs(f"RUN at line {run.line}: {difference}\n{everything}") from None
        if args.verbose:
            print(everything)


def compare(run, source, marks, status, lines, out, documents, pid, options):
    expected = set()
    at = 0
    out_at = 0
    out_lines = out.splitlines()
    json_documents = ([documents[str(pid)]] if str(pid) in documents else []) + [
        d for name, d in sorted(documents.items()) if name != str(pid)]
    for what, text, number in run.checks:
        if what in ("EXPECT", "EXPECT-ALSO"):
            pattern = pattern_of(text, marks)
            at = 0 if what == "EXPECT-ALSO" else at
            found = next((i for i in range(at, len(lines)) if pattern.search(lines[i])), None)
            if found is None:
                raise Differs(f"line {number}: not in the report{' after the line before' if at else ''}: {text}")
            expected.add(found)
            at = found + 1
        elif what == "EXPECT-NOT":
            pattern = pattern_of(text, marks)
            for line in lines:
                if pattern.search(line):
                    raise Differs(f"line {number}: in the report: {line}")
        elif what == "EXPECT-NOTHING":
            if lines:
                raise Differs(f"line {number}: the report should be empty")
            for document in documents.values():
                if document["findings"]:
                    raise Differs(f"line {number}: the JSON report has findings: {document['findings']}")
        elif what == "EXPECT-OUT":
            pattern = pattern_of(text, marks)
            found = next((i for i in range(out_at, len(out_lines)) if pattern.search(out_lines[i])), None)
            if found is None:
                raise Differs(f"line {number}: the program does not print: {text}")
            out_at = found + 1
        elif what == "EXPECT-JSON":
            try:
                check_json(json_documents, text, marks)
            except Differs as difference:
                raise Differs(f"line {number}: {difference}") from None
        elif what == "EXPECT-FILES":
            if len(documents) != int(text):
                raise Differs(f"line {number}: {len(documents)} JSON reports: {sorted(documents)}")
    for i, line in enumerate(lines):
        if HEADING.match(line) and i not in expected:
            raise Differs(f"not expected: {line}")
    wanted = -int(getattr(signal, run.exit)) if run.exit.startswith("SIG") else int(run.exit)
    if status != wanted:
        raise Differs(f"the status is {status}, not {run.exit}")
    for document in documents.values():
        check_invariants(document, options, source)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--fake", type=pathlib.Path, required=True)
    parser.add_argument("--on", choices=("fake", "device"), required=True)
    parser.add_argument("--sanitizer", choices=SANITIZERS)
    parser.add_argument("--rdma-core", type=int)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    for name in ("library", "programs", "fake"):
        setattr(args, name, getattr(args, name).resolve())
    args.runtime = args.only_reports = ""
    if args.sanitizer:
        compiler = ["gcc", f"-print-file-name={SANITIZERS[args.sanitizer][0]}"]
        args.runtime = subprocess.run(compiler, capture_output=True, text=True, check=True).stdout.strip()
    failed = ran = 0
    for source in args.sources:
        source = source.resolve()
        name = f"scenario.{args.on}.{source.stem}"
        try:
            runs, marks, text = parse(source, args.on)
            since = re.search(r"^(?://|#) RDMA-CORE: (\d+): (.*)$", text, re.M)
            if since and args.rdma_core is not None and args.rdma_core < int(since[1]):
                print(f"left out {name}: {since[2]}", flush=True)
                continue
            args.only_reports = args.sanitizer and re.search(r"^(?://|#) SANITIZER: ", text, re.M)
            if not runs and len(args.sources) == 1:
                raise Differs(f"no RUN on={args.on}")
            for run in runs:
                run_one(run, source, marks, args)
            if runs:
                ran += 1
                print(f"ok      {name}", flush=True)
        except Differs as difference:
            failed += 1
            ran += 1
            print(f"DIFFERS {name}: {difference}", flush=True)
    if len(args.sources) > 1:
        print(f"{ran} scenarios, {failed} differ", flush=True)
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
