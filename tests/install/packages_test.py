#!/usr/bin/env python3
"""What scripts/lib.sh says of packages that are missing, on systems of each family, and that nothing is asked for where
nothing is missing. The systems are made of an os-release file and a PATH.

usage: packages_test.py SOURCE
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SYSTEMS = {
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\n',
    "fedora": "ID=fedora\n",
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\n',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\n',
    "unknown": "ID=nobody-knows\n",
    "none": None,
}
DNF = "dnf install gcc-c++ rdma-core-devel"
ZYPPER = "zypper install gcc-c++ rdma-core-devel"
APT = "apt-get install --no-install-recommends g++ libibverbs-dev librdmacm-dev"
SAID = {"rocky": [f"sudo {DNF}"], "fedora": [f"sudo {DNF}"], "leap": [f"sudo {ZYPPER}"], "mint": [f"sudo {APT}"],
        "unknown": [f"Debian, Ubuntu: {APT}", f"Fedora, RHEL: {DNF}", f"SUSE: {ZYPPER}"]}
SAID["none"] = SAID["unknown"]


def shell(source, text, path):
    done = subprocess.run(["bash", "-euc", f'. "{source}/scripts/lib.sh"\n{text}'], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={"PATH": path, "HOME": "/nowhere"})
    return done.returncode, done.stdout


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        # A PATH without apt, dpkg and compilers.
        few = work / "few"
        few.mkdir()
        for name in ("bash", "awk", "cat", "tr", "id", "sed", "head", "sort", "grep", "mkdir", "dirname"):
            found = next(p for p in (pathlib.Path(f) / name for f in os.environ["PATH"].split(":")) if p.exists())
            (few / name).symlink_to(found)
        missing = ("is_installed() { false; }\n"
                   'need_packages "g++:the compiler" "libibverbs-dev:verbs" "librdmacm-dev:rdma_cm"')
        for name, os_release in SYSTEMS.items():
            file = work / name
            if os_release is not None:
                file.write_text(os_release)
            on_it = (f'eval "$(declare -f family_of_system | sed s,family_of_system,family_of,)"\n'
                     f'family_of_system() {{ family_of {file}; }}\n')
            status, said = shell(source, on_it + missing, str(few))
            assert status == 2 and "needs g++ (the compiler)" in said, (name, status, said)
            for line in SAID[name]:
                assert line in said, (name, line, said)

        # As they are seen without dpkg: what is here is not asked for, what is not is.
        status, said = shell(source, "has_dpkg() { false; }\nneed_packages python3:x zlib1g-dev:x libibverbs-dev:x cmake:x && echo all",
                             os.environ["PATH"])
        assert status == 0 and said == "all\n", (status, said)
        status, said = shell(source, 'has_dpkg() { false; }\nneed_packages "cmake:the build"', str(few))
        assert status == 2 and "needs cmake (the build)" in said, (status, said)
        # Debian, not root: the command is named. With nothing missing nothing is said.
        for text, wanted in ("is_installed() { false; }\nneed_packages g++:x", (2, "g++")), ("need_packages bash:x && echo all", (0, "all")):
            status, said = shell(source, "id() { echo 1000; }\nhas_dpkg() { true; }\ndpkg-query() { printf installed; }\n" + text,
                                 os.environ["PATH"])
            assert status == wanted[0] and wanted[1] in said, (text, status, said)

    # Each package that a script asks for has a row with all names.
    text = (source / "scripts/lib.sh").read_text() + (source / "scripts/demo").read_text()
    asked = set(re.findall(r'^ *(?:! has_dpkg \|\| )?(?:need_packages )?"([a-z0-9.+-]+):', text, re.M))
    rows = {row[0]: row for row in ([cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.count("|") == 3)}
    assert len(asked) > 30, asked
    lacking = [name for name in asked if len(rows.get(name, [])) != 4 or not all(rows[name])]
    assert not lacking, lacking


main()
