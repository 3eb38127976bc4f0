#!/usr/bin/env python3
"""Reports that somebody else wrote: hostile.py OUT_FOLDER makes of tests/golden/report.json one report in which each free
text is an attack, for each attack below; many.json with ten thousand findings; and two_ranks.json's parts."""
import copy
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What a string must not do, whichever form it ends up in.
ATTACKS = {
    "script": '</script><script>window.pwned = 1</script>',
    "markup": '<img src=x onerror="window.pwned=1"><b>&amp;\'"</b><!--',
    "attribute": '" autofocus onfocus="window.pwned=1" x="\' onfocus=\'window.pwned=1',
    "cdata": ']]></failure><testcase name="x"/><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>&x;',
    "terminal": '\x1b]0;pwned\x07\x1b[2J\x1b[31mred\x9b31m\x7f\x00\x08',
    "lines": 'one\r\n::error file=x::pwned\n::add-mask::x\r##[command]x\u2028::stop-commands::x\u2029\x85::debug::x',
    "command": '%0A::set-output name=x::y%0D, file=other.c,line=9::z',
    "sarif": '{0} [click](javascript:alert) [1](1) \\{ file:///etc/passwd javascript:alert(1)',
    "folded": 'a;b;c 99\nmain;forged 1000\n',
    "unicode": '\u202egnp.exe\u200b\ufeff\ufffe\uffff\U000e0001\ud83d\ude00',
    "json": '\\u003c"}],"pwned":[{"',
    "long": 'A' * 4000,
}
# Words that have a meaning to the reader.
FIXED = {"schema", "rule", "severity", "role"}


def spoil(node, text, name=None):
    if isinstance(node, dict):
        return {key: spoil(child, text, key) for key, child in node.items()}
    if isinstance(node, list):
        return [spoil(child, text, name) for child in node]
    return text if isinstance(node, str) and name not in FIXED else node


def many(report, findings=10000):
    out = copy.deepcopy(report)
    kinds = [finding for finding in out["findings"] if finding["severity"] == "error" and not finding["suppressed_by"]]
    out["findings"] = []
    for number in range(findings):
        finding = copy.deepcopy(kinds[number % len(kinds)])
        finding["message"] = f"{finding['message']} (number {number})"
        for stack in finding["stacks"]:
            for frame in stack["frames"]:
                frame["function"] = f"{frame['function']}_{number % 700}"
                frame["line"] = number % 900 + 1
        out["findings"].append(finding)
    group = out["alive"][0]
    first = group["objects"][0]
    group["objects"] = [dict(first, serial=100 + number) for number in range(1000)]
    group["count"] = 1000
    return out


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    report = json.loads((ROOT / "tests" / "golden" / "report.json").read_text())
    for name, text in ATTACKS.items():
        (folder / f"hostile_{name}.json").write_text(json.dumps(spoil(report, text)), "utf-8", "surrogatepass")
    (folder / "many.json").write_text(json.dumps(many(report)))
    for rank in range(2):
        part = copy.deepcopy(report)
        part["process"]["rank"], part["process"]["pid"] = str(rank), 4711 + rank
        (folder / f"rank{rank}.json").write_text(json.dumps(part))


if __name__ == "__main__":
    main()
