#!/usr/bin/env python3
"""Every scenario that docs/field-cases-covered.md names is there, and every case in it either names one or says why not."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
faults = []
rows = 0
for number, line in enumerate((ROOT / "docs" / "field-cases-covered.md").read_text().splitlines(), 1):
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if not re.fullmatch(r"[BT]\d+", cells[0]):
        continue
    rows += 1
    column = 4 if cells[0].startswith("B") else 2
    names = [name for name in re.findall(r"`(\w+)`", cells[column]) if name != "all_rows"]
    for name in names:
        if not list((ROOT / "tests" / "scenario").glob(name + ".*")):
            faults.append(f"line {number}: no scenario {name}")
    if not names and "all_rows" not in cells[column] and not cells[-1].startswith("not: "):
        faults.append(f"line {number}: {cells[0]} names no scenario and no reason")
print("\n".join(faults) or f"{rows} cases, each with its scenario or its reason")
sys.exit(1 if faults or rows < 100 else 0)
