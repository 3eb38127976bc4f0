#!/usr/bin/env python3
"""Memory fails: the n-th allocation (malloc, calloc, realloc, memalign, mmap), for each n, under the fake's scenarios.

Two ways. "ours": only calls from the library itself fail; the program must then do exactly what it does bare. "all":
those of the C library and of others fail too; what the program does must be among what it does bare for some n (a
thread that cannot be made, say), for the library may have moved the count. Every n from 1 to 200 on a chosen set, a
spread of n on every scenario whose bare run equals its run with the library when memory is plenty (scenarios about
calls that are not forwarded are out).
"""
import pathlib
import re
import shlex
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "expect"))
import hostile
import run_scenario

CHOSEN = ("leak_each_kind", "busy_with_many_children", "threads_share_everything", "create_failed", "unacked_event_of_exited_thread",
          "device_list_and_context_left", "suppressed", "fork_child_silent")
SPREAD = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 200)
QUICK = 2  # seconds: a scenario that takes longer bare waits for something, and is not for this test


def needs_the_text(source):
    """What it does depends on what the library writes, and for that there may be no memory."""
    return re.search(r"await_in_report\(|MUST\(rdmacheck_snapshot\(", source.read_text())


def scenarios():
    """(name, command, options, environment) of the first run of each on the fake."""
    folder = hostile.ROOT / "tests" / "scenario"
    for source in sorted([*folder.glob("*.c"), *folder.glob("*.cc")]):
        runs, _, _ = run_scenario.parse(source, "fake")
        if runs and runs[0].lib == "lib" and "halt_on_error" not in runs[0].options and not needs_the_text(source):
            env = dict(word.split("=", 1) for word in shlex.split(runs[0].env))
            yield source.stem, shlex.split(runs[0].args), runs[0].options, env


def main():
    suite = hostile.Hostile(__doc__)
    failing = suite.program("failing_memory.so")

    def go(scenario, library, how=None, **knobs):
        name, words, options, env = scenario
        env = dict(env, **{f"HOSTILE_{key.upper()}": str(value) for key, value in knobs.items()})
        if how:
            env["HOSTILE_FROM"] = how
        # Not logged to standard error: the report may lack what no memory was there for.
        return suite.run([suite.args.scenarios / name, *words], library=library, options=options, env=env,
                         preload=[failing], patience=30)

    def stands(scenario):
        try:
            # With the preload, which fails nothing: dlsym(RTLD_NEXT) may tell.
            more = {"env": scenario[3], "preload": [failing]}
            command = [suite.args.scenarios / scenario[0], *scenario[1]]
            bare = suite.run(command, library=False, patience=QUICK, **more)
            again = suite.run(command, library=False, patience=QUICK, **more)
            seen = suite.run(command, options=scenario[2], patience=30, **more)
        except UnicodeDecodeError:
            return None
        steady = bare.status is not None and bare.behaviour() == again.behaviour() == seen.behaviour()
        return (scenario, bare) if steady else None

    every = list(scenarios())
    if suite.args.only:
        every = [scenario for scenario in every if scenario[0] in suite.args.only]
    fit = [found for found in suite.each(stands, every) if found]
    jobs = []
    for scenario, bare in fit:
        numbers = range(1, 201) if scenario[0] in CHOSEN else SPREAD
        jobs += [(scenario, bare, n) for n in numbers]

    locks = {scenario[0]: threading.Lock() for scenario, _ in fit}
    outcomes = {}

    def may_be(scenario, bare, seen):
        """Whether the program may do so bare; the hundred runs that tell are made where the plain one does not."""
        if seen == bare.behaviour():
            return True
        with locks[scenario[0]]:
            if scenario[0] not in outcomes:
                outcomes[scenario[0]] = {go(scenario, False, "all", nth=n).behaviour() for n in range(1, 101)}
        return seen[0] is not None and seen in outcomes[scenario[0]]

    def one(job):
        scenario, bare, n = job
        name = scenario[0]
        ours = go(scenario, True, "ours", nth=n)
        suite.check(f"{name}: the {n}. allocation of the library fails", ours.behaviour() == bare.behaviour(), f"bare: {bare}", f"with: {ours}")
        if n in SPREAD:
            ours = go(scenario, True, "ours", every=n)
            suite.check(f"{name}: every {n}. allocation of the library fails", ours.behaviour() == bare.behaviour(), f"bare: {bare}", f"with: {ours}")
            both = go(scenario, True, "all", nth=n)
            suite.check(f"{name}: the {n}. allocation of any library fails", may_be(scenario, bare, both.behaviour()), f"bare: {bare}", f"with: {both}")

    suite.each(one, jobs)
    chosen = sorted(scenario[0] for scenario, _ in fit if scenario[0] in CHOSEN)
    print(f"{len(fit)} of {len(every)} scenarios, n of {SPREAD}; n = 1..200 for {', '.join(chosen)}")
    if not suite.args.only:
        suite.check("all of the chosen scenarios ran", set(chosen) == set(CHOSEN), set(CHOSEN) - set(chosen))

    # A limit of the address space, or of the data, a step above what the program has when it starts on verbs.
    for what in ("as", "data"):
        for step in (0, 4096, 1 << 16, 1 << 18, 1 << 20, 2 << 20, 3 << 20, 5 << 20, 8 << 20, 16 << 20, 40 << 20, 64 << 20, 140 << 20):
            for mode in ("clean", "leak", "busy", "thread"):
                command = [suite.program("limited_memory"), what, step, mode]
                bare, seen = suite.run(command, library=False), suite.run(command)
                if mode == "thread":
                    # The last memory there is may be the library's: a thread that cannot be made then is no wonder.
                    for run in (bare, seen):
                        run.out = re.sub(r"^thread: (0|11)$", "thread", run.out, flags=re.M)
                suite.same(f"limited_memory {what} {step} {mode}", bare, seen)
    suite.end()


main()
