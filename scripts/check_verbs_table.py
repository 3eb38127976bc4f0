#!/usr/bin/env python3
"""Compares the tables of interpose/ (verbs.def, direct_verbs.def, rdmacm.def) with three things: what rdma-core is known to
have (scripts/verbs_rows.tsv), the libraries that are installed (name and version node of every symbol), and the installed
<infiniband/verbs.h> (which pointer each inline verb jumps through). Prints each difference; exit 1 if there is one.

usage: scripts/check_verbs_table.py [--root DIR]...

--root: also a file tree of another release (scripts/other-roots), with its libraries and, if it is there, its header
"""
import argparse
import glob
import pathlib
import re
import subprocess
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ["interpose/effects/verbs.def", "interpose/effects/direct_verbs.def", "interpose/effects/rdmacm.def"]
LIBRARIES = {"kIbverbs": "libibverbs", "kRdmacm": "librdmacm", "kMlx5": "libmlx5", "kMlx4": "libmlx4", "kEfa": "libefa",
             "kHns": "libhns"}

# Known, and not in a table, for this reason.
EXCEPTIONS = {
    "verbs_open_device": "for providers only; what they open with it comes out of a row (mlx5dv_open_device)",
    "ibv_req_notify_cq": "data path: it makes and releases nothing",
    "rdma_reg_msgs": "inline: the program itself calls ibv_reg_mr",
    "rdma_reg_read": "inline: the program itself calls ibv_reg_mr",
    "rdma_reg_write": "inline: the program itself calls ibv_reg_mr",
    "rdma_dereg_mr": "inline: the program itself calls ibv_dereg_mr",
    "rdma_get_send_comp": "inline: the program itself calls ibv_get_cq_event and ibv_ack_cq_events",
    "rdma_get_recv_comp": "inline: the program itself calls ibv_get_cq_event and ibv_ack_cq_events",
    # Found by their names in a library (see FORGOTTEN).
    "mlx5dv_devx_obj_export": "writes an existing object's numbers down; makes nothing",
    "mlx5dv_devx_umem_export": "writes an existing object's numbers down; makes nothing",
    "mlx5dv_var_export": "writes an existing object's numbers down; makes nothing",
    "mlx5dv_devx_get_event": "its events are not acknowledged",
    "mlx5dv_crypto_login_query": "a query",
    "mlx5dv_crypto_login_query_state": "a query",
    "_mlx5dv_get_export_sizes": "a query",
    "repoll_create": "a descriptor, closed by close(2)",
}
# Inline verbs of the header that jump through a pointer and that no row watches.
UNWATCHED_SLOTS = {
    "ibv_post_send": "data path", "ibv_post_recv": "data path", "ibv_post_srq_recv": "data path",
    "ibv_poll_cq": "data path", "ibv_req_notify_cq": "data path",
    "___ibv_query_port": "a query", "ibv_get_srq_num": "a query", "ibv_query_rt_values_ex": "a query",
    "ibv_query_device_ex": "a query",
}
# A symbol of such a name probably makes or releases something, so it needs a row or an exception.
FORGOTTEN = re.compile(r"(^|_)(create|alloc|open|import|export|reg|rereg|destroy|dealloc|free|close|dereg|unimport|"
                       r"attach|detach|bind|ack|login|logout|get_event|join|leave)(_|$)")


def read_tables():
    rows = {}
    for table in TABLES:
        text = re.sub(r"//[^\n]*", "", (PROJECT / table).read_text())
        for library, version, name in re.findall(r'PLT_VERB\((\w+),\s*"([\w.]+)",\s*(\w+),', text):
            rows.setdefault(name, []).append(("symbol", version, LIBRARIES[library]))
        for name, owner, slot in re.findall(r"SLOT_VERB\((\w+),\s*&(\w+)::(\w+),", text):
            rows.setdefault(name, []).append(("slot", f"{owner}.{slot}", "libibverbs"))
    return rows


def read_known():
    for line in (PROJECT / "scripts/verbs_rows.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            name, how, where, library, release = line.split("\t")
            yield name, how, where, library, int(release)


def find_library(root, library):
    places = ["usr/lib/*-linux-gnu*", "lib/*-linux-gnu*", "usr/lib64", "usr/lib", "lib64", "lib"]
    for place in places:
        for file in sorted(glob.glob(str(root / place / f"{library}.so.1"))):
            return pathlib.Path(file).resolve()
    return None


def release_of(file):
    """libibverbs.so.1.14.44.0 comes with release 44."""
    match = re.search(r"\.so\.1\.\d+\.(\d+)\.\d+$", file.name)
    return int(match[1]) if match else None


def exported(file):
    """name -> its versions; the one that a new program is bound to first."""
    out = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", str(file)], capture_output=True, text=True,
                         check=True).stdout
    symbols = {}
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind == "A" or "@" not in name:
            continue
        name, default, version = re.fullmatch(r"(\w+)@(@?)(.+)", name).groups()
        if default:
            symbols.setdefault(name, []).insert(0, version)
        else:
            symbols.setdefault(name, []).append(version)
    return symbols


