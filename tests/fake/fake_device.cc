// Devices and contexts: the list, open, import, close, and a verbs_context of any length with its slots filled.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_internal.h"
#include "fake_slots.h"
#include "newer_verbs.h"

FAKE_EXPORT ibv_context* verbs_open_device(ibv_device* device, void* private_data);

namespace fake {

bool verbs_allow_disassociate_destroy = false;

namespace {

constexpr int kMaxDevices = 8;
constexpr size_t kDefaultSz = FAKE_NODE >= 18 ? 696 : 648;
constexpr uint64_t kListMagic = 0x7473696c656b6166;

ibv_device g_devices[kMaxDevices];

// The array a program gets, with room behind it to recognise it at the free.
struct DeviceList {
  ibv_device* devices[kMaxDevices + 1];
  uint64_t magic;
};

#define FAKE_SLOT(field, min_sz, function) \
  static_assert(sizeof(verbs_context) - offsetof(verbs_context, field) == SzHere(min_sz), #field " lies elsewhere");
#define FAKE_NEW_SLOT(field, min_sz, function)
#include "fake_slots.def"
#undef FAKE_SLOT
#undef FAKE_NEW_SLOT

void FillDevices() {
  for (int i = 0; i < kMaxDevices; ++i) {
    ibv_device& device = g_devices[i];
    device.node_type = IBV_NODE_CA;
    device.transport_type = IBV_TRANSPORT_IB;
    snprintf(device.name, sizeof device.name, "fake%d", i);
    snprintf(device.dev_name, sizeof device.dev_name, "uverbs%d", i);
    snprintf(device.dev_path, sizeof device.dev_path, "/sys/class/infiniband_verbs/uverbs%d", i);
    snprintf(device.ibdev_path, sizeof device.ibdev_path, "/sys/class/infiniband/fake%d", i);
  }
}

bool CheckEnv(const char* name) {
  const char* value = getenv(name);
  return value != nullptr && strcmp(value, "0") != 0;
}

template <class F>
void PutSlot(ibv_context* context, size_t sz, const char* field, size_t min_sz, F* function) {
  if (sz < min_sz || IsNullSlot(field)) return;
  void* place = reinterpret_cast<char*>(context + 1) - SzHere(min_sz);
  memcpy(place, &function, sizeof function);
}

void FillSlots(ibv_context* context, size_t sz) {
#define FAKE_SLOT(field, min_sz, function) PutSlot(context, sz, #field, min_sz, &function);
#define FAKE_NEW_SLOT FAKE_SLOT
#include "fake_slots.def"
#undef FAKE_SLOT
#undef FAKE_NEW_SLOT
}

void FillOps(ibv_context* context) {
  ibv_context_ops& ops = context->ops;
  // The real library stores its exported addresses here, so a preloaded hook ends up inside the context.
  ops._compat_query_device = ibv_query_device;
  ops._compat_query_port = ibv_query_port;
#define FAKE_OP(field, function) \
  if (!IsNullSlot(#field)) ops.field = function;
  FAKE_OP(alloc_mw, SlotAllocMw)
  FAKE_OP(bind_mw, SlotBindMw)
  FAKE_OP(dealloc_mw, SlotDeallocMw)
  FAKE_OP(poll_cq, SlotPollCq)
  FAKE_OP(req_notify_cq, SlotReqNotifyCq)
  FAKE_OP(post_srq_recv, SlotPostSrqRecv)
  FAKE_OP(post_send, SlotPostSend)
  FAKE_OP(post_recv, SlotPostRecv)
#undef FAKE_OP
}

// A chosen sz gets a page of its own after one that must not be touched: whoever patches a slot that this context does
// not have dies at once, with or without a sanitizer. Such a mapping stays forever.
void* AllocateContext(size_t size, size_t* mapped) {
  *mapped = 0;
  if (g_knobs.sz == 0) return malloc(size);
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  *mapped = 2 * page + (size + page - 1) / page * page;
  char* map = static_cast<char*>(mmap(nullptr, *mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (map == MAP_FAILED || mprotect(map + page, *mapped - 2 * page, PROT_READ | PROT_WRITE) != 0) return nullptr;
  return map + page;
}

ibv_context* MakeContext(ibv_device* device, int cmd_fd) {
  const size_t x86_sz = g_knobs.sz != 0 ? g_knobs.sz.load() : kDefaultSz, sz = SzHere(x86_sz);
  if (sz % 8 != 0 || sz < sizeof(ibv_context) + 16) {
    errno = EINVAL;
    return nullptr;
  }
  size_t mapped = 0;
  void* block = AllocateContext(sz + sizeof(FakeContext), &mapped);
  if (block == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  memset(block, 0, sz);
  ibv_context* context = reinterpret_cast<ibv_context*>(static_cast<char*>(block) + sz) - 1;
  FakeContext* behind = new (Behind(context)) FakeContext();
  behind->obj.block = block;
  behind->obj.refs = 1;
  behind->obj.magic = kAlive | static_cast<uint64_t>(Kind::context);
  behind->mapped = mapped;
  behind->serial = NextHandle();
  context->device = device;
  context->cmd_fd = cmd_fd;
  context->num_comp_vectors = 4;
  context->abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&context->mutex, nullptr);
  memcpy(reinterpret_cast<char*>(context) - sizeof(size_t), &sz, sizeof sz);
  if (x86_sz >= 440) {
    void* priv = &behind->priv;
    memcpy(reinterpret_cast<char*>(context + 1) - SzHere(440), &priv, sizeof priv);
  }
  FillOps(context);
  FillSlots(context, x86_sz);
  if (!behind->async.Open()) {
    free(mapped != 0 ? nullptr : block);
    return nullptr;
  }
  context->async_fd = behind->async.fd();
  CountLive(Kind::context, 1);
  return context;
}

}  // namespace

void InitOnce() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    FillDevices();
    if (CheckEnv("RDMAV_FORK_SAFE") || CheckEnv("IBV_FORK_SAFE")) ibv_fork_init();
    verbs_allow_disassociate_destroy =
        CheckEnv("RDMAV_ALLOW_DISASSOC_DESTROY") || CheckEnv("MLX4_DEVICE_FATAL_CLEANUP");
  });
}

ibv_device** MakeDeviceList(int* count) {
  InitOnce();
  auto* list = static_cast<DeviceList*>(calloc(1, sizeof(DeviceList)));
  if (list == nullptr) return nullptr;
  *count = g_knobs.devices;
  if (*count > kMaxDevices) *count = kMaxDevices;
  for (int i = 0; i < *count; ++i) list->devices[i] = &g_devices[i];
  list->magic = kListMagic;
  CountLive(Kind::device_list, 1);
  return list->devices;
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT ibv_device** ibv_get_device_list(int* num_devices) {
  Call call(Verb::ibv_get_device_list);
  if (num_devices != nullptr) *num_devices = 0;
  if (call.Fails()) return nullptr;
  int count = 0;
  ibv_device** list = MakeDeviceList(&count);
  if (list != nullptr && num_devices != nullptr) *num_devices = count;
  return list;
}

FAKE_EXPORT void ibv_free_device_list(ibv_device** array) {
  Call call(Verb::ibv_free_device_list);
  auto* list = reinterpret_cast<DeviceList*>(array);
  if (list == nullptr) AbortOn("destroy of NULL", call.verb());
  if (list->magic != kListMagic) AbortOn("destroy of a dead handle", call.verb());
  // Spelt so that the compiler cannot drop the store before the free.
  *const_cast<volatile uint64_t*>(&list->magic) = 0;
  free(list);
  CountLive(Kind::device_list, -1);
}

FAKE_EXPORT ibv_context* verbs_open_device(ibv_device* device, void* /*private_data*/) {
  Call call(Verb::verbs_open_device);
  if (call.Fails()) return nullptr;
  const int cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (cmd_fd < 0) return nullptr;
  ibv_context* context = MakeContext(device, cmd_fd);
  if (context == nullptr) close(cmd_fd);
  return context;
}

FAKE_EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  Call call(Verb::ibv_open_device);
  return call.Fails() ? nullptr : verbs_open_device(device, nullptr);
}

FAKE_EXPORT ibv_context* ibv_import_device(int cmd_fd) {
  Call call(Verb::ibv_import_device);
  if (call.Fails()) return nullptr;
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr) return nullptr;
  ibv_context* context = nullptr;
  if (list[0] == nullptr || fcntl(cmd_fd, F_GETFD) < 0) {
    errno = list[0] == nullptr ? ENOENT : EBADF;
  } else {
    context = MakeContext(list[0], cmd_fd);
  }
  ibv_free_device_list(list);
  return context;
}

FAKE_EXPORT int ibv_close_device(ibv_context* context) {
  Call call(Verb::ibv_close_device);
  if (context == nullptr) AbortOn("destroy of NULL", call.verb());
  FakeContext* behind = Behind(context);
  if (!Is(&behind->obj, Kind::context)) AbortOn("destroy of a dead handle", call.verb());
  // The real one returns 0 whatever happens; the knob is for a provider that would do better.
  if (const int error = call.Error()) return error;
  uint64_t alive = kAlive | static_cast<uint64_t>(Kind::context);
  if (!behind->obj.magic.compare_exchange_strong(alive, kDead | static_cast<uint64_t>(Kind::context))) {
    AbortOn("destroy of a dead handle", call.verb());
  }
  close(context->cmd_fd);
  behind->async.Close();
  CountLive(Kind::context, -1);
  if (behind->mapped == 0) Unref(&behind->obj);
  return 0;
}
