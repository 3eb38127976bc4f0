#!/usr/bin/env python3
"""Descriptors are limited to every number from 0 to 40 above what the program uses bare, with json_path and log_path set
and not. The program must get as many as bare, and the report must be there, with names.
"""
import resource

import hostile

COUNTS = (5, 0)  # so many completion channels, and as many as there are


def main():
    suite = hostile.Hostile(__doc__)
    program = suite.program("descriptors")

    def go(count, limit, library=True, **more):
        return suite.run([program, count], library=library, limits=[(resource.RLIMIT_NOFILE, limit)], **more)

    # The loader needs some before main; the program then lives with what it gets.
    needed = next(limit for limit in range(3, 200) if go(5, limit, False).status == 0)
    starts = next(limit for limit in range(3, 200) if go(5, limit, False).status in (0, 3, 4, 5))
    print(f"bare, the program starts with {starts} descriptors and needs {needed}")

    def one(job):
        count, limit = job
        bare = go(count, limit, False)
        full = go(count, limit)
        what = f"descriptors {count} with a limit of {limit}"
        suite.same(what + ", json and log", bare, full)
        if bare.status in (0, 5) and "0 channels" not in bare.out:
            suite.check(what + ": JSON has the leak", "leak-at-close" in full.rules, full)
            suite.check(what + ": the log has the leak and its name", "leak-at-close" in full.log and "keep_one" in full.log, full.log)
        text = go(count, limit, log=False)
        suite.same(what + ", json", bare, text)
        if bare.status in (0, 5) and "0 channels" not in bare.out:
            suite.check(what + ": standard error has the leak and its name", "keep_one" in text.err, text)
        plain = go(count, limit, log=False, json=False)
        suite.same(what + ", no option", bare, plain)

    suite.each(one, [(count, limit) for count in COUNTS for limit in range(starts, needed + 41)])
    suite.end()


main()
