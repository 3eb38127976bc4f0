#!/usr/bin/env python3
"""Unpacks the tarball of scripts/build-portable where it runs, a root of some Debian release in a guest with two soft devices
(scripts/test-other-rdma-cores --portable), and uses it: the command, the demo, a fault, and the scenarios of the device.

usage: run_tarball.py TARBALL PROGRAMS SOURCE...
"""
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve()


def run(*command):
    """(status, standard output and standard error)"""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    return done.returncode, done.stdout


def main():
    tarball, programs, sources = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
    place = pathlib.Path("/opt/rdmacheck")
    place.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", tarball, "-C", place, "--strip-components=1"], check=True)
    command = next(place.rglob("bin/rdmacheck"))
    library = command.parent.parent / "lib/librdmacheck.so"
    rdma_core = run("dpkg-query", "-W", "-f", "${Version}", "libibverbs1")[1].split(".")[0]
    packages = run("dpkg-query", "-W", "-f", "${Package} ${Version}, ", "libc6", "libibverbs1", "python3")[1]
    print(f"{packages}kernel {platform.release()}", flush=True)

    page = pathlib.Path("/tmp/page.html")
    leaky = programs / "leaky_echo"
    failed = 0
    for what, words, status, text in [
            ("the command", [command, "--version"], 0, "rdmacheck "),
            ("a program without leaks", [command, "run", "--require-verbs", "--", "ibv_devinfo", "-d", "rxe0"], 0, "rxe0"),
            ("the demo", [command, "run", "--html", page, "--", leaky], 23, "leak-at-close"),
            ("a fault", [command, "run", "--fault", "ibv_alloc_pd", "--", "ibv_rc_pingpong", "-d", "rxe0"], 1, "Couldn't allocate PD"),
            ("pyverbs", [command, "run", "--", sys.executable, "-c", "import pyverbs.device as d; d.get_device_list()"], 0,
             "1 of 1 process called verbs")]:
        got, said = run(*words)
        good = got == status and text in said
        failed += not good
        print(f"ok      {what}" if good else f"DIFFERS {what}: status {got}, not {status}, or without {text!r}\n{said}", flush=True)
    if not page.exists() or "leaky_echo.c" not in page.read_text():
        failed += 1
        print("DIFFERS the page of the demo names no line of leaky_echo.c")

    there = [name for name in sources if name.endswith(".py") or (programs / pathlib.Path(name).stem).exists()]
    for name in sorted(set(sources) - set(there)):
        print(f"left out: {pathlib.Path(name).name}, which was not built")
    scenarios = subprocess.run([sys.executable, str(HERE.parents[2] / "expect/run_scenario.py"), "--library", str(library),
                                "--programs", str(programs), "--fake", "/nowhere", "--on", "device", "--rdma-core", rdma_core,
                                *there]).returncode
    shutil.rmtree(place)
    return 1 if failed or scenarios else 0


sys.exit(main())
