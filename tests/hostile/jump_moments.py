#!/usr/bin/env python3
"""A signal handler jumps out of the library's own code, or ends the process there, at some hundred moments of several verbs:
nothing hangs, nothing is invented, and a leak after the jump is seen each time.
"""
import re

import hostile

# How many moments lie between two that are tried; prime, so that runs of equal code are met in different places.
STEP = 89
LOST = "7"  # the verb had made an object, and the program never got its handle


def main():
    suite = hostile.Hostile(__doc__)
    programs = [(verb, how, leak) for verb in ("reg_mr", "dereg_mr", "dealloc_pd", "refused") for how, leak in
                (("jump", False), ("jump", True), ("exit", False))]

    def moments(case):
        verb, how, leak = case
        return suite.run([suite.program("jump_moments"), verb, how, STEP], options="exitcode=23", json=False,
                         env={"LEAK": "1"} if leak else {}, patience=500)

    for (verb, how, leak), seen in zip(programs, suite.each(moments, programs)):
        what = f"{verb}, {how}{', with a leak' if leak else ''}"
        if not suite.check(f"{what}: ends", seen.status == 0, seen):
            continue
        places, ended = re.fullmatch(r"(\d+) places:((?: \S+ \d+)+)\n", seen.out).groups()
        words = ended.split()
        ends = dict(zip(words[::2], map(int, words[1::2])))
        suite.check(f"{what}: enough moments", int(places) > 1000 and sum(ends.values()) - ends.get("missed", 0) >= 10, seen.out)
        allowed = {"23" if leak else "0", "missed"} | ({LOST} if verb == "reg_mr" else set())
        suite.check(f"{what}: as it should", set(ends) <= allowed, seen.out, seen.err)
        suite.check(f"{what}: the usual end among them", ends.get("23" if leak else "0", 0) > 0, seen.out)
    suite.end()


main()
