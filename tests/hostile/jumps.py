#!/usr/bin/env python3
"""Control leaves verbs sideways: siglongjmp, handlers that call verbs, cancellation, exit in a handler. The program does
what it does bare, and later verbs are seen: all is released, so nothing is reported, and a leak is.
"""
import hostile

# The threads that are cancelled are refused on purpose.
ALLOWED = {"cancel": {"busy-destroy"}}


def main():
    suite = hostile.Hostile(__doc__)
    for way in ("get", "destroy", "handler", "cancel", "exit"):
        for options in ("", "unwinder=fp", "stack_depth=0"):
            bare = suite.run([suite.program("jumps"), way], library=False)
            seen = suite.run([suite.program("jumps"), way], options=options)
            suite.check(f"{way}: bare is well", bare.status == 0, bare)
            suite.same(f"{way} with {options!r}", bare, seen)
            wrong = [finding for document in seen.documents for finding in document["findings"]
                     if finding["severity"] != "note" or finding["rule"] not in ALLOWED.get(way, set())]
            suite.check(f"{way} with {options!r}: nothing invented", not wrong, seen.log)
        if way != "exit":
            seen = suite.run([suite.program("jumps"), way], env={"LEAK": "1"})
            suite.check(f"{way}: a leak after it is seen", "leak-at-close" in seen.rules, seen)
    suite.end()


main()
