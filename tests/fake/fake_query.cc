// Queries, names, rates and fork safety: what a program asks before and beside the objects.
#include <stdio.h>

#include "fake_internal.h"
#include "fake_slots.h"
#include "newer_verbs.h"

namespace fake {

extern std::atomic<bool> g_memory_registered;

namespace {

// What ibv_query_port() fills for programs built before port_cap_flags2: the caller's struct ends there.
constexpr size_t kOldPortAttr = offsetof(ibv_port_attr, port_cap_flags2);

std::atomic<bool> g_fork_safe{false};

ibv_device_attr DeviceAttr() {
  ibv_device_attr attr = {};
  snprintf(attr.fw_ver, sizeof attr.fw_ver, "0.0.0");
  attr.max_mr_size = UINT64_MAX;
  attr.page_size_cap = ~uint64_t{0xfff};
  attr.max_qp = attr.max_cq = attr.max_mr = attr.max_pd = attr.max_mw = attr.max_ah = attr.max_srq = 1 << 24;
  attr.max_qp_wr = attr.max_srq_wr = 1 << 15;
  attr.max_cqe = 1 << 22;
  attr.max_sge = attr.max_sge_rd = attr.max_srq_sge = 32;
  attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = 16;
  attr.max_mcast_grp = attr.max_mcast_qp_attach = 1 << 10;
  attr.max_pkeys = 1;
  attr.phys_port_cnt = 1;
  return attr;
}

ibv_port_attr PortAttr() {
  ibv_port_attr attr = {};
  attr.state = IBV_PORT_ACTIVE;
  attr.max_mtu = attr.active_mtu = IBV_MTU_4096;
  attr.gid_tbl_len = 1;
  attr.max_msg_sz = 1U << 30;
  attr.pkey_tbl_len = 1;
  attr.lid = 1;
  attr.sm_lid = 1;
  attr.max_vl_num = 1;
  attr.active_width = 2;
  attr.active_speed = 32;
  attr.phys_state = 5;
  attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
  return attr;
}

ibv_gid Gid() {
  ibv_gid gid = {};
  gid.raw[0] = 0xfe;
  gid.raw[1] = 0x80;
  gid.raw[15] = 1;
  return gid;
}

int QueryPort(const Call& call, ibv_context* context, uint8_t port, void* attr, size_t size) {
  if (const int error = call.Error(context)) return error;
  if (port != 1) return EINVAL;
  const ibv_port_attr full = PortAttr();
  memset(attr, 0, size);
  memcpy(attr, &full, size < sizeof full ? size : sizeof full);
  return 0;
}

struct Rate {
  ibv_rate rate;
  int mult;  // of 2.5 Gb/s, or -1
  int mbps;
};
constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 1, 2500},    {IBV_RATE_5_GBPS, 2, 5000},       {IBV_RATE_10_GBPS, 4, 10000},
    {IBV_RATE_20_GBPS, 8, 20000},    {IBV_RATE_30_GBPS, 12, 30000},    {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},   {IBV_RATE_80_GBPS, 32, 80000},    {IBV_RATE_120_GBPS, 48, 120000},
    {IBV_RATE_14_GBPS, 6, 14062},    {IBV_RATE_56_GBPS, 22, 56250},    {IBV_RATE_112_GBPS, 45, 112500},
    {IBV_RATE_168_GBPS, 67, 168750}, {IBV_RATE_25_GBPS, 10, 25781},    {IBV_RATE_100_GBPS, 41, 103125},
    {IBV_RATE_200_GBPS, 82, 206250}, {IBV_RATE_300_GBPS, 124, 309375}, {IBV_RATE_28_GBPS, 11, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},   {IBV_RATE_400_GBPS, 160, 425000}, {IBV_RATE_600_GBPS, 240, 637500},
};

template <size_t n>
const char* NameIn(const char* const (&names)[n], int value) {
  return value >= 0 && static_cast<size_t>(value) < n ? names[value] : "unknown";
}

}  // namespace

int SlotQueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attr, size_t size) {
  Call call(Verb::ibv_query_port);
  return QueryPort(call, context, port, attr, size);
}

int SlotQueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* /*input*/, ibv_device_attr_ex* attr,
                      size_t size) {
  Call call(Verb::ibv_query_device_ex);
  if (const int error = call.Error(context)) return error;
  memset(attr, 0, size);
  attr->orig_attr = DeviceAttr();
  return 0;
}

int SlotQueryRtValues(ibv_context* context, ibv_values_ex* values) {
  Call call(Verb::ibv_query_rt_values_ex);
  values->comp_mask = 0;
  return call.Error(context);
}

}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  Call call(Verb::ibv_query_device);
  *attr = DeviceAttr();
  return call.Error(context);
}

FAKE_EXPORT int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attr) {
  Call call(Verb::ibv_query_port);
  return QueryPort(call, context, port, attr, kOldPortAttr);
}

FAKE_EXPORT int ibv_query_gid(ibv_context* context, uint8_t /*port*/, int index, union ibv_gid* gid) {
  Call call(Verb::ibv_query_gid);
  if (call.Fails(context) || index != 0) return -1;
  *gid = Gid();
  return 0;
}

// Private, for ibv_devinfo.
FAKE_EXPORT int ibv_query_gid_type(ibv_context* /*context*/, uint8_t /*port*/, unsigned /*index*/, int* type) {
  *type = IBV_GID_TYPE_IB;
  return 0;
}

FAKE_EXPORT int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                                  uint32_t /*flags*/, size_t size) {
  Call call(Verb::_ibv_query_gid_ex);
  if (const int error = call.Error(context)) return error;
  if (index != 0) return EINVAL;
  ibv_gid_entry full = {};
  full.gid = Gid();
  full.port_num = port;
  memcpy(entry, &full, size < sizeof full ? size : sizeof full);
  return 0;
}

FAKE_EXPORT ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries,
                                         uint32_t flags, size_t size) {
  Call call(Verb::_ibv_query_gid_table);
  if (const int error = call.Error(context)) return -error;
  if (max_entries == 0) return 0;
  return _ibv_query_gid_ex(context, 1, 0, entries, flags, size) == 0 ? 1 : -EINVAL;
}

FAKE_EXPORT int ibv_query_pkey(ibv_context* context, uint8_t /*port*/, int index, __be16* pkey) {
  Call call(Verb::ibv_query_pkey);
  if (call.Fails(context) || index != 0) return -1;
  *pkey = 0xffff;
  return 0;
}

FAKE_EXPORT int ibv_get_pkey_index(ibv_context* context, uint8_t /*port*/, __be16 pkey) {
  Call call(Verb::ibv_get_pkey_index);
  return call.Fails(context) || pkey != 0xffff ? -1 : 0;
}

#if FAKE_NODE >= 16
FAKE_EXPORT int ibv_query_port_speed(ibv_context* context, uint32_t /*port*/, uint64_t* speed) {
  Call call(Verb::ibv_query_port_speed);
  *speed = 1000;
  return call.Error(context);
}
#endif

FAKE_EXPORT const char* ibv_get_device_name(ibv_device* device) {
  Call call(Verb::ibv_get_device_name);
  return device->name;
}

FAKE_EXPORT int ibv_get_device_index(ibv_device* device) {
  Call call(Verb::ibv_get_device_index);
  return device->name[4] - '0';
}

FAKE_EXPORT __be64 ibv_get_device_guid(ibv_device* device) {
  Call call(Verb::ibv_get_device_guid);
  return static_cast<__be64>(device->name[4] - '0' + 1);
}

FAKE_EXPORT const char* ibv_get_sysfs_path() { return "/sys"; }

FAKE_EXPORT int ibv_read_sysfs_file(const char* /*dir*/, const char* /*file*/, char* /*buf*/, size_t /*size*/) {
  errno = ENOENT;
  return -1;
}

FAKE_EXPORT int ibv_resolve_eth_l2_from_gid(ibv_context* /*context*/, ibv_ah_attr* /*attr*/, uint8_t /*mac*/[6],
                                            uint16_t* /*vid*/) {
  Call call(Verb::ibv_resolve_eth_l2_from_gid);
  return call.Fails() ? -1 : EOPNOTSUPP;
}

