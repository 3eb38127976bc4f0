#!/usr/bin/env python3
"""The forms of a report: what they hold, that their readers take them, and that a hostile report stays inside.

usage: forms_test.py COMMAND GOLDEN|STRUCTURE|HOSTILE|SARIF [NPM_FOLDER]
With RDMACHECK_UPDATE_GOLDEN=1, GOLDEN writes the expected files anew; look at the difference then.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import hostile  # noqa: E402

COMMAND = os.path.abspath(sys.argv[1])
REPORT = ROOT / "tests" / "golden" / "report.json"
FORMS = {"sarif": "report.sarif", "junit": "report.xml", "github": "report.github", "folded": "report.folded",
         "folded-bytes": "report.folded_bytes", "trace": "report.trace.json"}
rendered = set()  # forms that were looked at so far


def render(form, *reports):
    rendered.add(form)
    # From the top of the tree and by relative paths, as some forms show the files' names.
    names = [os.path.relpath(one, ROOT) for one in reports]
    done = subprocess.run([COMMAND, form, *names], cwd=ROOT, capture_output=True, check=False, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{form} {reports}: status {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8")  # strictly: a form is valid UTF-8 always


def expect(what, ok):
    if not ok:
        sys.exit(f"not so: {what}")


def data_of(page):
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def golden():
    rows = re.findall(r'^RDMACHECK_FORM\(\w+, "([\w-]+)"', (ROOT / "report" / "forms" / "forms.def").read_text(), re.M)
    # show and json are compared by golden_test, html by page_test.
    named = set(rows) - {"show", "json", "html"}
    expect(f"FORMS has the rows of forms.def, and not only one of the two {sorted(named ^ set(FORMS))}", named == set(FORMS))
    page = (ROOT / "docs" / "forms.md").read_text()
    for name in rows:
        expect(f"docs/forms.md has {name}, as `rdmacheck {name}`", f"`{name}`" in page or f"`rdmacheck {name}`" in page)
    for form, name in FORMS.items():
        text = render(form, REPORT)
        if form == "sarif":  # the rules' help is docs/rules.md, which has tests of its own
            log = json.loads(text)
            driver = log["runs"][0]["tool"]["driver"]
            for rule in driver.pop("rules"):
                expect(f"{rule['id']} has help", rule["shortDescription"]["text"] and rule["fullDescription"]["text"])
            driver["version"] = driver["semanticVersion"] = "0.0.0"
            for result in log["runs"][0]["results"]:
                result.pop("ruleIndex")
            text = json.dumps(log, indent=1, ensure_ascii=False) + "\n"
        path = HERE / "golden" / name
        if os.environ.get("RDMACHECK_UPDATE_GOLDEN"):
            path.write_text(text)
        expect(f"{form} is as {path}", path.read_text() == text)


def well_formed(sources):
    """What each form must hold, whatever the report says."""
    # JUnit: XML, against the schema.
    xml_text = render("junit", *sources)
    root = xml.etree.ElementTree.fromstring(xml_text)
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(xml_text)
        file.flush()
        subprocess.run(["xmllint", "--noout", "--nonet", "--huge", "--schema", HERE / "junit.xsd", file.name], check=True,
                       stderr=subprocess.DEVNULL)
    expect("no document type in JUnit", "<!DOCTYPE" not in xml_text)
    reports = [json.loads(pathlib.Path(one).read_text()) for one in sources]
    expect("a test case a report", len(root.findall(".//testcase")) == len(reports))
    errors = any(f["severity"] == "error" and not f["suppressed_by"] for r in reports for f in r["findings"])
    expect("a failure where there are errors", bool(root.findall(".//failure")) == errors)

    # GitHub: each line one command, without what could end it early.
    shown = sum(not f["suppressed_by"] for f in reports[0]["findings"])
    lines = render("github", *sources).split("\n")
    expect("the last line ends", lines.pop() == "")
    expect(f"an annotation a finding that is not suppressed ({len(lines)}, {shown})", len(lines) == shown)
    for line in lines:
        expect(line[:200], re.fullmatch(r"::(error|warning|notice) (file=[^,:]*,line=\d+,)?title=[^,:]*::[^\r\n]*", line))

    # Folded: names without separators, then a weight.
    for form in "folded", "folded-bytes":
        for line in render(form, *sources).split("\n")[:-1]:
            expect(line[:200], re.fullmatch(r"[^;]+(;[^;]+)*;\[[^;]+\] [1-9]\d*", line))

    # Trace: what Perfetto's importer wants of each event, and every span that begins ends.
    trace = json.loads(render("trace", *sources))
    spans = {}
    rows = set()
    for event in trace["traceEvents"]:
        expect(f"an event has its fields: {event}"[:300], isinstance(event["name"], str) and isinstance(event["pid"], int) and isinstance(event["tid"], int))
        if event["ph"] == "M":
            rows.add((event["pid"], event["tid"]))
            continue
        expect("times are whole and not negative", isinstance(event["ts"], int) and event["ts"] >= 0)
        expect("each thread has a name", (event["pid"], event["tid"]) in rows)
        if event["ph"] == "X":
            expect("a bar has a length", event["dur"] >= 0)
        elif event["ph"] == "b":
            spans[event["cat"], event["id"]] = event["ts"]
        elif event["ph"] == "e":
            expect("a span ends after it began", spans.pop((event["cat"], event["id"])) <= event["ts"])
        else:
            expect(f"event type {event['ph']}", event["ph"] == "i" and event["s"] == "t")
    expect("no span is left open", not spans)

    # SARIF: against its schema is SARIF's test; here what could be injected.
    log = json.loads(render("sarif", *sources))
    for result in log["runs"][0]["results"]:
        for place in result.get("locations", []) + result.get("relatedLocations", []):
            uri = place.get("physicalLocation", {}).get("artifactLocation", {}).get("uri")
            if uri is not None:
                parts = urllib.parse.urlsplit(uri)
                expect(f"a path stays a path: {uri[:100]}", parts.scheme in ("", "file") and not parts.netloc and not parts.query and not parts.fragment)
        expect("no link in a message", not re.search(r"(?<!\\)(\\\\)*\[", result["message"]["text"]))
        expect("no placeholder in a message", not re.search(r"\{", result["message"]["text"].replace("{{", "")))
    return data_of(render("html", *sources))


def structure():
    data = well_formed([REPORT])
    expect(f"well_formed() looks at each form, and not at {sorted(set(FORMS) - rendered)}", set(FORMS) <= rendered)
    report = json.loads(REPORT.read_text())
    expect("every finding is in the page", len(data["findings"]) == len(report["findings"]))
    expect("stacks are shared", len(data["stacks"]) < sum(len(f["stacks"]) for f in report["findings"]))
    expect("parents are there", data["alive"][0]["objects"][0]["up"] == [["pd", 2], ["cq", 5]])
    expect("calls are there", [call[1] for call in data["calls"]] == ["ibv_get_cq_event", "ibv_get_async_event"])
    expect("lifetimes are there", {(life[1], life[2]) for life in data["lives"]} >= {("qp", 7), ("cq", 6), ("mr", 8)})
    log = json.loads(render("sarif", REPORT))
    results = log["runs"][0]["results"]
    expect("the suppressed result is one", [r["suppressions"][0]["justification"] for r in results if "suppressions" in r] == ["leak-at-close:libpool*:known"])

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # A new build: other lines and addresses, the same fingerprints. Another function: another one.
        moved, renamed = json.loads(REPORT.read_text()), json.loads(REPORT.read_text())
        for finding in moved["findings"]:
            for stack in finding["stacks"]:
                for frame in stack["frames"]:
                    frame["offset"] += 64
                    frame["line"] = frame["line"] and frame["line"] + 20
        renamed["findings"][0]["stacks"][0]["frames"][0]["function"] = "make_other_qp"
        prints = {}
        for name, one in ("moved", moved), ("renamed", renamed):
            (folder / f"{name}.json").write_text(json.dumps(one))
            prints[name] = [r["partialFingerprints"] for r in json.loads(render("sarif", folder / f"{name}.json"))["runs"][0]["results"]]
        same = [r["partialFingerprints"] for r in results]
        expect("fingerprints do not depend on lines and addresses", prints["moved"] == same)
        expect("another function has another fingerprint", prints["renamed"][0] != same[0] and prints["renamed"][1:] == same[1:])

        # Two processes are two test cases and two invocations, and equal findings are one annotation.
        ranks = []
        for rank in range(2):
            one = json.loads(REPORT.read_text())
            one["process"]["rank"] = str(rank)
            ranks.append(folder / f"rank{rank}.json")
            ranks[-1].write_text(json.dumps(one))
        well_formed(ranks)
        names = [case.get("name") for case in xml.etree.ElementTree.fromstring(render("junit", *ranks)).iter("testcase")]
        expect(f"test cases are named by rank: {names}", names == ["rank 0", "rank 1"])
        expect("an invocation a process", len(json.loads(render("sarif", *ranks))["runs"][0]["invocations"]) == 2)

        # Lines of sources: of sources only, and of regular files only.
        os.mkfifo(folder / "pipe.c")
        (folder / "key.c").write_text("one\ntwo\nthree\nfour\nfive\n")
        (folder / "id_rsa").write_text("SECRET\n" * 9)
        wanted = {"key.c": True, "pipe.c": False, "id_rsa": False, "none.c": False}
        for name, shown in wanted.items():
            one = json.loads(REPORT.read_text())
            one["findings"] = one["findings"][:1]
            one["findings"][0]["stacks"][0]["frames"][0].update(file=str(folder / name), line=4)
            (folder / "source.json").write_text(json.dumps(one))
            page = render("html", folder / "source.json")
            has = [frame["src"] for frame in data_of(page)["frames"] if "src" in frame]
            expect(f"{name} is {'' if shown else 'not '}shown", has == ([[1, ["one", "two", "three", "four", "five"]]] if shown else []))
            expect("nothing of a key is in the page", "SECRET" not in page)


def hostile_reports():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sys.argv[1:] = [str(folder)]
        hostile.main()
        for name in hostile.ATTACKS:
            source = folder / f"hostile_{name}.json"
            well_formed([source])
            for form in ["html", *FORMS, "show", "json"]:
                text = render(form, source)
                # A terminal obeys controls of both kinds; U+0085 and the separators are line ends to some.
                bad = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]", text)
                expect(f"{form} of {name} holds no control character: {bad and ascii(bad[0])}", not bad)
            page = render("html", source)
            expect(f"{name}: four scripts, and no other", len(re.findall(r"<script", page)) == 3 and len(re.findall(r"</script", page)) == 3)
            expect(f"{name}: no markup in the data", "<" not in re.search(r'application/json">(.*?)</script>', page, re.S)[1])


def sarif(npm):
    tool = pathlib.Path(npm) / "node_modules" / "@microsoft" / "sarif-multitool-linux" / "Sarif.Multitool"
    if not tool.exists():
        sys.exit(f"{tool} is not there: scripts/build --tests installs it")
    tool.chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sys.argv[1:] = [str(folder)]
        hostile.main()
        logs = []
        schema = json.loads((tool.parent / "sarif-2.1.0.json").read_text())
        for source in [REPORT, ROOT / "tests" / "golden" / "nothing_found.json", *(folder / f"hostile_{n}.json" for n in ("script", "sarif", "unicode", "lines"))]:
            logs.append(folder / f"{source.stem}.sarif")
            logs[-1].write_text(render("sarif", source))
            jsonschema.validate(json.loads(logs[-1].read_text()), schema)
        checked = folder / "checked"
        checked.mkdir()
        done = subprocess.run([tool, "validate", *logs, "--level", "Error;Warning", "--kind", "Fail", "--output", checked / "all.sarif"],
                              env=dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1", HOME=str(folder)), capture_output=True, check=False)
        if not (checked / "all.sarif").exists():
            sys.exit(f"sarif-multitool wrote nothing: {done.stdout.decode()} {done.stderr.decode()}")
        run = json.loads((checked / "all.sarif").read_text())["runs"][0]
        expect("all files were looked at", f"{len(logs)} files scanned" in done.stdout.decode())
        # The project has no public page to name.
        known = {"Warning_ProvideToolnformationUri"}
        told = {(r["ruleId"], r["message"].get("id"), *r["message"].get("arguments", [])) for r in run["results"] if r["message"].get("id") not in known}
        expect(f"sarif-multitool finds nothing: {sorted(told)}", not told)
        # The check itself: what is wrong is found.
        broken = json.loads(logs[0].read_text())
        broken["runs"][0]["results"][1]["ruleIndex"] = 99
        (folder / "broken.sarif").write_text(json.dumps(broken))
        subprocess.run([tool, "validate", folder / "broken.sarif", "--level", "Error;Warning", "--kind", "Fail", "--output", checked / "broken.out"],
                       env=dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1", HOME=str(folder)), capture_output=True, check=False)
        found = json.loads((checked / "broken.out").read_text())["runs"][0]["results"]
        expect("a broken log is refused", any(result.get("level") == "error" for result in found))


def main():
    what = sys.argv[2]
    {"GOLDEN": golden, "STRUCTURE": structure, "HOSTILE": hostile_reports, "SARIF": lambda: sarif(sys.argv[3])}[what]()


main()
