#!/usr/bin/env python3
"""Faults on the soft device, in a guest whose kernel has the helper module: a device that is lost for real and one whose
loss is simulated, side by side, and the tutorial's program under a sweep.

usage: faults.py BUILD_FOLDER SOURCE_FOLDER [TEST]...
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
COMMAND = str(BUILD / "rdmacheck")
LOST = str(BUILD / "tests/device/faults/lost")


def run(*command, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("RDMACHECK", "RDMAV", "LD_PRELOAD"))}
    env.update(more)
    return subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, timeout=300, stdin=subprocess.DEVNULL)


class Removal(unittest.TestCase):
    def simulated(self, how, kernel="modern", **more):
        return run(COMMAND, "run", "--fault", f"disassociate=signal:USR1:device=rxe0:kernel={kernel}", "--", LOST, "simulated", how, **more)

    def test_simulated_is_as_real(self):
        for variables in ({}, {"RDMAV_ALLOW_DISASSOC_DESTROY": "1"}):
            real = run(LOST, "real", "release", **variables)
            self.assertEqual(real.returncode, 0, real.stderr)
            simulated = self.simulated("release", **variables)
            self.assertEqual(simulated.stdout, real.stdout, simulated.stderr + real.stderr)
            self.assertEqual(simulated.returncode, 0, simulated.stderr)
            self.assertIn("asynchronous event: 0 local catastrophic error", real.stdout)
            self.assertIn("objects of the kernel: 0", simulated.stdout)

    def test_the_asynchronous_event_comes_first(self):
        self.assertIn("first: asynchronous", self.simulated("release").stderr)

    def test_an_old_kernel_refuses_destroys(self):
        done = self.simulated("release", kernel="4.18")
        for call in ("destroy_qp", "destroy_srq", "destroy_cq", "dereg_mr", "dealloc_pd"):
            self.assertIn(f"{call}: EIO\n", done.stdout)
        self.assertIn("alive-after-device-loss", done.stderr)
        self.assertIn("injected fault: disassociate=signal:USR1:device=rxe0:kernel=4.18 (rxe0 lost)", done.stderr)
        self.assertNotIn("leak-at-close", done.stderr)

    def test_unless_the_variable_forgives_it(self):
        done = self.simulated("release", kernel="4.18", RDMAV_ALLOW_DISASSOC_DESTROY="1")
        for call in ("destroy_qp", "destroy_srq", "destroy_cq", "dereg_mr", "dealloc_pd", "close_device"):
            self.assertIn(f"{call}: 0\n", done.stdout)
        self.assertNotIn("alive-after-device-loss", done.stderr)

    def test_a_thread_in_a_get_meanwhile_is_a_race(self):
        done = self.simulated("race", kernel="4.18", RDMAV_ALLOW_DISASSOC_DESTROY="1")
        self.assertIn("event-destroy-race", done.stderr)
        self.assertEqual(done.returncode, 23, done.stderr)
        self.assertNotIn("event-destroy-race", self.simulated("race", kernel="4.18").stderr)

    def test_what_is_left_is_no_leak(self):
        done = self.simulated("leave")
        self.assertIn("alive-after-device-loss", done.stderr)
        self.assertNotIn("leak-at-close", done.stderr)

    def test_the_kernels_objects_are_gone_with_the_process(self):
        self.simulated("release", kernel="4.18")
        listed = run("rdma", "resource", "show", "qp").stdout
        self.assertNotIn("comm lost", listed)


class Tutorial(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rdmacheck-faults-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def sweep(self, program):
        return run(COMMAND, "run", "--sweep", "--", BUILD / "tests/device/faults" / program)

    def test_the_planted_leak_is_found(self):
        done = self.sweep("leaky_echo")
        self.assertEqual(done.returncode, 23, done.stdout + done.stderr)
        leaks = re.findall(r"^(\w+) #\d+ .* LEAKS (.*)$", done.stdout, re.M)
        self.assertEqual([verb for verb, _ in leaks], ["ibv_create_cq", "ibv_reg_mr", "ibv_create_qp"])
        self.assertIn("1 mr of register_messages leaky_echo.c:", leaks[-1][1])
        self.assertNotIn("ibv_reg_mr_iova2", done.stdout)  # libibverbs jumps there from ibv_reg_mr

    def test_the_fixed_variant_has_nothing(self):
        done = self.sweep("fixed_echo")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotRegex(done.stdout, "LEAKS|HANGS|CRASHES|open at exit")


if __name__ == "__main__":
    unittest.main()
