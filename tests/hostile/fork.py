#!/usr/bin/env python3
"""Forks at 500 random moments of eight busy threads, of each of the library's ways to take stacks."""
import hostile

FORKS = (("", 500, 1), ("unwinder=fp", 100, 2), ("verbosity=1", 100, 3), ("stack_depth=64", 100, 4))


def main():
    suite = hostile.Hostile(__doc__)
    for options, forks, seed in FORKS:
        command = [suite.program("fork_moments"), forks, seed]
        bare = suite.run(command, library=False, patience=800)
        suite.check("bare is well", bare.out == "0 hung, 0 died, 0 returned something else\n", bare)
        seen = suite.run(command, options=options, patience=800)
        suite.check(f"{forks} forks with {options!r}", (seen.status, seen.out) == (0, bare.out), seen)
        # What the busy threads try on purpose, what lives at their checkpoints, and what a child leaves.
        wrong = [finding["message"] for document in seen.documents for finding in document["findings"]
                 if finding["rule"] not in ("busy-destroy", "leak-at-close") and "since the checkpoint" not in finding["message"]]
        suite.check("nothing invented", not wrong, wrong)
    suite.end()


main()
