#!/usr/bin/env python3
"""Runs the benchmarks of a build, and writes their figures as one table and one JSON file. See docs/performance.md.

usage: collect.py --build DIR [--output bench.json] [--quick] [--runs N]

Every figure is a ratio (or a difference, for bytes) of two things measured in turns in this one run, from medians. It
is a report, not a test: nothing fails because a machine is slow.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

# name, where it is heading, is less better?, what it is
FIGURES = [
    ("pair_over_unwind", 0.5, True, "what we add to reg_mr+dereg_mr, 16 frames deep / two bare unw_backtrace"),
    ("pair_1m_over_1k", 1.3, True, "a pair with a million live objects / with a thousand"),
    ("two_threads", 1.7, False, "pairs a second of two threads / of one"),
    ("two_threads_one_pd", 1.8, False, "the same with one PD for both"),
    ("threads_8", 0.9, False, "8 threads on one PD / 2 threads"),
    ("threads_64", 0.9, False, "64 threads on one PD / 2 threads"),
    ("report_1m_s", 2.0, True, "seconds of text and JSON reports of 1,000,000 leaks from 1,000 stacks"),
    ("report_10x", 12, True, "the same / of 100,000 leaks"),
    ("report_json_mb", 10, True, "MB of that JSON report"),
    ("journal", 1.05, True, "a pair with a journal / without"),
    ("bytes_per_object", 80, True, "bytes of memory we add to a live MR"),
    ("pair_vs_lsan", 3, True, "what we add to the pair with unwinder=fp / what LeakSanitizer adds to malloc+free"),
    ("pair_vs_heaptrack", 0.2, True, "what we add to the pair / what heaptrack adds to malloc+free"),
    ("pair_fresh_stacks", 1.3, True, "what we add to the pair on 1,000 different stacks in turn / two bare unw_backtrace"),
    ("cold_thread_us", 6, True, "us that we add to the first pair in a new thread"),
    ("cold_thread_kib", 8, True, "KiB of memory that we add to a thread that calls verbs"),
    ("short_threads_kib", 64, True, "KiB that we leave behind after 100,000 short threads in turn"),
    ("event_pair", 1.15, True, "get and ack of a CQ event / without us"),
    ("data_path", 1.02, True, "polling an empty CQ / without us"),
    ("start", 1.05, True, "/bin/true with the library preloaded / without"),
]


# What others add to malloc and free (of the packages libheaptrack and gcc).
OTHERS = {"lsan": ["/usr/lib/x86_64-linux-gnu/liblsan.so.0", "/usr/lib/aarch64-linux-gnu/liblsan.so.0"],
          "heaptrack": ["/usr/lib/heaptrack/libheaptrack_preload.so"]}


def environment(preload=None, more=""):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "RDMACHECK_", "FAKE_"))}
    env["LD_LIBRARY_PATH"] = os.path.join(options.build, "tests/fake/lib")
    if preload:
        env["LD_PRELOAD"] = preload
        env["RDMACHECK_OPTIONS"] = "log_path=/dev/null" + more  # what the benchmarks leave open is their own affair
    return env


def run(program, *arguments, preload=None, more="", status=(0,)):
    path = os.path.join(options.build, "tests/bench", program)
    done = subprocess.run([path, *arguments], env={**environment(preload, more), "DUMP_HEAPTRACK_OUTPUT": "/dev/null"},
                          stdout=subprocess.PIPE, check=False)
    if done.returncode not in status:
        sys.exit(f"bench: {program} ended with status {done.returncode}")
    return done.stdout.decode()


def benchmarks(pattern, repetitions, seconds, more=""):
    """Each benchmark's repetitions, in ns (of the processor, but for threads); they run in random order, so the machine's moods hit all alike."""
    text = run("verbs_bench", f"--benchmark_filter={pattern}", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}", "--benchmark_format=json",
               preload=library, more=more)
    times = {}
    for one in json.loads(text)["benchmarks"]:
        if one.get("error_occurred"):
            sys.exit(f"bench: {one['name']}: {one['error_message']}")
        if one["run_type"] == "iteration":
            name = one["run_name"].split("/iterations:")[0]
            real = "threads" in name or "manual_time" in one["run_name"]
            times.setdefault(name, []).append(one["real_time" if real else "cpu_time"])
    raw.update({name: statistics.median(values) for name, values in times.items()})
    return times


def take(name, times, formula):
    """A figure: of the medians, and the least and the greatest of the repetitions."""
    each = [formula({key: values[i] for key, values in times.items()}) for i in range(min(map(len, times.values())))]
    figures[name] = (formula({key: statistics.median(values) for key, values in times.items()}), min(each), max(each))


def in_turns(runs, measure_one):
    """What measure_one(preloaded) returns, a list of numbers, with the preload and without in turns."""
    took = {"with": [], "without": []}
    for _ in range(runs):
        for key in took:
            took[key].append(measure_one(key == "with"))
    return took


def columns(took, i):
    return {key: [one[i] for one in runs] for key, runs in took.items()}


def difference(t):
    return t["with"] - t["without"]


def report(objects, runs):
    """A program that leaks so many objects, with both reports and without us: seconds, and MB of the JSON report."""
    path = os.path.join(options.build, "tests/bench/report_bench")
    with tempfile.TemporaryDirectory() as folder:
        document = os.path.join(folder, "json")
        places = {"RDMACHECK_OPTIONS": f"log_path={os.path.join(folder, 'text')}:json_path={document}"}

        def one(preloaded):
            env = {**environment(library), **places} if preloaded else environment()
            begun = time.monotonic()
            subprocess.run([path, str(objects)], env=env, check=False)
            return [time.monotonic() - begun]
        took = columns(in_turns(runs, one), 0)
        raw[f"report_{objects}_json_mb"] = os.path.getsize(document) / 1e6
        return took


def measure_pairs(repetitions, seconds):
    pairs = benchmarks("^(unwind|pair_bare|pair)$", repetitions, seconds)
    take("pair_over_unwind", pairs, lambda t: (t["pair"] - t["pair_bare"]) / t["unwind"])
    fresh = benchmarks("^(unwind|fresh|fresh_bare)$", repetitions, seconds)
    take("pair_fresh_stacks", fresh, lambda t: (t["fresh"] - t["fresh_bare"]) / t["unwind"])
    others = benchmarks("^(event|event_bare|poll|poll_bare)(/|$)", repetitions, seconds)
    take("event_pair", others, lambda t: t["event"] / t["event_bare"])
    take("data_path", others, lambda t: t["poll"] / t["poll_bare"])
    live = benchmarks("^pair_live/1000$" if options.quick else "^pair_live/", max(repetitions // 2, 2), seconds)
    if not options.quick:
        take("pair_1m_over_1k", live, lambda t: t["pair_live/1000000"] / t["pair_live/1000"])
    return pairs


def compare_with_others(pairs, repetitions, seconds):
    """What we add to a pair against what LeakSanitizer and heaptrack add to malloc and free, 16 frames deep all of them."""
    count = "1000" if options.quick else "100000"
    by_pointers = benchmarks("^(pair_bare|pair)$", repetitions, seconds, more=":unwinder=fp")
    raw["pair"], raw["pair_fp"] = statistics.median(pairs["pair"]), raw["pair"]
    ours = {"lsan": by_pointers, "heaptrack": pairs}
    for name, paths in OTHERS.items():
        other = next(filter(os.path.exists, paths), None)
        if other is None:
            print(f"bench: no {os.path.basename(paths[0])} here: pair_vs_{name} is not taken")
            continue
        # LeakSanitizer ends with a status of its own where it finds anything, or cannot look.
        theirs = columns(in_turns(repetitions, lambda preloaded, other=other: [
            float(run("malloc_bench", count, preload=other if preloaded else None, status=(0, 1, 23)))]), 0)
        raw[f"malloc_{name}"], raw["malloc"] = statistics.median(theirs["with"]), statistics.median(theirs["without"])
        take(f"pair_vs_{name}", {**theirs, **ours[name]}, lambda t: (t["pair"] - t["pair_bare"]) / difference(t))


def measure_threads(repetitions, seconds):
    threads = benchmarks("^pair_(bare_)?threads", repetitions, seconds)

    # Google Benchmark divides the real time by the threads: it is the time between two pairs of the whole process.
    def quotient(name, few, many):
        return lambda t: t[f"{name}/real_time/threads:{few}"] / t[f"{name}/real_time/threads:{many}"]
    take("two_threads", threads, quotient("pair_threads", 1, 2))
    take("two_threads_one_pd", threads, quotient("pair_threads_one_pd", 1, 2))
    take("threads_8", threads, quotient("pair_threads_one_pd", 2, 8))
    take("threads_64", threads, quotient("pair_threads_one_pd", 2, 64))
    raw["two_threads_bare"] = quotient("pair_bare_threads", 1, 2)(raw)

    counts = ("8", "50") if options.quick else ("400", "100000")
    took = in_turns(1 if options.quick else 3, lambda preloaded: [
        float(x) for x in run("thread_bench", *counts, preload=library if preloaded else None).split()])
    for i, name in enumerate(("cold_thread_us", "cold_thread_kib", "short_threads_kib")):
        if not options.quick:
            take(name, columns(took, i), difference)


def measure_reports():
    most, runs = (1000, 1) if options.quick else (1000000, 3)
    took = {objects: report(objects, runs) for objects in (most, most // 10)}
    both = {f"{key}_{objects}": values for objects, times in took.items() for key, values in times.items()}
    take("report_10x", both, lambda t: (t[f"with_{most}"] - t[f"without_{most}"]) / (t[f"with_{most // 10}"] - t[f"without_{most // 10}"]))
    if not options.quick:
        take("report_1m_s", took[most], difference)
        figures["report_json_mb"] = (raw[f"report_{most}_json_mb"],) * 3
        took = in_turns(3, lambda preloaded: [float(run("memory_bench", preload=library if preloaded else None))])
        take("bytes_per_object", columns(took, 0), difference)


def measure_journal():
    """A pair with a journal and without: processes in turns."""
    with tempfile.TemporaryDirectory() as folder:
        def one(with_it):
            text = run("verbs_bench", "--benchmark_filter=^pair$", f"--benchmark_min_time={0.01 if options.quick else 0.2}",
                       "--benchmark_format=json", preload=library, more=f":journal_path={folder}/journal-%p" if with_it else "")
            return [json.loads(text)["benchmarks"][0]["cpu_time"]]
        times = columns(in_turns(2 if options.quick else 3 * options.runs, one), 0)
    raw.update({"pair_with_journal": statistics.median(times["with"]), "pair_without_journal": statistics.median(times["without"])})
    take("journal", times, lambda t: t["with"] / t["without"])


def measure_start():
    batches, runs = (2, 10) if options.quick else (7, 300)
    took = [[float(x) for x in run("start_bench", library, str(runs)).split()] for _ in range(batches)]
    times = {"with": [one[0] for one in took], "without": [one[1] for one in took]}
    raw.update({f"start_{key}_us": statistics.median(values) for key, values in times.items()})
    take("start", times, lambda t: t["with"] / t["without"])


def measure():
    seconds = 0.01 if options.quick else 0.2
    repetitions = 2 if options.quick else options.runs
    pairs = measure_pairs(repetitions, seconds)
    compare_with_others(pairs, repetitions, seconds)
    measure_threads(repetitions, seconds)
    measure_reports()
    measure_journal()
    measure_start()


def main():
    measure()
    result = {
        "schema": "rdmacheck-bench", "version": 1, "time": time.time(), "machine": platform.machine(),
        "processors": os.cpu_count(), "quick": options.quick,
        "figures": {name: {"value": round(figures[name][0], 3), "min": round(figures[name][1], 3), "max": round(figures[name][2], 3),
                           "target": target, "less_is_better": less}
                    for name, target, less, _ in FIGURES if name in figures},
        "raw": {name: round(value, 3) for name, value in raw.items()},
    }
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(f"{'figure':<18} {'value':>8} {'min':>8} {'max':>8}  {'heading':>8}")
    for name, target, less, what in FIGURES:
        if name not in figures:
            continue
        value, least, greatest = figures[name]
        good = value <= target if less else value >= target
        print(f"{name:<18} {value:>8.2f} {least:>8.2f} {greatest:>8.2f}  {'<=' if less else '>='} {target:>5}  {' ' if good else '!'} {what}")
    for name, value in raw.items():
        print(f"  {name:<42} {value:>10.1f}")
    print(f"all of it: {options.output}")


figures = {}  # name: value, least, greatest
raw = {}
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", required=True)
parser.add_argument("--output", default="bench.json")
parser.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
parser.add_argument("--runs", type=int, default=11)
options = parser.parse_args()
options.build = os.path.abspath(options.build)
library = os.path.join(options.build, "librdmacheck.so")
main()
