#!/usr/bin/env python3
"""Writes the C++ file with the texts that are part of the command: the HTML page before and after the report's data, and
docs/rules.md. The page allows no script and no style but those in it, by their hashes.

usage: embed.py OUT PAGE_FOLDER RULES_PAGE
"""
import base64
import hashlib
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


def text_of(file):  # not pathlib, which Debian 11's python3-minimal lacks
    with open(file, encoding="utf-8") as opened:
        return opened.read()


def main():
    out, folder, rules = sys.argv[1:]
    css, page, flame = (text_of(f"{folder}/{f}") for f in ("page.css", "page.js", "flame.js"))
    for script in page, flame:
        if "</script" in script.lower():
            sys.exit("embed.py: a script holds its own end tag")
    policy = (f"default-src 'none'; script-src {hash_of(flame)} {hash_of(page)}; style-src {hash_of(css)}; "
              "base-uri 'none'; form-action 'none'")
    head, tail = text_of(f"{folder}/page.html").split("@DATA@")
    head = head.replace("@POLICY@", policy).replace("@STYLE@", css)
    tail = tail.replace("@FLAME@", flame).replace("@SCRIPT@", page)
    with open(out, "w", encoding="utf-8") as opened:
        opened.write('#include "report/forms/assets.h"\n\nnamespace rdmacheck {\n\n' +
                     literal("kPageHead", head) + literal("kPageTail", tail) + literal("kRulesPage", text_of(rules)) +
                     "\n}  // namespace rdmacheck\n")


main()
