# A Python extension: libibverbs comes in by ctypes, which dlopens it RTLD_LOCAL and asks for each name.
# RUN: on=both args="leak" exit=23
# EXPECT: ERROR leak-at-close: ibv_close_device({{\w+}}) leaves 1 object alive: 1 pd
# EXPECT-OUT: closed
# EXPECT-FILES: 1
# SAME-OUTPUT
#
# RUN: on=both args="clean" options="strict=1" exit=0
# EXPECT-NOTHING
# SAME-OUTPUT
#
# RUN: on=both args="exit" options="strict=1" exit=23
# EXPECT: ERROR open-at-exit: 2 objects are still open when the process ends: 1 context, 1 pd
import ctypes
import sys

verbs = ctypes.CDLL("libibverbs.so.1")
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd"):
    getattr(verbs, name).restype = ctypes.c_void_p
devices = verbs.ibv_get_device_list(None)
first = ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[0]
context = ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(first)))
verbs.ibv_free_device_list(ctypes.c_void_p(devices))
pd = ctypes.c_void_p(verbs.ibv_alloc_pd(context))
if sys.argv[1] == "clean" and verbs.ibv_dealloc_pd(pd) != 0:
    sys.exit(99)
if sys.argv[1] != "exit" and verbs.ibv_close_device(context) != 0:
    sys.exit(98)
print("no ibv_make_coffee" if not hasattr(verbs, "ibv_make_coffee") else "coffee")
print("closed")
