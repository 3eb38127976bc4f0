"""The tests of a user, one of which leaves a protection domain behind. users.py runs them with docs/ci/conftest.py."""
import ctypes

VERBS = ctypes.CDLL("libibverbs.so.1", use_errno=True)
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd"):
    getattr(VERBS, name).restype = ctypes.c_void_p
DEVICES = ctypes.c_void_p(VERBS.ibv_get_device_list(None))
CONTEXT = ctypes.c_void_p(VERBS.ibv_open_device(ctypes.c_void_p.from_address(DEVICES.value)))
VERBS.ibv_free_device_list(DEVICES)


def test_releases():
    pd = ctypes.c_void_p(VERBS.ibv_alloc_pd(CONTEXT))
    assert VERBS.ibv_dealloc_pd(pd) == 0


def test_leaves_one():
    assert VERBS.ibv_alloc_pd(CONTEXT)


def test_releases_after_another_has_left_one():
    test_releases()
