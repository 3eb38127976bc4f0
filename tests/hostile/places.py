#!/usr/bin/env python3
"""Places for reports where nobody reads, that close, or that are no files: the program ends as bare."""
import os
import threading

import hostile

PLACES = ("@DIR@", "/dev/full", "/dev/null/x", "/nowhere/x", "@DIR@/fifo", "/proc/self/mem", "@DIR@/" + "n" * 300, "/dev/tty", "")


def main():
    suite = hostile.Hostile(__doc__)
    leak = [suite.program("leaky"), 40]
    bare = suite.run(leak, library=False)
    suite.check("bare is well", bare.status == 0, bare)
    # A FIFO nobody has open, a directory, a full disk and so on, for each file there is.
    for place in PLACES:
        for option in ("log_path", "json_path", "suppressions", "journal_path"):
            command = ["/bin/sh", "-c", 'mkfifo fifo; exec "$0" "$@"', *leak]
            value = place.replace("@DIR@/fifo", "fifo")
            seen = suite.run(command, options=f"{option}={value}", log=option != "log_path", json=option != "json_path")
            suite.same(f"{option}={place}", bare, seen)

    # Standard error that nobody reads, that is closed, and that closes on the way.
    for what in ("unread", "closed", "half"):
        read_end, write_end = os.pipe()
        command = [suite.program("leaky"), 3000]
        plain = suite.run(command, library=False)
        if what == "closed":
            os.close(read_end)
        if what == "half":
            def read_a_little(end=read_end):
                os.read(end, 100)
                os.close(end)
            threading.Thread(target=read_a_little).start()
        seen = suite.run(command, log=False, stderr=write_end)
        os.close(write_end)
        if what == "unread":
            os.close(read_end)
        suite.check(f"standard error {what}", (seen.status, seen.out) == (plain.status, plain.out), f"bare: {plain}", f"with: {seen}")
        suite.check(f"standard error {what}: the JSON is there", "leak-at-close" in seen.rules, seen.rules)
        # Closed from the start, as descriptors 0 to 2 of a daemon.
        seen = suite.run(["/bin/sh", "-c", 'exec "$0" "$@" 0<&- 2>&-', *command], log=False)
        suite.check("no standard error", (seen.status, seen.out) == (plain.status, plain.out), seen)
    suite.end()


main()
