#!/usr/bin/env python3
"""Runs well-known verbs programs on the soft device, without the library and with it, and compares: the same exit status,
the same output but for numbers, and not a word of ours, but for the faults that some of them do have (FAULTS). To be run beside a device: scripts/rxe-vm -- .../run_peers.py LIB

usage: run_peers.py LIBRARY [NAME]...
"""
import os
import re
import subprocess
import sys
import tempfile
import time

ADDRESS = "10.77.0.1"
VERBS = ["-d", "rxe0", "-g", "1"]
PERFTEST = ["-d", "rxe0", "-x", "1", "-F", "-n", "200", "-s", "1024"]
PYTHON = "/usr/bin/python3"
PYVERBS = """
import sys, pyverbs.device as device
from pyverbs.pd import PD
from pyverbs.mr import MR
from pyverbs.cq import CQ
import pyverbs.enums as e
context = device.Context(name="rxe0")
pd = PD(context)
mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
cq = CQ(context, 16)
print(context.name, mr.length if hasattr(mr, "length") else 4096, cq.cqe >= 16)
if sys.argv[1] == "close":
    cq.close(); mr.close(); pd.close(); context.close()
"""

# name: (server, client or None, how to see that the server waits: "tcp", "cm" or "soon"; with a "!" behind it the server
# never ends by itself, and is ended)
PEERS = {
    "ibv_devices": (["ibv_devices"], None, None),
    "ibv_devinfo": (["ibv_devinfo", "-v"], None, None),
    "ibv_devinfo of no such device": (["ibv_devinfo", "-d", "nosuch0"], None, None),
    "pyverbs, closing": ([PYTHON, "-c", PYVERBS, "close"], None, None),
    "pyverbs, leaving it to Python": ([PYTHON, "-c", PYVERBS, "leave"], None, None),
    "ibv_asyncwatch of no such device": (["ibv_asyncwatch", "-d", "nosuch0"], None, None),
}
for name in ["rc", "uc", "ud", "srq"]:
    program = [f"ibv_{name}_pingpong", *VERBS]
    PEERS[f"ibv_{name}_pingpong"] = (program, [*program, ADDRESS], "tcp")
    PEERS[f"ibv_{name}_pingpong -e"] = ([*program, "-e"], [*program, "-e", ADDRESS], "tcp")
PEERS["ibv_rc_pingpong without a server"] = (["ibv_rc_pingpong", *VERBS, ADDRESS], None, None)
PEERS["ibv_xsrq_pingpong, which the device cannot"] = (["ibv_xsrq_pingpong", *VERBS], None, None)
for name in ["ib_send_bw", "ib_write_lat", "ib_read_bw"]:
    PEERS[name] = ([name, *PERFTEST], [name, *PERFTEST, ADDRESS], "tcp")
PEERS["ib_send_bw -e"] = (["ib_send_bw", *PERFTEST, "-e"], ["ib_send_bw", *PERFTEST, "-e", ADDRESS], "tcp")
PEERS["ib_send_bw -R"] = (["ib_send_bw", *PERFTEST, "-R"], ["ib_send_bw", *PERFTEST, "-R", ADDRESS], "cm")
PEERS["rping"] = (["rping", "-s", "-a", ADDRESS, "-C", "5", "-v"], ["rping", "-c", "-a", ADDRESS, "-C", "5", "-v"], "cm")
for name in ["ucmatose", "udaddy"]:
    PEERS[name] = ([name, "-b", ADDRESS], [name, "-s", ADDRESS], "cm")
PEERS["rdma_client"] = (["rdma_server", "-p", "7471"], ["rdma_client", "-s", ADDRESS, "-p", "7471"], "cm")
PEERS["rstream"] = (["rstream", "-b", ADDRESS, "-S", "1000", "-C", "10", "-I", "5"],
                    ["rstream", "-s", ADDRESS, "-S", "1000", "-C", "10", "-I", "5"], "cm")
PEERS["riostream"] = (["riostream", "-b", ADDRESS, "-S", "1000", "-C", "10", "-I", "5"],
                      ["riostream", "-s", ADDRESS, "-S", "1000", "-C", "10", "-I", "5"], "cm")
