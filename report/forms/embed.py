#!/usr/bin/env python3
"""Writes the C++ file with the texts that are part of the command: the HTML page before and after the report's data, and
docs/rules.md. The page allows no script and no style but those in it, by their hashes.

usage: embed.py OUT PAGE_FOLDER RULES_PAGE
"""
import base64
import hashlib
import pathlib
import sys

PIECE = 12000  # bytes of one literal


def hash_of(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def literal(name, text):
    data = text.encode()
    pieces = []
    for at in range(0, len(data), PIECE):
        part = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in data[at:at + PIECE])
        pieces.append(f'    "{part}"')
    # Not a literal's own length: the text may hold a zero byte, and the compiler counts for us.
    return f"constexpr char {name}Text[] =\n" + "\n".join(pieces or ['    ""']) + ";\n" + \
        f"const std::string_view {name}({name}Text, sizeof({name}Text) - 1);\n"


def main():
    out, folder, rules = (pathlib.Path(a) for a in sys.argv[1:])
    css, page, flame = ((folder / f).read_text() for f in ("page.css", "page.js", "flame.js"))
    for script in page, flame:
        if "</script" in script.lower():
            sys.exit("embed.py: a script holds its own end tag")
    policy = (f"default-src 'none'; script-src {hash_of(flame)} {hash_of(page)}; style-src {hash_of(css)}; "
              "base-uri 'none'; form-action 'none'")
    head, tail = (folder / "page.html").read_text().split("@DATA@")
    head = head.replace("@POLICY@", policy).replace("@STYLE@", css)
    tail = tail.replace("@FLAME@", flame).replace("@SCRIPT@", page)
    out.write_text('#include "report/forms/assets.h"\n\nnamespace rdmacheck {\n\n' +
                   literal("kPageHead", head) + literal("kPageTail", tail) + literal("kRulesPage", rules.read_text()) +
                   "\n}  // namespace rdmacheck\n")


main()
