// The @IBVERBS_1.0 entries. The real ones wrap each object in a struct of the old layout and call the 1.1 function
// through the PLT; here those that a test can follow do only the latter, and the others answer what no 1.1 verb does.
#include "fake_internal.h"

namespace fake {
void CountCompat(Verb verb);
}

using fake::CountCompat;
using fake::Verb;

#define FAKE_COMPAT(name) asm(".symver compat_" #name ", " #name "@IBVERBS_1.0")

// 1010 is no errno value: whoever sees it has called the wrong ABI. As a pointer it faults.
#define FAKE_OLD_STUB(name)              \
  FAKE_EXPORT intptr_t compat_##name() { \
    CountCompat(Verb::name);             \
    return 1010;                         \
  }                                      \
  FAKE_COMPAT(name);

#define FAKE_OLD_FORWARD(ret, name, params, args) \
  FAKE_EXPORT ret compat_##name params {          \
    CountCompat(Verb::name);                      \
    return name args;                             \
  }                                               \
  FAKE_COMPAT(name);

FAKE_OLD_FORWARD(ibv_device**, ibv_get_device_list, (int* count), (count))
FAKE_OLD_FORWARD(void, ibv_free_device_list, (ibv_device * *list), (list))
FAKE_OLD_FORWARD(const char*, ibv_get_device_name, (ibv_device * device), (device))
FAKE_OLD_FORWARD(__be64, ibv_get_device_guid, (ibv_device * device), (device))
FAKE_OLD_FORWARD(ibv_context*, ibv_open_device, (ibv_device * device), (device))
FAKE_OLD_FORWARD(int, ibv_close_device, (ibv_context * context), (context))
FAKE_OLD_FORWARD(ibv_pd*, ibv_alloc_pd, (ibv_context * context), (context))
FAKE_OLD_FORWARD(int, ibv_dealloc_pd, (ibv_pd * pd), (pd))
FAKE_OLD_FORWARD(ibv_mr*, ibv_reg_mr, (ibv_pd * pd, void* addr, size_t length, int access), (pd, addr, length, access))
FAKE_OLD_FORWARD(int, ibv_dereg_mr, (ibv_mr * mr), (mr))

FAKE_OLD_STUB(ibv_ack_async_event)
FAKE_OLD_STUB(ibv_ack_cq_events)
FAKE_OLD_STUB(ibv_attach_mcast)
FAKE_OLD_STUB(ibv_create_ah)
FAKE_OLD_STUB(ibv_create_cq)
FAKE_OLD_STUB(ibv_create_qp)
FAKE_OLD_STUB(ibv_create_srq)
FAKE_OLD_STUB(ibv_destroy_ah)
FAKE_OLD_STUB(ibv_destroy_cq)
FAKE_OLD_STUB(ibv_destroy_qp)
FAKE_OLD_STUB(ibv_destroy_srq)
FAKE_OLD_STUB(ibv_detach_mcast)
FAKE_OLD_STUB(ibv_get_async_event)
FAKE_OLD_STUB(ibv_get_cq_event)
FAKE_OLD_STUB(ibv_modify_qp)
FAKE_OLD_STUB(ibv_modify_srq)
FAKE_OLD_STUB(ibv_query_device)
FAKE_OLD_STUB(ibv_query_gid)
FAKE_OLD_STUB(ibv_query_pkey)
FAKE_OLD_STUB(ibv_query_port)
FAKE_OLD_STUB(ibv_query_qp)
FAKE_OLD_STUB(ibv_query_srq)
FAKE_OLD_STUB(ibv_resize_cq)

// Its 1.1 version is a compat entry too: the only one.
FAKE_EXPORT intptr_t compat_ibv_register_driver() {
  CountCompat(Verb::ibv_register_driver);
  return 1010;
}
asm(".symver compat_ibv_register_driver, ibv_register_driver@IBVERBS_1.1");
