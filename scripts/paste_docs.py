#!/usr/bin/env python3
"""Runs the commands that stand in documents and pastes what they print, with build/.

    <!-- pasted: fake -->           or device: in the virtual machine of scripts/rxe-vm; fake: on the fake libibverbs
    ```
    $ rdmacheck run -- ./leaky_echo
    what it printed
    …                               this line stands for what is left out in the middle
    the end of what it printed
    ```

Several commands may stand in a block. Those of a page run one after another in one shell, in a folder of its own, in which
<!-- prepare: COMMANDS --> was run before; ROOT is the tree there, and build/ is in PATH.

paste_docs.py [PAGE]...                  pastes anew
paste_docs.py --check fake|device [PAGE]...
                                         exit 1 if a command now prints something else than what is pasted, but for numbers
paste_docs.py --self-test
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PREPARE = re.compile(r"^<!-- prepare: (.*?) -->$", re.M | re.S)
BLOCK = re.compile(r"^<!-- pasted: (fake|device) -->\n```\w*\n((?:.*\n)*?)```$", re.M)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.M)
CUT = "…\n"
MARK = "\x1e"


def pages(names):
    found = [ROOT / name for name in names] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if BLOCK.search(page.read_text())]


def parts_of(block):
    """The commands of a block, each with what is pasted below it."""
    pieces = COMMAND.split(block)
    if pieces[0]:
        sys.exit(f"a pasted block does not begin with a command: {pieces[0][:60]}")
    return list(zip(pieces[1::2], pieces[2::2]))


def shell_script(folder, commands, where):
    libraries = [BUILD] + [BUILD / "tests/fake/lib"] * (where == "fake")
    lines = ["exec 2>&1", f"cd {folder}", f"export ROOT={ROOT} PATH={BUILD}:$PATH LC_ALL=C.UTF-8 NO_COLOR=1",
             f"export LD_LIBRARY_PATH={':'.join(map(str, libraries))}", "status=0"]
    for command in commands:
        quoted = "'" + command.replace("'", "'\\''") + "'"
        # A command sees the status of the one before it, as in a terminal.
        lines.append(f"(exit $status); eval {quoted} </dev/null; status=$?; printf '\\036'")
    return "\n".join(lines)


def printed(page, text, where):
    """What each command of the page's blocks prints, in their order."""
    commands = [command for kind, block in BLOCK.findall(text) if kind == where for command, _ in parts_of(block)]
    if not commands:
        return []
    folder = BUILD / "doc-example" / re.sub(r"\W+", "_", str(page.relative_to(ROOT).with_suffix("")))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for preparation in PREPARE.findall(text):
        subprocess.run(["bash", "-ec", preparation], cwd=folder, check=True, env={**os.environ, "ROOT": str(ROOT)})
    script = folder / "commands"
    script.write_text(shell_script(folder, commands, where))
    vm = [ROOT / "scripts/rxe-vm", "-q", "-t", "300", "--"] if where == "device" else []
    done = subprocess.run(vm + ["bash", script], text=True, errors="replace", stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    script.unlink()
    outputs = done.stdout.replace("\r\n", "\n").split(MARK)[:-1]
    if len(outputs) != len(commands):
        sys.exit(f"{page.name}: after `{commands[len(outputs)]}` nothing more was run:\n{done.stdout[-2000:]}")
    ours = re.compile(rf"{re.escape(str(folder))}/?|{re.escape(str(ROOT))}/|[ \t]+$|^commands: line .*\n", re.M)
    return [ours.sub("", output) for output in outputs]


def ends(pasted):
    """How many lines at the start and at the end of what is pasted stand there whole; None if all do."""
    if CUT not in pasted.splitlines(keepends=True):
        return None
    head, tail = pasted.split(CUT, 1)
    return head.count("\n"), tail.count("\n")


def cut(output, keep):
    lines = output.splitlines(keepends=True)
    if keep is None or sum(keep) >= len(lines):
        return output
    return "".join(lines[:keep[0]]) + CUT + "".join(lines[len(lines) - keep[1]:])


def with_outputs(text, where, outputs):
    outputs = iter(outputs)

    def block(match):
        if match[1] != where:
            return match[0]
        lines = "".join(f"$ {command}\n" + cut(next(outputs), ends(pasted)) for command, pasted in parts_of(match[2]))
        return match[0].replace(match[2] + "```", lines + "```") if match[2] else match[0]

    return BLOCK.sub(block, text)


def same(text):
    """Without what differs from run to run: numbers of all kinds, ages, the order of what two threads print."""
    text = re.sub(r"\b0x[0-9a-fA-F]+|\b\d+(\.\d+)?( (us|ms|s|min))?\b", "N", text)
    return sorted(re.sub(r"\(N\)|, N bytes|, the oldest N ago|^ +|(?<=\S) +(?= )", "", line) for line in text.split("\n"))


def check(where, names):
    failed = 0
    for page in pages(names):
        text = page.read_text()
        outputs = iter(printed(page, text, where))
        for kind, block in BLOCK.findall(text):
            for command, pasted in parts_of(block) if kind == where else []:
                now = cut(next(outputs), ends(pasted))
                if same(now) != same(pasted):
                    print(f"{page.relative_to(ROOT)}: `{command}` prints now\n{now}scripts/paste_docs.py "
                          f"{page.relative_to(ROOT)} pastes it", file=sys.stderr)
                    failed = 1
    return failed


def paste(names):
    for page in pages(names):
        for where in ("fake", "device"):
            text = page.read_text()
            page.write_text(with_outputs(text, where, printed(page, text, where)))
    return 0


def self_test():
    page = "<!-- pasted: fake -->\n```\n$ a\n1\n…\n9\n$ b \\\n  c\n```\n<!-- pasted: device -->\n```\n$ d\n```\n"
    assert [parts_of(block) for _, block in BLOCK.findall(page)] == [[("a", "1\n…\n9\n"), ("b \\\n  c", "")], [("d", "")]]
    new = with_outputs(page, "fake", ["x\ny\nz\n", "w\n"])
    assert "$ a\nx\n…\nz\n$ b \\\n  c\nw\n```" in new and new.endswith("$ d\n```\n"), new
    assert with_outputs(page, "device", ["v\n"]).endswith("$ d\nv\n```\n")
    assert cut("x\ny\n", (1, 1)) == "x\ny\n" and ends("x\n") is None
    assert same("pid 12, 3 ms\n") == same("pid 7, 1.5 s\n") and same("at 0x4FA03F3: f\n") == same("at 0x4F9f3F3: f\n") and same("2 qp\n") != same("2 cq\n")
    return 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        sys.exit(self_test())
    if arguments[:1] == ["--check"] and arguments[1:2] in (["fake"], ["device"]):
        sys.exit(check(arguments[1], arguments[2:]))
    if any(argument.startswith("-") for argument in arguments):
        sys.exit(__doc__)
    sys.exit(paste(arguments))
