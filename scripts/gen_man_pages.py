#!/usr/bin/env python3
"""Writes docs/man/rdmacheck.1 and docs/man/librdmacheck.7: what the command takes from its own --help, options from
interpose/options/options.def, rules from report/rules.def, calls of the annotations from rdmacheck.h.

gen_man_pages.py             writes the two, with build/rdmacheck
gen_man_pages.py --check COMMAND
                             exit 1 if one of the two is not what would be written
"""
import datetime
import pathlib
import re
import subprocess
import sys

import gen_option_docs
import gen_rule_docs

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "man"
HEADER = ROOT / "interpose" / "include" / "rdmacheck" / "rdmacheck.h"
DATE = re.compile(r'^(\.TH \S+ \d )(\S+)', re.M)


# ---- roff

def roff(text):
    """Text as roff prints it, with `code` in bold."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def head(name, section, what):
    return (f'.TH {name} {section} DATE rdmacheck "{what}"\n'
            ".\\\" Written by scripts/gen_man_pages.py: change the tables, the help or the script, and run it.\n")


def part(title, *paragraphs):
    return f".SH {title}\n" + ".PP\n".join(roff(text.strip()) + "\n" for text in paragraphs)


def entry(term, text):
    """A paragraph with a hanging term, which is roff already."""
    return f".TP\n{term}\n{roff(text)}\n"


def shown(commands):
    return ".RS 4\n.nf\n" + roff(commands.strip()) + "\n.fi\n.RE\n"


# ---- the command

class Help:
    """What `rdmacheck CALL --help` says."""

    def __init__(self, command, call=None):
        said = subprocess.run([command, *([call] if call else []), "--help"], text=True, check=True, stdout=subprocess.PIPE,
                              env={"COLUMNS": "80", "PATH": "/usr/bin:/bin"}).stdout
        self.call = call
        self.what = said.splitlines()[0]
        self.usage = re.search(r"^Usage: (.*)$", said, re.M)[1]
        self.positionals = list(self.rows(said, "Positionals"))
        self.options = [row for row in self.rows(said, "Options") if not row[0].startswith("-h,")]
        self.calls = list(self.rows(said, "Subcommands"))
        self.example = re.search(r"^Example:\n  (.*)$", said, re.M)[1]
        self.ending = said[said.index(self.example) + len(self.example):].strip().split("\n")

    @staticmethod
    def rows(said, title):
        """Pairs of what stands left and right in a table of the help; a long left side has a line of its own."""
        table = re.search(rf"^{title}:\n((?:  .*\n)+)", said, re.M)
        for row in re.split(r"\n(?=  \S)", table[1].rstrip("\n")) if table else []:
            left, _, right = re.sub(r"\n\s+", "   ", row).strip().partition("  ")
            yield re.sub(r"\{false\}", "", left), right.strip()

    def synopsis(self):
        words = self.usage.replace(" [OPTIONS]", "" if not self.options else " [OPTION]...").split()
        return " ".join(f"\\fB{roff(word)}\\fR" if word in ("rdmacheck", self.call)
                        else "\\-\\- \\fICOMMAND\\fR..." if word == "COMMAND..." else f"\\fI{roff(word)}\\fR" for word in words)


def option(row):
    """An option of the help as an entry: -o, --output FILE."""
    left, text = row
    left, *needs = left.split(" Needs: ")
    left, *excludes = left.split(" Excludes: ")
    names, _, value = left.partition(" ")
    value, *default = re.sub(r" \.\.\.| REQUIRED", "", value).split("=", 1) if "NAME=VALUE" not in value else ["NAME=VALUE"]
    value = re.sub(r"(INT|FLOAT):.*", "N", value)
    term = ", ".join(f"\\fB{roff(name)}\\fR" for name in names.split(","))
    more = [f"default {word}" for word in default] + [f"with {word}" for word in needs] + [f"without {word}" for word in excludes]
    return entry(term + (f" \\fI{value}\\fR" if value else ""), sentence(text + (f" ({', '.join(more)})" if more else "")))


def sentence(text):
    first = text.split()[0]
    return (text if "_" in first else text[:1].upper() + text[1:]) + "."


def calls_of(command):
    """Lists of calls that take the same options, with what --help says of them."""
    groups = []
    for name, _ in Help(command).calls:
        help_ = Help(command, name)
        if groups and help_.options and groups[-1][0].options == help_.options:
            groups[-1].append(help_)
        else:
            groups.append([help_])
    return groups


def command_page(command):
    top = Help(command)
    groups = calls_of(command)
    page = head("RDMACHECK", 1, "User Commands")
    page += part("NAME", "rdmacheck - find bugs in the use of RDMA verbs").replace("rdmacheck \\-", "rdmacheck \\-", 1)
    page += ".SH SYNOPSIS\n.nf\n" + "\n".join(help_.synopsis() for group in groups for help_ in group) + "\n.fi\n"
    page += part("DESCRIPTION",
                 "`rdmacheck run` runs a program and its children under librdmacheck(7), a library that is preloaded: it reports "
                 "RDMA verbs objects that are leaked, destroyed twice, destroyed in the wrong order or used after their destroy, "
                 "each with the function and line that created it. The program is neither rebuilt nor changed. The other calls "
                 "read, compare and rewrite the reports that it leaves.",
                 "A FILE to read is a report in JSON, or the journal that a killed process left. `-` is standard input.")
    page += ".SH OPTIONS\n" + entry("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Print the help, also of each call.")
    page += "".join(option(row) for row in top.options)
    page += ".SH CALLS\n"
    for group in groups:
        for help_ in group:
            page += f".SS {help_.synopsis()}\n{roff(sentence(help_.what))}\n"
        for name, text in group[-1].positionals:
            if not name.startswith("FILE"):
                page += entry(f"\\fI{name.split()[0]}\\fR", sentence(text))
        if len(group) > 1:
            page += f".PP\nOptions of these {len(group)} calls:\n"
        page += "".join(option(row) for row in group[-1].options)
        if group[-1].call == "run":
            page += ".PP\n" + roff("\n".join(group[-1].ending)) + "\n"
        page += ".PP\nExample:\n" if len(group) == 1 else ".PP\nExamples:\n"
        page += ".PP\n" + shown("\n".join(help_.example for help_ in group))
    page += ".SH EXIT STATUS\n"
    page += entry("\\fB0\\fR", "No findings.") + entry("\\fB23\\fR", "There are findings.")
    page += entry("\\fB2\\fR", "Bad usage, or input that cannot be read.")
    page += part("ENVIRONMENT", "")[:-1]
    page += entry("\\fBRDMACHECK_OPTIONS\\fR", "Options of the library, see librdmacheck(7). `--option` adds to them.")
    page += entry("\\fBRDMACHECK_LIBRARY\\fR",
                  "The library to preload, in place of the one beside the command or in ../lib.")
    page += entry("\\fBRDMACHECK_FAULTS\\fR", "Faults, as of `--fault`, with spaces or semicolons between them.")
    page += entry("\\fBDEBUGINFOD_URLS\\fR", "Servers that are asked for debug information of frames without a name.")
    page += part("SEE ALSO", "librdmacheck(7), ibv_devices(1), ibv_open_device(3), rdma_cm(7)",
                 "/usr/share/doc/rdmacheck/docs: command.md, rules.md, faults.md, forms.md, suppressions.md and a tutorial")
    return page


# ---- the library

def annotations():
    """The comments of rdmacheck.h, each with the declarations below it."""
    text = HEADER.read_text()
    comment, declarations = "", []
    for block in re.finditer(r"/\* ((?:[^*]|\*(?!/))*) \*/\n|^static __inline__ (.*\)) \{$", text, re.M):
        if block[2]:
            declarations.append(block[2])
            continue
        if declarations:
            yield comment, declarations
        comment, declarations = re.sub(r"\s*\n \*\s*", " ", block[1]), []
    yield comment, declarations


def library_page():
    page = head("LIBRDMACHECK", 7, "Miscellaneous Information Manual")
    page += part("NAME", "librdmacheck - checker of RDMA verbs objects, to be preloaded")
    page += ".SH SYNOPSIS\n.nf\n"
    page += roff("`LD_PRELOAD=librdmacheck.so` PROGRAM...\n"
                 "`RDMACHECK_OPTIONS=`\"NAME=VALUE:NAME=VALUE\" `LD_PRELOAD=librdmacheck.so` PROGRAM...\n") + ".PP\n"
    page += roff("`#include <rdmacheck/rdmacheck.h>`\n") + ".fi\n"
    page += part("DESCRIPTION",
                 "A program that runs with the library preloaded is watched from its first verb on. What it creates with "
                 "libibverbs, librdmacm and the providers' direct verbs is kept with the stack that created it. Bugs are "
                 "reported when they are known: a leak at `ibv_close_device`, a second destroy when it is called. A process that calls no verb prints "
                 "nothing. rdmacheck(1) runs programs with their children in this way and makes one report of all.",
                 "Findings go to standard error (`log_path`), and into a file as JSON if `json_path` names one.")
    page += part("OPTIONS",
                 "All stand in the environment variable `RDMACHECK_OPTIONS`; a colon or a space separates two. A value that "
                 "holds one of these stands in quotes. If an option is given twice, the last one holds. An unknown name or a bad value is "
                 "reported once, and the rest still holds. Yes and no are 1 and 0.")
    for name, default, help_ in gen_option_docs.rows():
        default = default.strip("`")
        page += entry(f"\\fB{name}\\fR=\\fI{roff(default) if default != 'empty' else ''}\\fR".replace("\\fI\\fR", ""), help_)
    page += part("RULES",
                 "An error is wrong whatever the program meant; it changes an exit status of 0. A warning is probably wrong. "
                 "A note is for the reader. `rdmacheck rules` ID prints the whole section of docs/rules.md.")
    for rule, severity, title, fix in gen_rule_docs.rules():
        severity = gen_rule_docs.LATER.get(rule, severity)
        page += entry(f"\\fB{roff(rule)}\\fR ({roff(severity.replace('`', ''))})", f"{sentence(title)} {fix}")
    page += part("SUPPRESSIONS",
                 "The file of the option `suppressions` has a line for each: RULE:PATTERN or RULE:PATTERN:REASON. RULE may be `*`. "
                 "PATTERN is matched, with `*`, against function, file and module of each frame of the creating stack. `#` starts "
                 "a comment.")
    page += part("ANNOTATIONS",
                 "A program that calls these functions links and runs without the library too; there they do nothing and return 0 "
                 "(`rdmacheck_snapshot`: ENOSYS). Nothing is linked.")
    for comment, declarations in annotations():
        page += entry("\n.TQ\n".join(f"\\fB{roff(one)}\\fR" for one in declarations), comment)
    page += part("EXIT STATUS",
                 "That of the program; `exitcode` (23) if that is 0 and an error was reported.")
    page += ".SH FILES\n"
    page += entry("\\fI/usr/share/rdmacheck/suppressions\\fR",
                  "The suppressions that always hold, to begin a file of one's own with.")
    page += entry("\\fI/usr/libexec/rdmacheck/rxe\\-vm\\fR",
                  "Runs a command in a virtual machine that has a soft RDMA device.")
    page += part("NOTES",
                 "The data path (posting and polling), memory that a work request touches, and programs that are linked "
                 "statically with libibverbs are not watched. docs/limitations.md has the rest.")
    page += ".SH EXAMPLES\n" + shown("RDMACHECK_OPTIONS=json_path=report.%p.json:strict=1 LD_PRELOAD=librdmacheck.so ./app\n"
                                     "rdmacheck html -o report.html report.*.json")
    page += part("SEE ALSO", "rdmacheck(1), ibv_close_device(3), rdma_destroy_id(3)", "/usr/share/doc/rdmacheck/docs")
    return page


def main(arguments):
    if arguments and (arguments[0] != "--check" or len(arguments) != 2):
        sys.exit(__doc__)
    command = arguments[1] if arguments else ROOT / "build" / "rdmacheck"
    stale = 0
    for name, page in ("rdmacheck.1", command_page(command)), ("librdmacheck.7", library_page()):
        path = FOLDER / name
        there = path.read_text() if path.exists() else ""
        # A page has the day of its last change.
        if DATE.sub(r"\1DATE", there) == page:
            continue
        if arguments:
            print(f"docs/man/{name} is not current: run scripts/gen_man_pages.py", file=sys.stderr)
            stale = 1
        else:
            FOLDER.mkdir(exist_ok=True)
            path.write_text(DATE.sub(rf"\g<1>{datetime.date.today()}", page))
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
