#!/usr/bin/env python3
"""Writes docs/options.md from interpose/options/options.def.

gen_option_docs.py           writes the page
gen_option_docs.py --check   exit 1 if the page is not what would be written, or if nothing reads an option
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TABLE = ROOT / "interpose" / "options" / "options.def"
PAGE = ROOT / "docs" / "options.md"

ROW = re.compile(r'^RDMACHECK_(?:OPTION\((?P<type>[\w:]+), |NUMBER\()(?P<name>\w+), (?P<default>.+?), (?:-?\d+, -?\d+, )?'
                 r'"(?P<help>(?:[^"\\]|\\.)*)"\)$')

INTRO = """\
# Options

<!-- Written by scripts/gen_option_docs.py from interpose/options/options.def: change that and run the script. -->

All options stand in one environment variable:

```
RDMACHECK_OPTIONS="log_path='/tmp/report:%p.txt' halt_on_error=1:stack_depth=16"
```

A colon or a space separates two options. A value that holds one of these stands in single or double quotes. Said twice, the
last one holds. An unknown name or a bad value is reported once, with the nearest name that exists, and the rest still holds.
`help=1` prints this table. Yes and no are `1` `true` `yes` and `0` `false` `no`.

| option | default | meaning |
| --- | --- | --- |
"""

NOTES = """
## Where the text goes

`log_path` and `json_path` are patterns: `%p` is the process's number, `%e` the program's name, `%h` the host, `%r` the rank
(from `OMPI_COMM_WORLD_RANK`, `PMIX_RANK`, `PMI_RANK` or `SLURM_PROCID`; `norank` where there is none) and `%%` a per cent
sign. A forked child writes to the file of its own number.

- A text file is appended to, so that several processes can share one. It is made at the first finding, and no descriptor
  stays open between two of them.
- A JSON file is replaced as a whole. A path that is no regular file, such as `/dev/stdout`, is written into.
- A file that cannot be written is reported once, and the text goes to standard error instead.
- Standard error is written to only while it is the file it was when the program started. A program that closes
  descriptor 2 may have got the same number for a socket or a data file; then the text goes to the former standard error by
  its name, if that was a file or a terminal. From a pipe that the program closed it is lost: use `log_path` there.
"""


def default_of(row):
    default = row["default"]
    if row["type"] == "bool":
        return {"true": "`1`", "false": "`0`"}[default]
    if row["type"] == "std::string":
        return f"`{default[1:-1]}`" if default != '""' else "empty"
    enum = re.fullmatch(r"\w+::k(\w+)", default)
    return f"`{enum[1].lower()}`" if enum else f"`{default}`"


def rows():
    """Name, default and help of each option."""
    for number, line in enumerate(TABLE.read_text().splitlines(), 1):
        if not re.match(r"RDMACHECK_(OPTION|NUMBER)\(", line):
            continue
        row = ROW.match(line)
        if row is None:
            sys.exit(f"{TABLE.name}:{number}: not of the form RDMACHECK_OPTION(type, name, default, \"help\") or "
                     "RDMACHECK_NUMBER(name, default, least, most, \"help\")")
        yield row["name"], default_of(row), row["help"].replace('\\"', '"')


def page():
    table = []
    for name, default, text in rows():
        escaped = text.replace("|", "\\|")
        table.append(f"| `{name}` | {default} | {escaped} |\n")
    return INTRO + "".join(table) + NOTES


def unread(text):
    """Options of the page that no source outside of options/ names as a member of Options."""
    sources = [path.read_text() for path in sorted((ROOT / "interpose").rglob("*.cc")) + sorted((ROOT / "interpose").rglob("*.h"))
               if path.parent != TABLE.parent]
    return [name for name in re.findall(r"^\| `(\w+)` \|", text, re.M)
            if not any(re.search(rf"options(\(\)|_)?\.{name}\b", source) for source in sources)]


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    text = page()
    faults = unread(text) if arguments else []
    for name in faults:
        print(f"{TABLE.name}: nothing reads the option {name}", file=sys.stderr)
    if faults:
        return 1
    if not arguments:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print("docs/options.md is not current: run scripts/gen_option_docs.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
