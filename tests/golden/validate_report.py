#!/usr/bin/env python3
"""Checks JSON reports against docs/report.schema.json.

validate_report.py FILE...              exit 0 if every file is a valid report
validate_report.py --self-test FILE...  also spoils each report in many ways, and expects each to be refused
"""
import copy
import json
import pathlib
import sys

import jsonschema

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"


def no_duplicates(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError(f"a name twice in {names}")
    return dict(pairs)


def load(path):
    # Not every reader is as patient as Python's about NaN, bytes that are no UTF-8, and names that come twice.
    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    return json.loads(pathlib.Path(path).read_bytes().decode("utf-8"), parse_constant=refuse, object_pairs_hook=no_duplicates)


def places(node, path=()):
    """The path of every field, once for each list it stands in."""
    if isinstance(node, dict):
        for name, child in node.items():
            yield path + (name,)
            yield from places(child, path + (name,))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from places(child, path + (index,))


def self_test(validator, report):
    by_shape = {tuple("*" if isinstance(step, int) else step for step in path): path for path in places(report)}
    for path in by_shape.values():
        where = "/".join(map(str, path))

        def damaged(change):
            copied = copy.deepcopy(report)
            parent = copied
            for step in path[:-1]:
                parent = parent[step]
            change(parent, path[-1])
            return copied

        if validator.is_valid(damaged(lambda parent, name: parent.update({name: {"no": ["such"]}}))):
            sys.exit(f"the schema takes a wrong type at {where}")
        # An object's numbers have names of their own kind each; everywhere else they are fixed.
        if "numbers" not in path[-2:-1] and validator.is_valid(damaged(lambda parent, _: parent.update(surplus=1))):
            sys.exit(f"the schema takes a surplus name beside {where}")
    return len(by_shape)


def main(arguments):
    testing = arguments[:1] == ["--self-test"]
    files = arguments[1:] if testing else arguments
    if not files:
        sys.exit(__doc__)
    schema = json.loads(SCHEMA.read_text())
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    failed = False
    for file in files:
        try:
            report = load(file)
        except (OSError, ValueError) as error:
            print(f"{file}: {error}", file=sys.stderr)
            failed = True
            continue
        for error in sorted(validator.iter_errors(report), key=lambda e: list(map(str, e.absolute_path))):
            where = "/".join(map(str, error.absolute_path)) or "(top)"
            print(f"{file}: {where}: {error.message[:300]}", file=sys.stderr)
            failed = True
        if testing and not failed:
            print(f"{file}: {self_test(validator, report)} fields spoilt, each refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
