"""Opens a device of the fake libibverbs and leaves protection domains behind, in the ways in which Python calls C."""
import ctypes
import multiprocessing
import os
import signal
import sys
import threading


def verbs_by(loader):
    verbs = loader("libibverbs.so.1")
    for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd"):
        getattr(verbs, name).restype = ctypes.c_void_p
    return verbs


class Worker:
    def __init__(self, verbs):
        self.verbs = verbs
        devices = verbs.ibv_get_device_list(None)
        first = ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[0]
        self.context = ctypes.c_void_p(verbs.ibv_open_device(ctypes.c_void_p(first)))
        verbs.ibv_free_device_list(ctypes.c_void_p(devices))
        self.pds = []

    def register(self):
        self.pds.append(ctypes.c_void_p(self.verbs.ibv_alloc_pd(self.context)))  # @register

    def release(self):
        for pd in self.pds:
            assert self.verbs.ibv_dealloc_pd(pd) == 0
        self.pds.clear()

    def close(self):
        assert self.verbs.ibv_close_device(self.context) == 0


def in_task(worker):
    import asyncio

    async def task():
        await asyncio.sleep(0)
        worker.register()

    async def run():
        await asyncio.gather(task(), task())

    asyncio.run(run())


def in_callback(worker):
    """Python, C (ctypes), Python: two runs of the interpreter."""
    callback = ctypes.PYFUNCTYPE(None)(worker.register)
    ctypes.PYFUNCTYPE(None)(ctypes.cast(callback, ctypes.c_void_p).value)()


def in_exception(worker):
    class Failing:
        def __del__(self):
            worker.register()

    try:
        failing = Failing()
        failing.again = failing  # found by a collection only
        del failing
        raise ValueError("kept")
    except ValueError as error:
        import gc
        gc.collect()
        assert str(error) == "kept"
    assert sys.exc_info() == (None, None, None)


def in_process(method):
    process = multiprocessing.get_context(method).Process(target=main, args=("call",))
    process.start()
    process.join()
    return process.exitcode


def many(worker):
    for _ in range(3000):
        exec(compile("def generated():\n    worker.register()\ngenerated()", "generated.py", "exec"), {"worker": worker})
        worker.release()
    worker.register()


def main(how):
    worker = Worker(verbs_by(ctypes.CDLL if how == "released" else ctypes.PyDLL))
    if how == "thread":
        threads = [threading.Thread(target=worker.register) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    elif how in ("task", "callback", "exception", "many"):
        {"task": in_task, "callback": in_callback, "exception": in_exception, "many": many}[how](worker)
    elif how in ("alloc_in_handler", "alloc_in_child"):
        assert getattr(ctypes.PyDLL(os.environ["HELPER"]), how)(worker.context) == 0
        if how == "alloc_in_child" and os.fork() == 0:
            os._exit(0)
    elif how in ("exit", "killed"):
        worker.register()
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        return
    else:
        worker.register()
        if how == "clean":
            worker.release()
    worker.close()


if __name__ == "__main__":
    if sys.argv[1] in ("fork", "spawn"):
        sys.exit(in_process(sys.argv[1]))
    main(sys.argv[1])
