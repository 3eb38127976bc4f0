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
    ("pair_over_unwind", 1.5, True, "what we add to reg_mr+dereg_mr, 16 frames deep / two bare unw_backtrace"),
    ("pair_1m_over_1k", 1.3, True, "a pair with a million live objects / with a thousand"),
    ("two_threads", 1.7, False, "pairs a second of two threads / of one"),
    ("two_threads_one_pd", 1.8, False, "the same with one PD for both"),
    ("threads_8", 0.9, False, "8 threads on one PD / 2 threads"),
    ("threads_64", 0.9, False, "64 threads on one PD / 2 threads"),
    ("report_1m_s", 2.0, True, "seconds of text and JSON reports of 1,000,000 leaks from 1,000 stacks"),
    ("report_10x", 12, True, "the same / of 100,000 leaks"),
    ("report_json_mb", 10, True, "MB of that JSON report"),
    ("bytes_per_object", 80, True, "bytes of memory we add to a live MR"),
    ("start", 1.15, True, "/bin/true with the library preloaded / without"),
]


def environment(preload=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "RDMACHECK_", "FAKE_"))}
    env["LD_LIBRARY_PATH"] = os.path.join(options.build, "tests/fake/lib")
    if preload:
        env["LD_PRELOAD"] = preload
        env["RDMACHECK_OPTIONS"] = "log_path=/dev/null"  # what the benchmarks leave open is their own affair
    return env


def run(program, *arguments, preload=None):
    path = os.path.join(options.build, "tests/bench", program)
    done = subprocess.run([path, *arguments], env=environment(preload), stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {program} ended with status {done.returncode}")
    return done.stdout.decode()


def medians(pattern, repetitions, seconds):
    """Median of each benchmark's repetitions, in ns (of the processor, but for threads); they run in random order, so the machine's moods hit all alike."""
    text = run("verbs_bench", f"--benchmark_filter={pattern}", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={seconds}", "--benchmark_format=json",
               preload=library)
    times = {}
    for one in json.loads(text)["benchmarks"]:
        if one.get("error_occurred"):
            sys.exit(f"bench: {one['name']}: {one['error_message']}")
        if one["run_type"] == "iteration":
            times.setdefault(one["run_name"], []).append(one["real_time" if "threads" in one["run_name"] else "cpu_time"])
    return {name: statistics.median(values) for name, values in times.items()}


def report(objects, runs):
    """Seconds that a program which leaks so many objects takes longer with both reports than without us, and MB of the JSON."""
    path = os.path.join(options.build, "tests/bench/report_bench")
    with tempfile.TemporaryDirectory() as folder:
        document = os.path.join(folder, "json")
        places = {"RDMACHECK_OPTIONS": f"log_path={os.path.join(folder, 'text')}:json_path={document}"}
        seconds = {True: [], False: []}
        for _ in range(runs):
            for preloaded in (True, False):
                env = {**environment(library), **places} if preloaded else environment()
                begun = time.monotonic()
                subprocess.run([path, str(objects)], env=env, check=False)
                seconds[preloaded].append(time.monotonic() - begun)
        return (statistics.median(seconds[True]) - statistics.median(seconds[False])), os.path.getsize(document) / 1e6


def measure():
    seconds = 0.01 if options.quick else 0.3
    repetitions = 2 if options.quick else options.runs
    raw = {}
    figures = {}

    pairs = medians("^(unwind|pair_bare|pair)$", repetitions, seconds)
    raw.update(pairs)
    figures["pair_over_unwind"] = (pairs["pair"] - pairs["pair_bare"]) / pairs["unwind"]

    live = medians("^pair_live/1000$" if options.quick else "^pair_live/", max(repetitions // 2, 2), seconds)
    raw.update(live)
    if not options.quick:
        figures["pair_1m_over_1k"] = live["pair_live/1000000"] / live["pair_live/1000"]

    threads = medians("^pair_(bare_)?threads", repetitions, seconds)
    raw.update(threads)
    # Google Benchmark divides the real time by the threads: it is the time between two pairs of the whole process.
    def gain(name):
        return threads[f"{name}/real_time/threads:1"] / threads[f"{name}/real_time/threads:2"]
    figures["two_threads"] = gain("pair_threads")
    figures["two_threads_one_pd"] = gain("pair_threads_one_pd")
    def of_two(number):
        two, many = (threads[f"pair_threads_one_pd/real_time/threads:{n}"] for n in (2, number))
        return two / many
    figures["threads_8"] = of_two(8)
    figures["threads_64"] = of_two(64)
    raw["two_threads_bare"] = gain("pair_bare_threads")

    most = 1000 if options.quick else 1000000
    took = {}
    for objects in (most, most // 10):
        took[objects], raw[f"report_{objects}_json_mb"] = report(objects, 1 if options.quick else 3)
    figures["report_10x"] = took[most] / took[most // 10]
    if not options.quick:
        figures["report_1m_s"] = took[most]
        figures["report_json_mb"] = raw[f"report_{most}_json_mb"]

    if not options.quick:
        with_it = [float(run("memory_bench", preload=library)) for _ in range(3)]
        without = [float(run("memory_bench")) for _ in range(3)]
        figures["bytes_per_object"] = statistics.median(with_it) - statistics.median(without)

    runs = 20 if options.quick else 1500
    begun = [float(x) for x in run("start_bench", library, str(runs)).split()]
    raw["start_with_us"], raw["start_without_us"] = begun
    figures["start"] = begun[0] / begun[1]
    return figures, raw


def main():
    figures, raw = measure()
    result = {
        "schema": "rdmacheck-bench", "version": 1, "time": time.time(), "machine": platform.machine(),
        "processors": os.cpu_count(), "quick": options.quick,
        "figures": {name: {"value": round(figures[name], 3), "target": target, "less_is_better": less}
                    for name, target, less, _ in FIGURES if name in figures},
        "raw": {name: round(value, 3) for name, value in raw.items()},
    }
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(f"{'figure':<18} {'value':>8}  {'heading':>8}")
    for name, target, less, what in FIGURES:
        if name not in figures:
            continue
        good = figures[name] <= target if less else figures[name] >= target
        print(f"{name:<18} {figures[name]:>8.2f}  {'<=' if less else '>='} {target:>5}  {' ' if good else '!'} {what}")
    for name, value in raw.items():
        print(f"  {name:<42} {value:>10.1f}")
    print(f"all of it: {options.output}")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", required=True)
parser.add_argument("--output", default="bench.json")
parser.add_argument("--quick", action="store_true", help="only whether everything runs; the figures mean nothing")
parser.add_argument("--runs", type=int, default=11)
options = parser.parse_args()
options.build = os.path.abspath(options.build)
library = os.path.join(options.build, "librdmacheck.so")
main()
