#!/usr/bin/env python3
"""Each row of rdmacm.def has its pair on the soft device: a run of a scenario that reports what it left, and a passing variant
that is quiet. The pairs are listed here; that a row lacks one, or names what is not there, fails.

    check_cm_rows.py [--list]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "expect"))
from run_scenario import parse  # noqa: E402

# row: (scenario, the words of the run that is reported, those of the quiet one)
PAIRS = {
    "rdma_create_event_channel": ("cm_channel_leak", "channel", "clean"),
    "rdma_destroy_event_channel": ("cm_id_leak", "leak", "clean"),
    "rdma_get_cm_event": ("cm_addr_error", "unacked", "acked"),
    "rdma_ack_cm_event": ("cm_unacked_event", "channel", "acked"),
    "rdma_create_id": ("cm_rejected_ids", "kept", "clean"),
    "rdma_destroy_id": ("cm_qp_left", "left", "before"),
    "rdma_migrate_id": ("cm_migrate", "leak", "clean"),
    "rdma_create_ep": ("cm_endpoint", "ep", "clean"),
    "rdma_destroy_ep": ("cm_endpoint", "listener", "clean"),
    "rdma_get_request": ("cm_endpoint", "request", "clean"),
    "rdma_create_qp": ("cm_qp_left", "left", "after"),
    "rdma_create_qp_ex": ("cm_queues", "qp_ex left", "qp_ex clean"),
    "rdma_destroy_qp": ("cm_queues", "qp_ex left", "qp_ex clean"),
    "rdma_create_srq": ("cm_queues", "srq left", "srq clean"),
    "rdma_create_srq_ex": ("cm_queues", "srq_ex left", "srq_ex clean"),
    "rdma_destroy_srq": ("cm_queues", "srq left", "srq clean"),
    "rdma_join_multicast": ("cm_multicast", "joined", "clean"),
    "rdma_join_multicast_ex": ("cm_multicast", "joined ex", "clean ex"),
    "rdma_leave_multicast": ("cm_multicast", "joined", "clean"),
    "rdma_get_devices": ("cm_queues", "devices left", "devices clean"),
    "rdma_free_devices": ("cm_queues", "devices left", "devices clean"),
    "rsocket": ("cm_rsocket", "calling", "clean"),
    "raccept": ("cm_rsocket", "accepted", "clean"),
    "rclose": ("cm_rsocket", "listening", "clean"),
}
for step in ("bind_addr", "resolve_addr", "resolve_route", "listen", "connect", "accept", "reject", "disconnect", "establish"):
    PAIRS["rdma_" + step] = ("cm_failed_step", step + " left", step + " clean")
# These make memory only, which is counted and never told (the run with "addrinfo"): the pair is of counts.
COUNTED = {
    "rdma_getaddrinfo": ("cm_endpoint", "addrinfo", "clean"),
    "rdma_freeaddrinfo": ("cm_endpoint", "addrinfo", "clean"),
}


def fault_of(row, scenario, told, quiet, counted):
    source = ROOT / "tests" / "scenario" / f"{scenario}.c"
    if not source.exists():
        return f"no scenario {scenario}"
    runs, _, text = parse(source, "device")
    header = (source.parent / "cm_scenario.h").read_text()
    if not re.search(rf"\b{row}\(", text + header):
        return f"{scenario} does not call it"
    for words, wanted in ((told, r"EXPECT(-ALSO)? (ERROR|WARNING) "), (quiet, r"EXPECT-NOTHING ")):
        fitting = [run for run in runs if run.args == words]
        if not fitting:
            return f"{scenario} has no run with the words '{words}'"
        if counted and words == told:
            wanted = r"EXPECT-JSON summary.kinds.\w+.alive == [1-9]"
        if not any(re.match(wanted, f"{what} {text} ") for run in fitting for what, text, _ in run.checks):
            return f"{scenario} {words}: expects nothing of the form {wanted}"
    return None


def main():
    table = (ROOT / "interpose" / "effects" / "rdmacm.def").read_text()
    rows = re.findall(r'^PLT_VERB\(kRdmacm, "[^"]*", (\w+),', table, re.M)
    every = {**PAIRS, **COUNTED}
    faults = [f"{row}: no pair" for row in rows if row not in every]
    faults += [f"{row}: not in rdmacm.def" for row in every if row not in rows]
    for row, pair in every.items():
        fault = fault_of(row, *pair, row in COUNTED)
        if fault:
            faults.append(f"{row}: {fault}")
        if "--list" in sys.argv:
            print(f"{row}: {pair[0]}, '{pair[1]}' and '{pair[2]}'")
    print("\n".join(faults) or f"{len(rows)} rows of librdmacm, each with its pair")
    return 1 if faults or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
