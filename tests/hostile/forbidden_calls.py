#!/usr/bin/env python3
"""A seccomp filter kills at one system call, for each that the program does not need bare: it still ends as bare.
What the library needs beyond that is documented, and is no more than documented.
"""
import re

import hostile

HEADER = hostile.pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


def documented():
    """The calls of the paragraph in docs/limitations.md: without a finding, and for a report."""
    text = (hostile.ROOT / "docs" / "limitations.md").read_text()
    paragraph = re.search(r"^- \*\*System call filters\.\*\*(.*?)\n\n", text, re.M | re.S).group(1)
    # What is said before is of a filter that prctl(2) installs.
    quiet, found, report = paragraph.partition("must allow the following.")[2].partition("A report\n")
    assert found, "docs/limitations.md: 'must allow the following', and 'A report' at the end of a line"
    return [set(re.findall(r"`(\w+)`", part)) for part in (quiet, report)]


def main():
    suite = hostile.Hostile(__doc__)
    names = {int(number): name for name, number in re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text())}
    quiet, report = documented()
    unknown = (quiet | report) - set(names.values())
    suite.check("each documented name is a system call", not unknown, unknown)
    nothing = set()
    # With json: it is not written under a filter, and that is said.
    for how, mode, json, allowed in (
            ("prctl", "clean", False, nothing), ("prctl", "busy", False, {"write"}), ("prctl", "leak", False, {"write"}),
            ("prctl", "leak", True, {"write"}), ("syscall", "clean", False, quiet),
            ("syscall", "busy", False, quiet | report), ("syscall", "leak", False, quiet | report)):
        def one(number, mode=mode, how=how, json=json):
            command = [suite.program("forbidden_call"), number, mode, how]
            bare = suite.run(command, library=False)
            if bare.status != 0:
                return None
            seen = suite.run(command, log=False, json=json)
            return names[number], seen.status == 0 and seen.out == bare.out

        free = [found for found in suite.each(one, names) if found]
        killed = {name for name, ended in free if not ended}
        print(f"{mode}, by {how}{', json_path' if json else ''}: of {len(free)} system calls that the program does not need bare, the library needs {sorted(killed)}")
        for name, _ in free:
            suite.check(f"{mode}, by {how}{', json_path' if json else ''}: {name} is not needed, or documented", name not in killed or name in allowed)
    suite.end()


main()
