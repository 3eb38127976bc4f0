"""For pytest: a test that leaves verbs objects behind, or makes rdmacheck report an error, fails.

Put it beside the tests, and run `rdmacheck run -- python3 -m pytest`. Without the library it does nothing.
"""
import ctypes
import gc

import pytest

LIBRARY = ctypes.CDLL(None)
ACTIVE = hasattr(LIBRARY, "rdmacheck_growth_begin")


@pytest.fixture(autouse=True)
def no_verbs_objects_left():
    if not ACTIVE:
        yield
        return
    gc.collect()  # what earlier tests have let go is not this test's
    errors = LIBRARY.rdmacheck_check_now()
    checkpoint = LIBRARY.rdmacheck_growth_begin()
    yield
    gc.collect()
    left = LIBRARY.rdmacheck_growth_end(checkpoint)
    errors = LIBRARY.rdmacheck_check_now() - errors
    if left > 0 or errors > 0:
        pytest.fail(f"rdmacheck: {left} verbs objects left alive, {errors} errors reported: see standard error")