PEERS["rdma_xserver"] = (["rdma_xserver", "-p", "7475"], ["rdma_xclient", "-s", ADDRESS, "-p", "7475"], "cm")
PEERS["rdma_xclient, XRC, which the device cannot"] = (["rdma_xclient", "-c", "x", "-s", ADDRESS], None, None)
PEERS["rcopy"] = (["rcopy"], ["rcopy", "/usr/bin/true", ADDRESS + ":/tmp/copied"], "cm!")
PEERS["cmtime"] = (["cmtime", "-b", ADDRESS, "-c", "10"], ["cmtime", "-s", ADDRESS, "-c", "10"], "cm!")
MCKEY = ["mckey", "-m", "239.1.2.3", "-b", ADDRESS, "-C", "5", "-S", "64"]
PEERS["mckey"] = (MCKEY, [*MCKEY, "-s"], "soon")
FIO = ["fio", "--ioengine=rdma", "--port=7476", "--bs=4k", "--size=64k", "--iodepth=4", "--minimal"]
for name in ["write", "read"]:
    PEERS[f"fio, {name}"] = ([*FIO, "--name=server", "--rw=read"],
                             [*FIO, "--name=client", "--rw=write", f"--hostname={ADDRESS}", f"--verb={name}"], "cm")

# What these programs do wrong, each looked up in the source of the version that Debian 12 has (rdma-core 44.0, perftest
# 4.5, fio 3.33); (name, role): the rules that say so.
FAULTS = {
    # asyncwatch.c: main() returns 1 on "not found" and has no ibv_free_device_list at all.
    ("ibv_asyncwatch of no such device", "program"): {"device-list-leak"},
    # rc_pingpong.c: `if (!rem_dest) return 1;` in main(), before pp_close_ctx() and ibv_free_device_list().
    ("ibv_rc_pingpong without a server", "program"): {"device-list-leak", "open-at-exit"},
    # xsrq_pingpong.c: open_device() frees its list; pp_init_ctx() returns 1 where ibv_open_xrcd fails, and main() with it,
    # before pp_close_ctx(): the context (and what was made on it) stays.
    ("ibv_xsrq_pingpong, which the device cannot", "program"): {"open-at-exit"},
    # The listening rsocket (lrs in rstream.c and riostream.c) is closed on error paths only.
    ("rstream", "server"): {"open-at-exit"},
    ("riostream", "server"): {"open-at-exit"},
    # cmtime.c gives every rdma_create_qp the same init_qp_attr, into which the first call writes the CQs that it made:
    # those of all others hang on the first id's CQs, which its rdma_destroy_qp then cannot destroy and forgets.
    # Its client destroys the event channel in which the thread that it started, and never joins, waits for events.
    ("cmtime", "client"): {"busy-destroy", "destroyed-under-waiter"},
    ("cmtime", "server"): {"busy-destroy"},
    # rping.c and mckey.c: cm_thread (cma_thread) waits in rdma_get_cm_event forever; main() destroys the channel under it.
    ("rping", "client"): {"destroyed-under-waiter"},
    ("rping", "server"): {"destroyed-under-waiter"},
    ("mckey", "client"): {"destroyed-under-waiter"},
    ("mckey", "server"): {"destroyed-under-waiter"},
    # fio's engines/rdma.c: rdma_poll_wait() takes one event and acks as many as there were completions;
    # fio_rdmaio_close_file() destroys the CQ before its QP, and never the MR. Its workers are forked and end by _exit.
    ("fio, write", "client"): {"over-acked-events", "busy-destroy"},
    ("fio, read", "client"): {"over-acked-events", "busy-destroy"},
}
for name in PEERS:
    if name.startswith("ib_"):
        # perftest's ctx_find_dev() never frees the device list.
        FAULTS[name, "client"] = {"device-list-leak"}
        FAULTS[name, "server"] = {"device-list-leak"}
# perftest 4.5 gives the client of a one-way send test a receive CQ, and destroys it only if there is a channel.
FAULTS["ib_send_bw", "client"].add("leak-at-close")
# With rdma_cm it makes a channel, an id and a CQ more than it releases, and never closes the context that it opened first.
for role in ["client", "server"]:
    FAULTS["ib_send_bw -R", role] |= {"cm-channel-leak", "open-at-exit"}
# Of these an error counts for the exit status.
FAULTY_STATUS = {("cmtime", "client")}
ERRORS = {"leak-at-close"}


def listens(how):
    if how == "cm":
        return "LISTEN" in subprocess.run(["rdma", "resource", "show", "cm_id"], capture_output=True, text=True).stdout
    with open("/proc/net/tcp") as v4, open("/proc/net/tcp6") as v6:
        return any(line.split()[3] == "0A" for line in [*v4.readlines()[1:], *v6.readlines()[1:]])


