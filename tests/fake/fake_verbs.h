// The fake libibverbs.so.1 as a test sees it: knobs, events on demand and counters.
//
// Any program runs on it, unchanged, with LD_LIBRARY_PATH naming a directory below tests/fake/ of the build tree:
//   lib/    IBVERBS_1.0 to 1.18 as in rdma-core 65, with libmlx5, libmlx4, libefa and libhns beside it
//   lib44/  to 1.14 as in rdma-core 44 to 58, with libmlx5 to MLX5_1.24; lib56/ is the same
//   lib62/  to 1.16 as in rdma-core 62
// A destroy or an ack of a dead handle that gets here aborts with "fake: destroy of a dead handle reached libibverbs"
// (certain with FAKE_KEEP=1, else as long as the memory was not used again); any other use of one returns EINVAL.
//
// To use the functions below, link with the target fake_ibverbs, or define FAKE_WEAK and run on either library: then
// every fake_* is null on the real one. A name of a verb is its public C name ("ibv_alloc_mw" too, although programs
// reach it through a slot); the old flow slots are "ABI_placeholder1" and "ABI_placeholder2". An unknown name aborts: a
// test with a typing error must not pass.
//
// The environment arms the same knobs in a program that knows nothing of this file:
//   FAKE_FAIL="ibv_create_qp=ENOMEM:2,ibv_destroy_qp@3=EBUSY,ibv_alloc_pd=stale"
//               verb[@nth call][=errno][:how many times, * forever]; "stale" returns NULL and leaves errno alone
//   FAKE_DELAY="ibv_destroy_cq=50,..."   milliseconds at the start of each call
//   FAKE_DEVICES=n      0 to 8, default 1: fake0, fake1, ...
//   FAKE_SZ=n           verbs_context::sz, as on x86-64 (fake::SzHere). What lies before is an unmapped page. Default 648,
//                       or 696 in lib/
//   FAKE_NULL_SLOTS=a,b fields of verbs_context and ibv_context_ops that are left null
//   FAKE_LAX=1          a destroy succeeds although children live (a driver that keeps no counts)
//   FAKE_KEEP=1         dead objects stay readable and no address is handed out twice
//   FAKE_OLD_KERNEL=1   after fake_device_fatal() every destroy returns EIO, as kernels before 4.19 did
//   FAKE_COPY_ON_FORK=1 the kernel copies DMA pages at fork: ibv_is_fork_initialized() says IBV_FORK_UNNEEDED
//   FAKE_VERBOSE=1      says at load time that this is the fake libibverbs
// RDMAV_ALLOW_DISASSOC_DESTROY and MLX4_DEVICE_FATAL_CLEANUP are read at the first ibv_get_device_list(), as the real
// library does.
//
// All functions may be called from any thread.
#pragma once

#include <infiniband/verbs.h>
#include <stdint.h>

#ifdef FAKE_WEAK
#define FAKE_API __attribute__((weak))
#else
#define FAKE_API
#endif

// As err: the call returns NULL (or -1) and errno keeps what it had, as drivers before rdma-core 65 may do.
#define FAKE_STALE_ERRNO (-1)

#ifdef __cplusplus
extern "C" {
#endif

// The next `times` calls of the verb fail with err; a negative `times` means until fake_reset().
FAKE_API void fake_fail_next(const char* verb, int err, int times);
// As above, but the next `skip` calls still succeed.
FAKE_API void fake_fail_after(const char* verb, uint64_t skip, int err, int times);
FAKE_API void fake_delay(const char* verb, unsigned milliseconds);

// A latch: callers of the verb wait at its start (fake_block) or, with their work done, before its return
// (fake_block_return: the address of a destroyed object is free again, the caller does not know yet).
FAKE_API void fake_block(const char* verb);
FAKE_API void fake_block_return(const char* verb);
// As fake_block, but the callers wait awake, in no system call.
FAKE_API void fake_spin(const char* verb);
FAKE_API void fake_unblock(const char* verb);
// How many threads stand inside the verb: at a latch, in read(2) for an event, or waiting for acks.
FAKE_API int fake_waiters(const char* verb);
// Returns 0 once that many threads stand there, -1 after ten seconds.
FAKE_API int fake_await_waiters(const char* verb, int count);

// How often the verb was reached, through a symbol or a slot, since the process started or the last fake_reset().
FAKE_API uint64_t fake_calls(const char* verb);
// How often its @IBVERBS_1.0 entry was reached.
FAKE_API uint64_t fake_compat_calls(const char* verb);
// Objects alive: "pd", "mr", "qp", ... as spelt in fake_names.def.
FAKE_API int64_t fake_live(const char* kind);

// All return 0, or -1 when the object is dead or the queue of events is full.
FAKE_API int fake_post_cq_event(struct ibv_cq* cq);
// element: the CQ, QP, SRQ or WQ, or the port number cast to a pointer.
FAKE_API int fake_post_async_event(struct ibv_context* context, enum ibv_event_type type, void* element);
// The device is gone: DEVICE_FATAL is queued, completion channels answer EIO once empty, creates fail with EIO.
FAKE_API int fake_device_fatal(struct ibv_context* context);

// Sets a knob as its variable would ("FAKE_LAX", "1"); for what is read at open, before the open. Also
// "RDMAV_ALLOW_DISASSOC_DESTROY", at any time.
FAKE_API void fake_set(const char* variable, const char* value);
// Disarms failures, delays and latches, zeroes fake_calls(), and sets the other knobs back to the environment's.
FAKE_API void fake_reset(void);

#ifdef __cplusplus
}
#endif
