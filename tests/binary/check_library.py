#!/usr/bin/env python3
"""What the finished library shows to a program and asks of it, by nm and readelf.

usage: check_library.py CHECK LIBRARY      CHECK: exports, needs, glibc, relocations, tls
       check_library.py glibc FILE [--at-most VERSION]    the command, too; VERSION: that of this machine
"""
import pathlib
import platform
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
# Thread-local storage of a preloaded library is taken out of every thread's stack, so a small stack must bear it.
MOST_TLS = 256


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def wanted_exports():
    for table in ["effects/verbs.def", "effects/direct_verbs.def", "effects/rdmacm.def"]:
        text = re.sub(r"//[^\n]*", "", (PROJECT / "interpose" / table).read_text())
        for version, name in re.findall(r'PLT_VERB\(\w+,\s*"([\w.]+)",\s*(\w+),', text):
            yield f"{name}@@{version}"
    for name in ["dlsym", "dlvsym", "dlclose"]:
        yield f"{name}@@GLIBC_2.34"
        yield f"{name}@GLIBC_2.2.5" if "x86_64" in run("uname", "-m") else f"{name}@GLIBC_2.17"
    yield "prctl@@GLIBC_2.2.5" if "x86_64" in run("uname", "-m") else "prctl@@GLIBC_2.17"
    header = (PROJECT / "interpose/include/rdmacheck/rdmacheck.h").read_text()
    names = set(re.findall(r"\b(rdmacheck_\w+)\(", header))
    names |= set(re.findall(r"RDMACHECK_PRIVATE_FIND\(function, (rdmacheck_private_\w+)\)", header))
    names.add("rdmacheck_private_fault_injected")  # what librdmafault.so tells
    node = re.search(r"RDMACHECK_1\.0 \{(.*?)\}", (PROJECT / "interpose/export.map").read_text(), re.S)[1]
    mapped = set(re.findall(r"\b(rdmacheck_\w+);", node))
    assert mapped <= names, f"the map exports what rdmacheck.h does not declare: {mapped - names}"
    for name in mapped:
        yield f"{name}@@RDMACHECK_1.0"


def exports(library):
    """Verbs under the libraries' own nodes, dlsym, dlvsym and dlclose, the annotations, the nodes themselves, and nothing else."""
    nodes = set(re.findall(r"^([A-Z0-9]+_[\d.]+) \{", (PROJECT / "interpose/export.map").read_text(), re.M))
    wanted = {("T", name) for name in wanted_exports()} | {("A", node) for node in nodes}
    found = {tuple(line.split()[-2:]) for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines()}
    found = {(kind, name.split("@")[0] if kind == "A" else name) for kind, name in found}
    for kind, name in sorted(found - wanted):
        yield f"exports {name} (type {kind}), which no table and no header names"
    for kind, name in sorted(wanted - found):
        yield f"does not export {name}"
    for name in {name.split("@")[-1] for _, name in wanted if "@" in name} - nodes:
        yield f"export.map has no node {name}"


def needs(library):
    """Nothing comes into the program with it but what is there anyway: the parts of the C library (three of them before 2.34)."""
    dynamic = run("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    for name in sorted(needed):
        if not re.fullmatch(r"lib(c|m)\.so\.6|lib(pthread|rt)\.so\.\d|libdl\.so\.2|ld-linux[\w-]*\.so\.\d+", name):
            yield f"needs {name}"
    if "libc.so.6" not in needed:
        yield "does not even need libc.so.6: is this a library?"
    for line in dynamic.splitlines():
        if re.search(r"\((RPATH|RUNPATH|SYMBOLIC)\)", line):
            yield line.strip()


def glibc(file):
    """It starts where it was built, and with --at-most on the C library of that version. Only the command of such a machine may
    use the shared C++ runtime."""
    versions = re.findall(r"Name: (\w+?)_([\d.]+) +Flags", run("readelf", "-VW", file))
    newest = max(numbers(version) for node, version in versions if node == "GLIBC")
    here = platform.libc_ver()[1]
    most = sys.argv[4] if sys.argv[3:4] == ["--at-most"] else here
    if newest > numbers(most):
        yield f"needs GLIBC_{'.'.join(map(str, newest))}, and {most} is the most"
    print(f"{pathlib.Path(file).name}: GLIBC_{'.'.join(map(str, newest))}")
    if most == here and not file.endswith(".so"):
        return
    for node, version in sorted(set(versions)):
        if node in ("GLIBCXX", "CXXABI", "GCC"):
            yield f"needs {node}_{version}: the C++ runtime is to be inside"


def numbers(version):
    return tuple(map(int, version.split(".")))


def relocations(library):
    """No text is written to at load time, and no stack is executable."""
    if "TEXTREL" in run("readelf", "-dW", library):
        yield "has text relocations"
    stack = [line for line in run("readelf", "-lW", library).splitlines() if "GNU_STACK" in line]
    if not stack or "E" in stack[0].split()[6]:
        yield "asks for an executable stack"


def tls(library):
    """Small, and reached without a call: __tls_get_addr may allocate, which a hook must not on its way."""
    segment = [line.split() for line in run("readelf", "-lW", library).splitlines() if line.split()[:1] == ["TLS"]]
    size = int(segment[0][5], 16) if segment else 0
    if size > MOST_TLS:
        yield f"{size} bytes of thread-local storage; {MOST_TLS} is the most"
    # The C++ runtime's own two functions call it when an exception is thrown, which no hook does.
    caller = None
    for line in run("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        if match := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            caller = match[1]
        elif "__tls_get_addr" in line and caller not in {"__cxa_get_globals", "__cxa_get_globals_fast", "__tls_get_addr@plt"}:
            yield f"{caller} calls __tls_get_addr: built without -ftls-model=initial-exec?"


def main():
    check, library = sys.argv[1:3]
    complaints = list(globals()[check](library))
    for complaint in complaints:
        print(f"{library}: {complaint}")
    return bool(complaints)


sys.exit(main())