def finish(process, files, end=False):
    try:
        if end:
            time.sleep(0.5)  # what the client has ended, the server may still be seeing to
            process.terminate()
        status = process.wait(timeout=40)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        status = "did not end"
    texts = []
    for file in files:
        file.seek(0)
        texts.append(file.read().decode(errors="replace"))
    return status, *texts


def start(command, environment):
    files = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=files[0], stderr=files[1], env=environment), files


def run(peers, environment):
    """[(role, status, stdout, stderr)]"""
    server_command, client_command, how = peers
    for_ever, how = how is not None and how.endswith("!"), how and how.rstrip("!")
    while how in ("tcp", "cm") and listens(how):
        time.sleep(0.05)
    server = start(server_command, environment)
    results = []
    if client_command:
        deadline = time.monotonic() + 20
        if how == "soon":
            time.sleep(1)
        while how != "soon" and not listens(how) and server[0].poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        results.append(("client", *finish(*start(client_command, environment))))
    results.append(("server" if client_command else "program", *finish(*server, for_ever)))
    return results


def normal(text):
    """Without numbers, and without how wide a table's columns come out."""
    # perftest measures the processor's clock, and says so if it is unsteady.
    text = re.sub(r"^Correlation coefficient.*\n?", "", text, flags=re.M)
    text = re.sub(r"-?\b(inf|nan)\b", "0", text)
    text = re.sub(r"[0-9a-fA-FxX:.]*\d[0-9a-fA-FxX:.]*", "N", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines()).strip()


def without_report(text):
    """(the text without our report, the rules that the report names)"""
    rest, rules, ours = [], set(), False
    for line in text.splitlines():
        match = re.match(r"==\d+==[A-Z]+: rdmacheck: ([a-z-]+):", line)
        ours = bool(match) or (ours and line.startswith("  "))
        if match:
            rules.add(match[1])
        elif rules and re.match(r"==\d+==rdmacheck: functions shown as \?\? have no symbols", line):
            continue  # Debian's programs are stripped, which is said once
        elif re.match(r"==\d+==rdmacheck: [a-z-]+: \d+ more not shown: ", line):
            continue
        elif not ours and not line.startswith("SUMMARY: rdmacheck:"):
            rest.append(line)
    return "\n".join(rest), rules


def main():
    library, *only = sys.argv[1:]
    plain = {name: value for name, value in os.environ.items() if name not in {"LD_PRELOAD", "RDMACHECK_OPTIONS"}}
    # The kernel is asked too: what is made past us would be a finding that nobody expects.
    preloaded = {**plain, "LD_PRELOAD": library, "RDMACHECK_OPTIONS": "verify=kernel"}
    failed = 0
    for name, peers in PEERS.items():
        if only and name not in only:
            continue
        started = time.monotonic()
        without, between = run(peers, plain), time.monotonic()
        with_library, ended = run(peers, preloaded), time.monotonic()
        complaints = []
        for (role, status, *before), (_, status_now, *after) in zip(without, with_library):
            expected = FAULTS.get((name, role), set())
            own_stderr, found = without_report(after[1])
            texts = [after[0], own_stderr]
            if found != expected:
                complaints.append(f"{role}: findings {sorted(found)}, expected {sorted(expected)}")
            if status_now != (23 if status == 0 and (expected & ERRORS or (name, role) in FAULTY_STATUS) else status):
                complaints.append(f"{role}: status {status} without, {status_now} with the library")
            for stream, old, new in zip(["stdout", "stderr"], before, texts):
                if "rdmacheck" in new:
                    complaints.append(f"{role}: {stream} has words of ours")
                elif normal(old) != normal(new):
                    complaints.append(f"{role}: {stream} differs; without the library:\n{old}")
            if complaints:
                complaints.append(f"{role} with the library, stdout:\n{after[0]}\nstderr:\n{after[1]}")
        statuses = " ".join(str(result[1]) for result in without)
        print(f"{'FAILED' if complaints else 'ok':6} {name} (status {statuses}; {between - started:.1f} s, "
              f"with the library {ended - between:.1f} s)", flush=True)
        for complaint in complaints:
            print("  " + complaint.replace("\n", "\n  "))
            failed = 1
    return failed


sys.exit(main())
