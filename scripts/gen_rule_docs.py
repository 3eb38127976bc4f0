#!/usr/bin/env python3
"""Writes the table of docs/rules.md and the list of rules in docs/report.schema.json from report/rules.def.

gen_rule_docs.py           writes the two
gen_rule_docs.py --reports [RULE]...
                           runs the commands that stand over the reports, with build/, and pastes what they say; those of
                           librdmacm's rules boot a virtual machine each
gen_rule_docs.py --check-reports fake|device
                           exit 1 if such a command now reports something else than what is pasted, but for numbers; device:
                           those that need the virtual machine. scripts/paste_docs.py does the same for other pages
gen_rule_docs.py --check   exit 1 if one of the two is not what would be written, or if a rule's section is not as it should be:
                           there, in the order of rules.def, with its parts, a report that agrees with what the first
                           scenario named expects (heading and, on the fake libibverbs, line numbers), and a passing variant
                           that expects nothing

A section names its scenarios as "**Shown by** `NAME ARGS`, ...; **passing variant** `NAME ARGS`, ....": ARGS picks the RUN.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "report" / "rules.def"
PAGE = ROOT / "docs" / "rules.md"
SCHEMA = ROOT / "docs" / "report.schema.json"
sys.path.insert(0, str(ROOT / "tests" / "expect"))
import run_scenario  # noqa: E402
from paste_docs import same  # noqa: E402

ROW = re.compile(r'^RDMACHECK_RULE\((\w+), "([\w-]+)", Severity::k(\w+), "(.+)",\n  "(.+)"\)$', re.M)
BEGIN, END = "<!-- table -->\n", "<!-- end of the table -->\n"
PARTS = ["What", "Why it is a bug", "Example", "Report", "How to fix", "Not reported", "Severity"]
SHOWN = re.compile(r"^\*\*Shown by\*\* (`.*`); \*\*passing variant\*\* (`.*`)\.$", re.M)
# Severities that are not settled when the finding is made, as the contract has them.
LATER = {
    "open-at-exit": "warning, error with `strict`",
    "device-list-leak": "warning, error with `strict`",
    "cm-channel-leak": "warning, error with `strict`",
    "unwatched-object": "warning, error with `strict`",
    "busy-destroy": "note, error if never made good",
}


def rules():
    text = TABLE.read_text()
    found = []
    for begin in re.finditer(r"^RDMACHECK_RULE\(", text, re.M):
        row = ROW.match(text, begin.start())
        if row is None:
            number = text.count("\n", 0, begin.start()) + 1
            sys.exit(f"{TABLE.name}:{number}: not of the form RDMACHECK_RULE(name, \"id\", Severity::k…, \"title\",\n  \"fix\")")
        found.append((row[2], row[3].lower(), row[4], row[5].replace('\\"', '"')))
    return found


def plain(text):
    """A paragraph as a row of the table has it: no code quotes, one line."""
    return " ".join(text.replace("`", "").split())


def with_table(page):
    lines = ["\n| rule | severity | when |\n| --- | --- | --- |\n"]
    for rule, severity, title, _ in rules():
        lines.append(f"| [{rule}](#{rule}) | {LATER.get(rule, severity)} | {title} |\n")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:begin] + "".join(lines) + "\n" + page[end:]


def with_rules(schema):
    """The schema with the ids of all rules."""
    ids = [f'"{rule}"' for rule, _, _, _ in rules()]
    lines = [", ".join(ids[i:i + 5]) for i in range(0, len(ids), 5)]
    listed = "".join("\n            " + line + "," for line in lines)[:-1]
    return re.sub(r'("rule": \{\s*"enum": \[)[^]]*?(\n *\])', lambda m: m[1] + listed + m[2], schema, count=1)


def runs_of(words):
    """The RUNs of a scenario with these words, on whatever it runs, and the line numbers of its marks."""
    name, _, args = words.partition(" ")
    sources = [p for p in (ROOT / "tests" / "scenario").glob(name + ".*") if p.suffix in (".c", ".cc", ".py")]
    if not sources:
        return None
    found = []
    for on in ("fake", "device"):
        runs, marks, _ = run_scenario.parse(sources[0], on)
        found += [(run, marks) for run in runs if run.args == args]
    return found


def disagrees(report, run, marks, rule):
    """What the RUN expects of this rule's finding and the pasted report does not hold; None if all is there."""
    lines = run_scenario.normalise(report)
    if run.on == "device":  # a report takes a virtual machine there, so a line may have moved
        marks = dict.fromkeys(marks, r"{{\d+}}")
    at, ours = 0, False
    for what, text, _ in run.checks:
        if what not in ("EXPECT", "EXPECT-ALSO"):
            continue
        if run_scenario.HEADING.match(text):
            ours = f" {rule}" in text
        if not ours or text.startswith("SUMMARY"):
            continue
        pattern = run_scenario.pattern_of(text, marks)
        at = next((i + 1 for i in range(at, len(lines)) if pattern.search(lines[i])), None)
        if at is None:
            return text
    return None


