"""Nanoseconds of an ibv_alloc_pd and ibv_dealloc_pd pair called from Python with 3 and 14 frames of Python.

LD_LIBRARY_PATH=build/tests/fake/lib LD_PRELOAD=build/librdmacheck.so RDMACHECK_OPTIONS=python=0 python3 tests/python/cost.py
"""
import ctypes
import time

ROUNDS, PAIRS = 15, 3000

verbs = ctypes.PyDLL("libibverbs.so.1")
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd"):
    getattr(verbs, name).restype = ctypes.c_void_p
devices = verbs.ibv_get_device_list(None)
context = ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[0])))
verbs.ibv_free_device_list(ctypes.c_void_p(devices))


def pairs_below(frames):
    if frames > 0:
        return pairs_below(frames - 1)
    start = time.perf_counter()
    for _ in range(PAIRS):
        verbs.ibv_dealloc_pd(ctypes.c_void_p(verbs.ibv_alloc_pd(context)))
    return (time.perf_counter() - start) / PAIRS


for depth in (3, 14):
    print(f"{depth} frames: {min(pairs_below(depth - 2) for _ in range(ROUNDS)) * 1e9:.0f} ns")  # two frames are there
verbs.ibv_close_device(context)