// librdmacm converts the kernel's structs with these; the fake libibverbs has no kernel to convert for.
FAKE_EXPORT void ibv_copy_ah_attr_from_kern(ibv_ah_attr* dst, const void* /*src*/) { *dst = {}; }
FAKE_EXPORT void ibv_copy_qp_attr_from_kern(ibv_qp_attr* dst, const void* /*src*/) { *dst = {}; }
FAKE_EXPORT void ibv_copy_path_rec_from_kern(void* /*dst*/, const void* /*src*/) {}
FAKE_EXPORT void ibv_copy_path_rec_to_kern(void* /*dst*/, const void* /*src*/) {}

FAKE_EXPORT int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate) return r.mult;
  }
  return -1;
}

FAKE_EXPORT ibv_rate mult_to_ibv_rate(int mult) {
  for (const Rate& r : kRates) {
    if (r.mult == mult) return r.rate;
  }
  return IBV_RATE_MAX;
}

FAKE_EXPORT int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& r : kRates) {
    if (r.rate == rate) return r.mbps;
  }
  return -1;
}

FAKE_EXPORT ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& r : kRates) {
    if (r.mbps == mbps) return r.rate;
  }
  return IBV_RATE_MAX;
}

FAKE_EXPORT const char* ibv_node_type_str(ibv_node_type type) {
  static const char* const names[] = {"unknown", "CA", "switch", "router", "RNIC", "usNIC", "usNIC UDP", "unspecified"};
  return NameIn(names, type);
}

FAKE_EXPORT const char* ibv_port_state_str(ibv_port_state state) {
  static const char* const names[] = {"no change", "down", "init", "armed", "active", "active deferred"};
  return NameIn(names, state);
}

FAKE_EXPORT const char* ibv_event_type_str(ibv_event_type type) {
  static const char* const names[] = {
      "CQ error",           "QP fatal",      "QP request error",     "QP access error", "communication established",
      "SQ drained",         "path migrated", "path migration error", "device fatal",    "port active",
      "port error",         "LID change",    "P_Key change",         "SM change",       "SRQ error",
      "SRQ limit",          "last WQE",      "client reregister",    "GID change",      "WQ fatal",
      "device speed change"};
  return NameIn(names, type);
}

FAKE_EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  static const char* const names[] = {"success",
                                      "local length error",
                                      "local QP error",
                                      "local EEC error",
                                      "local protection error",
                                      "flushed",
                                      "MW bind error",
                                      "bad response",
                                      "local access error",
                                      "remote request error",
                                      "remote access error",
                                      "remote operation error",
                                      "transport retries exceeded",
                                      "RNR retries exceeded",
                                      "RDD violation",
                                      "remote request error RD",
                                      "remote abort",
                                      "invalid EEC number",
                                      "invalid EEC state",
                                      "fatal",
                                      "response timeout",
                                      "general error",
                                      "tag matching error",
                                      "no rendezvous"};
  return NameIn(names, status);
}

FAKE_EXPORT int ibv_fork_init() {
  Call call(Verb::ibv_fork_init);
  if (const int error = call.Error()) return error;
  if (g_fork_safe || g_knobs.copy_on_fork) return 0;
  if (g_memory_registered) return EINVAL;  // too late
  g_fork_safe = true;
  return 0;
}

FAKE_EXPORT ibv_fork_status ibv_is_fork_initialized() {
  Call call(Verb::ibv_is_fork_initialized);
  if (g_knobs.copy_on_fork) return IBV_FORK_UNNEEDED;
  return g_fork_safe ? IBV_FORK_ENABLED : IBV_FORK_DISABLED;
}

FAKE_EXPORT int ibv_dontfork_range(void* /*base*/, size_t /*size*/) {
  Call call(Verb::ibv_dontfork_range);
  return call.Fails() ? -1 : 0;
}

FAKE_EXPORT int ibv_dofork_range(void* /*base*/, size_t /*size*/) {
  Call call(Verb::ibv_dofork_range);
  return call.Fails() ? -1 : 0;
}