def faults_of(rule, section):
    for part in PARTS:
        if not re.search(rf"^\*\*{part}\.\*\*\s", section, re.M):
            yield f"has no part **{part}.**"
    if not re.search(r"\(3\)", section):
        yield "names no man page"
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.M | re.S)
    if "c" not in [language for language, _ in blocks]:
        yield "has no example in C"
    reports = [text for _, text in blocks if f"rdmacheck: {rule}: " in text]
    if not reports:
        yield "has no report"
    shown = SHOWN.search(section)
    if shown is None:
        yield "does not end in **Shown by** `…`; **passing variant** `…`."
        return
    names, twins = (re.findall(r"`([^`]+)`", part) for part in shown.groups())
    for number, words in enumerate(names):
        runs = runs_of(words)
        if not runs:
            yield f"names scenario `{words}`, " + ("which is not there" if runs is None else "which has no such RUN")
            continue
        runs = [(run, marks) for run, marks in runs
                if any(what.startswith("EXPECT") and what != "EXPECT-NOT" and rule in text for what, text, _ in run.checks)]
        if not runs:
            yield f"names scenario `{words}`, which does not expect the rule"
        elif number == 0 and reports:
            missing = [disagrees("\n".join(reports), run, marks, rule) for run, marks in runs]
            if all(missing):
                yield f"shows a report without what `{words}` expects: {missing[0]}"
    for words in twins:
        runs = runs_of(words)
        if runs is None:
            yield f"names passing variant `{words}`, which is not there"
        elif not any(what == "EXPECT-NOTHING" for run, _ in runs for what, _, _ in run.checks):
            yield f"names passing variant `{words}`, which does not expect nothing"


def check(page):
    faults = []
    if with_table(page) != page:
        faults.append("the table is not current: run scripts/gen_rule_docs.py")
    if with_rules(SCHEMA.read_text()) != SCHEMA.read_text():
        faults.append(f"the list of rules in {SCHEMA.name} is not current: run scripts/gen_rule_docs.py")
    sections = re.split(r"^## (.+)\n", page, flags=re.M)[1:]
    sections = dict(zip(sections[::2], sections[1::2]))
    fixes = {rule: fix for rule, _, _, fix in rules()}
    wanted = list(fixes)
    for rule in wanted:
        if rule not in sections:
            faults.append(f"{rule} has no section")
        else:
            faults += [f"{rule} {fault}" for fault in faults_of(rule, sections[rule])]
            how = re.search(r"^\*\*How to fix\.\*\*\s((?:.+\n)+)", sections[rule], re.M)
            if how is None or not plain(how[1]).startswith(plain(fixes[rule])):
                faults.append(f"{rule}: **How to fix.** does not begin with the fix in {TABLE.name}")
    faults += [f"section {name} is no rule of {TABLE.name}" for name in sections if name not in wanted]
    if not faults and list(sections) != wanted:
        faults.append(f"the sections are not in the order of {TABLE.name}")
    return faults


def reported(command, rule):
    """What a command says of a rule, and the last summary."""
    run = re.search(r"^run\(\) \{.*\}$", PAGE.read_text(), re.M)[0]
    said = subprocess.run(["bash", "-c", f"rm -f /tmp/report.txt\n{run}\n{command}"], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    findings = re.findall(rf"^==\d+==\w+: rdmacheck: {rule}: .*\n(?:  .*\n)*", said, re.M)
    if not findings:
        sys.exit(f"{command}\nsays nothing of {rule}:\n{said}")
    return "".join(findings) + "".join(re.findall(r"^SUMMARY: .*\n", said, re.M)[-1:])


# A block of a report: its first line is the command.
BLOCK = re.compile(r"^(```\n\$ (.+)\n)((?:.*\n)*?)```$", re.M)


def with_reports(page, only):
    parts = re.split(r"^(## .+\n)", page, flags=re.M)
    for i in range(1, len(parts), 2):
        rule = parts[i][3:-1]
        if not only or rule in only:
            parts[i + 1] = BLOCK.sub(lambda m: m[1] + reported(m[2], rule) + "```", parts[i + 1])
    return "".join(parts)


def check_reports(page, on_device):
    parts = re.split(r"^(## .+\n)", page, flags=re.M)
    faults = []
    for rule, section in zip(parts[1::2], parts[2::2]):
        rule = rule[3:-1]
        for block in BLOCK.finditer(section):
            if ("rxe-vm" in block[2]) == on_device and same(reported(block[2], rule)) != same(block[3]):
                faults.append(f"docs/rules.md: {rule}: `{block[2]}` reports something else now: --reports {rule}")
    return faults


def main(arguments):
    if arguments not in ([], ["--check"]) and arguments[:1] not in (["--reports"], ["--check-reports"]):
        sys.exit(__doc__)
    page = PAGE.read_text()
    if arguments[:1] == ["--check-reports"]:
        faults = check_reports(page, arguments[1:] == ["device"])
        for fault in faults:
            print(fault, file=sys.stderr)
        return 1 if faults else 0
    if arguments[:1] == ["--reports"]:
        page = with_reports(page, arguments[1:])
        arguments = []
    if not arguments:
        PAGE.write_text(with_table(page))
        SCHEMA.write_text(with_rules(SCHEMA.read_text()))
        return 0
    faults = check(page)
    for fault in faults:
        print(f"docs/rules.md: {fault}", file=sys.stderr)
    if any("shows a report" in fault for fault in faults):
        print("scripts/gen_rule_docs.py --reports RULE pastes it anew", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
