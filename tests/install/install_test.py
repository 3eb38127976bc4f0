#!/usr/bin/env python3
"""What `cmake --install` leaves: the files of the contract, in a folder that was moved afterwards.

usage: install_test.py BUILD SOURCE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

FILES = ["bin/rdmacheck", "lib/librdmacheck.so", "lib/librdmafault.so", "include/rdmacheck/rdmacheck.h",
         "libexec/rdmacheck/rxe-vm", "share/rdmacheck/suppressions", "lib/pkgconfig/rdmacheck.pc",
         "lib/cmake/rdmacheck/rdmacheckConfig.cmake", "lib/cmake/rdmacheck/rdmacheck_add_test.cmake",
         "share/doc/rdmacheck/README.md", "share/man/man1/rdmacheck.1", "share/man/man7/librdmacheck.7"]
DEBUG = ["bin/.debug/rdmacheck.debug", "lib/.debug/librdmacheck.so.debug", "lib/.debug/librdmafault.so.debug"]
USER = """cmake_minimum_required(VERSION 3.18)
project(user C)
enable_testing()
find_package(rdmacheck REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE rdmacheck::rdmacheck)
rdmacheck_add_test(NAME leaks COMMAND SUBJECT open pd close)
rdmacheck_add_test(NAME clean COMMAND SUBJECT open pd free close)
rdmacheck_add_test(NAME no_verbs REQUIRE_VERBS COMMAND user)
"""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def must(done, status=0):
    assert done.returncode == status, f"{done.args}: {done.returncode}\n{done.stdout}"
    return done.stdout


def main():
    build, source = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    subject = build / "tests/cli/subject"
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        must(run("cmake", "--install", build, "--prefix", work / "first"))
        prefix = work / "moved here"
        (work / "first").rename(prefix)
        missing = [name for name in FILES + DEBUG if not (prefix / name).is_file()]
        assert not missing, missing

        for name in FILES[:3]:
            data = (prefix / name).read_bytes()
            assert str(source).encode() not in data, f"{name} says where it was built"
            sections = must(run("readelf", "-SW", prefix / name))
            assert ".gnu_debuglink" in sections and ".debug_info" not in sections, f"{name} is not stripped"

        environment = dict(os.environ, LD_LIBRARY_PATH=str(build / "tests/fake/lib"))
        command = prefix / "bin/rdmacheck"
        leak = must(run(command, "run", "--", subject, "open", "pd", "close", env=environment), 23)
        assert "leak-at-close" in leak and "make_pd subject.c:" in leak, leak
        sweep = run(command, "run", "--sweep", "--", subject, "open", "pd", "free", "close", env=environment).stdout
        assert "5 of 5 calls made to fail" in sweep, sweep

        flags = must(run("pkg-config", "--cflags", "rdmacheck",
                         env=dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"))))
        assert "include" in flags, flags

        user = work / "user"
        user.mkdir()
        (user / "CMakeLists.txt").write_text(USER.replace("SUBJECT", f'"{subject}"'))
        (user / "user.c").write_text("#include <rdmacheck/rdmacheck.h>\nint main(void) { return rdmacheck_check_now(); }\n")
        must(run("cmake", "-S", user, "-B", user / "b", f"-DCMAKE_PREFIX_PATH={prefix}"))
        must(run("cmake", "--build", user / "b"))
        tests = run("ctest", "--test-dir", user / "b", env=environment).stdout
        for name, result in ("leaks", "Failed"), ("clean", "Passed"), ("no_verbs", "Failed"):
            assert any(f" {name} ." in line and result in line for line in tests.splitlines()), tests


main()