def inline_slots(header):
    """name of an inline function of verbs.h -> the pointers of the context that it calls through."""
    slots = {}
    for body in re.finditer(r"^static inline\b([^;{]*?)(\w+)\s*\(([^;{]*)\)\s*\{(.*?)^\}", header.read_text(), re.M | re.S):
        found = [f"verbs_context.{slot}" for slot in re.findall(r"\bvctx->(\w+)\(", body[4])]
        found += [f"ibv_context_ops.{slot}" for slot in re.findall(r"->ops\.(\w+)\(", body[4])]
        if found:
            slots[body[2]] = found
    return slots


def against_known(rows):
    known = set()
    for name, how, where, library, _ in read_known():
        known.add(name)
        if name in EXCEPTIONS:
            if name in rows:
                yield f"{name} has a row and an exception ({EXCEPTIONS[name]})"
        elif name not in rows:
            yield f"{name} ({how} {where} of {library}) has neither a row nor an exception"
        elif (how, where, library) not in rows[name]:
            yield f"{name} is {how} {where} of {library}; the table says {rows[name]}"
    for name, ways in rows.items():
        if len(ways) > 1:
            yield f"{name} has {len(ways)} rows"
        if name not in known:
            yield f"{name} has a row, and no line in scripts/verbs_rows.tsv"


def against_root(rows, root, needed):
    releases = {name: release for name, _, _, _, release in read_known()}
    seen = 0
    for library in LIBRARIES.values():
        file = find_library(root, library)
        if file is None:
            if library in needed:
                yield f"no {library}.so.1 below {root}"
            continue
        seen += 1
        release = release_of(file)
        symbols = exported(file)
        for name, ways in rows.items():
            for how, version, owner in ways:
                if how != "symbol" or owner != library:
                    continue
                if name in symbols and symbols[name][0] != version:
                    yield f"{file}: {name}@@{symbols[name][0]}; the table says {version}"
                if name not in symbols and release and releases.get(name, 1) <= release:
                    yield f"{file}: has no {name}, which the table expects since release {releases.get(name, 1)}"
                if name in symbols and release and releases.get(name, 1) > release:
                    yield f"{file}: has {name} already in release {release}; scripts/verbs_rows.tsv says {releases[name]}"
        for name in symbols:
            public = any("PRIVATE" not in version for version in symbols[name])
            if public and FORGOTTEN.search(name) and name not in rows and name not in EXCEPTIONS:
                yield f"{file}: {name}@@{symbols[name][0]} has neither a row nor an exception"
    header = root / "usr/include/infiniband/verbs.h"
    if header.exists():
        slots = inline_slots(header)
        if len(slots) < 30:
            yield f"{header}: only {len(slots)} inline verbs understood"
        for name, ways in rows.items():
            for how, slot, _ in ways:
                if how == "slot" and name in slots and slot not in slots[name]:
                    yield f"{header}: {name} calls through {' '.join(slots[name])}; the table says {slot}"
                if how == "slot" and name not in slots and root == pathlib.Path("/"):
                    yield f"{header}: no inline {name} that calls through {slot}"
        for name, found in slots.items():
            if name not in rows and name not in UNWATCHED_SLOTS:
                yield f"{header}: {name} calls through {' '.join(found)} and has no row"
    elif root == pathlib.Path("/"):
        yield f"no {header}"
    print(f"{root}: {seen} libraries{', ' + str(len(slots)) + ' inline verbs' if header.exists() else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", action="append", default=[], type=pathlib.Path, metavar="DIR")
    roots = parser.parse_args().root
    rows = read_tables()
    print(f"{sum(map(len, rows.values()))} rows")
    failed = 0
    checks = [against_known(rows), against_root(rows, pathlib.Path("/"), {"libibverbs", "librdmacm", "libmlx5"})]
    checks += [against_root(rows, root, {"libibverbs"}) for root in roots]
    for check in checks:
        for difference in check:
            print(difference)
            failed = 1
    return failed


sys.exit(main())
