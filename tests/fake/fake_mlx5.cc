// libmlx5 without direct rules: generic objects made another way, and the pairs of mlx5's own.
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_dv.h"

#undef mlx5dv_create_flow  // a macro since rdma-core 63

// libibverbs-private, which is how a direct open passes by ibv_open_device().
FAKE_EXPORT ibv_context* verbs_open_device(ibv_device* device, void* private_data);

namespace fake {
namespace {

// Reserved queue pair numbers have no handle: they are known by device and number.
struct ReservedQpn {
  uint32_t context_serial;
  uint32_t qpn;
  ReservedQpn* next;
};
pthread_mutex_t g_qpn_lock = PTHREAD_MUTEX_INITIALIZER;
ReservedQpn* g_qpns;

// Objects that a program waits on carry a file descriptor.
template <class T>
T* WithFd(T* object) {
  if (object != nullptr) object->fd = eventfd(0, EFD_CLOEXEC);
  return object;
}

template <class T>
void DestroyWithFd(const Call& call, T* object, Kind kind) {
  const int fd = object != nullptr ? object->fd : -1;
  DestroyAnyway(call, DvObj(object), kind);
  close(fd);
}

template <class T>
int DestroyDriver(const Call& call, T* object, Kind kind) {
  return Destroy(call, DvObj(object), kind, Way::kDriver);
}

template <class T>
T* WithId(T* object) {
  if (object != nullptr) ContentOf<uint32_t>(object) = NextHandle();
  return object;
}

ibv_flow* CreateFlow(const Call& call, mlx5dv_flow_matcher* matcher, size_t count, const void* actions, size_t stride) {
  ibv_context* context = DvObj(matcher)->context;
  if (call.Fails(context)) return nullptr;
  if (!Is(DvObj(matcher), Kind::flow_matcher)) return Unknown();
  ibv_flow* flow = MakeFlow(context);
  if (flow == nullptr) return nullptr;
  Hold(Obj(flow), DvObj(matcher));
  for (size_t i = 0; i < count; ++i) {
    const auto* action =
        reinterpret_cast<const mlx5dv_flow_action_attr*>(static_cast<const char*>(actions) + i * stride);
    if (action->type == MLX5DV_FLOW_ACTION_DEST_IBV_QP) Hold(Obj(flow), Obj(action->qp));
    if (action->type == MLX5DV_FLOW_ACTION_IBV_FLOW_ACTION) Hold(Obj(flow), Obj(action->action));
    if (action->type == MLX5DV_FLOW_ACTION_IBV_COUNTER) Hold(Obj(flow), Obj(action->counter));
  }
  return flow;
}

}  // namespace
}  // namespace fake

using namespace fake;  // NOLINT

// Objects that generic verbs release.

FAKE_EXPORT bool mlx5dv_is_supported(ibv_device* /*device*/) {
  Call call(Verb::mlx5dv_is_supported);
  return call.Error() == 0;
}

FAKE_EXPORT ibv_context* mlx5dv_open_device(ibv_device* device, mlx5dv_context_attr* attr) {
  Call call(Verb::mlx5dv_open_device);
  return call.Fails() ? nullptr : verbs_open_device(device, attr);
}

FAKE_EXPORT ibv_device** mlx5dv_get_vfio_device_list(mlx5dv_vfio_context_attr* /*attr*/) {
  Call call(Verb::mlx5dv_get_vfio_device_list);
  int count = 0;
  return call.Fails() ? nullptr : MakeDeviceList(&count);
}

FAKE_EXPORT ibv_cq_ex* mlx5dv_create_cq(ibv_context* context, ibv_cq_init_attr_ex* attr, mlx5dv_cq_init_attr*) {
  Call call(Verb::mlx5dv_create_cq);
  if (call.Fails(context)) return nullptr;
  const bool has_domain = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  return MakeCq(context, attr->cqe, attr->cq_context, attr->channel, attr->comp_vector,
                has_domain ? attr->parent_domain : nullptr);
}

FAKE_EXPORT ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* attr, mlx5dv_qp_init_attr*) {
  Call call(Verb::mlx5dv_create_qp);
  return call.Fails(context) ? nullptr : MakeQp(context, *attr);
}

FAKE_EXPORT ibv_wq* mlx5dv_create_wq(ibv_context* context, ibv_wq_init_attr* attr, mlx5dv_wq_init_attr*) {
  Call call(Verb::mlx5dv_create_wq);
  ibv_wq* wq = call.Fails(context) ? nullptr : MakeWq(context, *attr);
  if (wq == nullptr) return nullptr;
  // What the inline ibv_create_wq() would do.
  wq->wq_context = attr->wq_context;
  pthread_mutex_init(&wq->mutex, nullptr);
  pthread_cond_init(&wq->cond, nullptr);
  return wq;
}

FAKE_EXPORT ibv_dm* mlx5dv_alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr, mlx5dv_alloc_dm_attr*) {
  Call call(Verb::mlx5dv_alloc_dm);
  return call.Fails(context) ? nullptr : MakeDm(context, attr->length);
}

FAKE_EXPORT ibv_mr* mlx5dv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t /*iova*/, int fd,
                                         int /*access*/, int /*mlx5_access*/) {
  Call call(Verb::mlx5dv_reg_dmabuf_mr);
  if (call.Fails(pd->context)) return nullptr;
  if (!IsPd(pd) || fd < 0) return Unknown();
  return MakeMr(pd, reinterpret_cast<void*>(offset), length, MrType::kDmabuf);
}

FAKE_EXPORT ibv_flow* mlx5dv_create_flow(mlx5dv_flow_matcher* matcher, mlx5dv_flow_match_parameters*, size_t count,
                                         mlx5dv_flow_action_attr actions[]) {
  Call call(Verb::mlx5dv_create_flow);
  // Callers of this entry were built when the struct was 16 bytes long.
  return CreateFlow(call, matcher, count, actions, 16);
}

FAKE_EXPORT ibv_flow* __mlx5dv_create_flow(mlx5dv_flow_matcher* matcher, mlx5dv_flow_match_parameters*, size_t count,
                                           mlx5dv_flow_action_attr actions[], size_t size) {
  Call call(Verb::__mlx5dv_create_flow);
  return CreateFlow(call, matcher, count, actions, size);
}

FAKE_EXPORT ibv_flow_action* mlx5dv_create_flow_action_esp(ibv_context* context, ibv_flow_action_esp_attr*,
                                                           mlx5dv_flow_action_esp*) {
  Call call(Verb::mlx5dv_create_flow_action_esp);
  return call.Fails(context) ? nullptr : MakeFlowAction(context);
}

FAKE_EXPORT ibv_flow_action* mlx5dv_create_flow_action_modify_header(ibv_context* context, size_t, uint64_t[],
                                                                     mlx5dv_flow_table_type) {
  Call call(Verb::mlx5dv_create_flow_action_modify_header);
  return call.Fails(context) ? nullptr : MakeFlowAction(context);
}

FAKE_EXPORT ibv_flow_action* mlx5dv_create_flow_action_packet_reformat(ibv_context* context, size_t, void*,
                                                                       mlx5dv_flow_action_packet_reformat_type,
                                                                       mlx5dv_flow_table_type) {
  Call call(Verb::mlx5dv_create_flow_action_packet_reformat);
  return call.Fails(context) ? nullptr : MakeFlowAction(context);
}

FAKE_EXPORT int mlx5dv_map_ah_to_qp(ibv_ah* ah, uint32_t /*qp_num*/) {
  Call call(Verb::mlx5dv_map_ah_to_qp);
  if (const int error = call.Error(ah->context)) return error;
  return Is(Obj(ah), Kind::ah) ? 0 : EINVAL;
}

// Flow matchers, steering anchors and keys.

FAKE_EXPORT mlx5dv_flow_matcher* mlx5dv_create_flow_matcher(ibv_context* context, mlx5dv_flow_matcher_attr*) {
  Call call(Verb::mlx5dv_create_flow_matcher);
  return Create<mlx5dv_flow_matcher>(call, context, Kind::flow_matcher, {});
}

// The one direct-verbs destroy whose EIO the real library forgives.
FAKE_EXPORT int mlx5dv_destroy_flow_matcher(mlx5dv_flow_matcher* matcher) {
  Call call(Verb::mlx5dv_destroy_flow_matcher);
  return Destroy(call, DvObj(matcher), Kind::flow_matcher, Way::kKernelLookup);
}

FAKE_EXPORT mlx5dv_steering_anchor* mlx5dv_create_steering_anchor(ibv_context* context, mlx5dv_steering_anchor_attr*) {
  Call call(Verb::mlx5dv_create_steering_anchor);
  return WithId(Create<mlx5dv_steering_anchor>(call, context, Kind::steering_anchor, {}));
}

FAKE_EXPORT int mlx5dv_destroy_steering_anchor(mlx5dv_steering_anchor* anchor) {
  Call call(Verb::mlx5dv_destroy_steering_anchor);
  return DestroyDriver(call, anchor, Kind::steering_anchor);
}

FAKE_EXPORT mlx5dv_mkey* mlx5dv_create_mkey(mlx5dv_mkey_init_attr* attr) {
  Call call(Verb::mlx5dv_create_mkey);
  auto* mkey = Create<mlx5dv_mkey>(call, attr->pd->context, Kind::mkey, {Obj(attr->pd)});
  if (mkey != nullptr) mkey->lkey = mkey->rkey = NextHandle() << 8;
  return mkey;
}

FAKE_EXPORT int mlx5dv_destroy_mkey(mlx5dv_mkey* mkey) {
  Call call(Verb::mlx5dv_destroy_mkey);
  return DestroyDriver(call, mkey, Kind::mkey);
}

FAKE_EXPORT mlx5dv_dek* mlx5dv_dek_create(ibv_context* context, mlx5dv_dek_init_attr* attr) {
  Call call(Verb::mlx5dv_dek_create);
  return Create<mlx5dv_dek>(call, context, Kind::dek, {Obj(attr->pd)});
}

FAKE_EXPORT int mlx5dv_dek_destroy(mlx5dv_dek* dek) {
  Call call(Verb::mlx5dv_dek_destroy);
  return DestroyDriver(call, dek, Kind::dek);
}

FAKE_EXPORT int mlx5dv_crypto_login(ibv_context* context, mlx5dv_crypto_login_attr*) {
  Call call(Verb::mlx5dv_crypto_login);
  if (const int error = call.Error(context)) return error;
  if (Behind(context)->crypto_login.exchange(true)) return EEXIST;
  CountLive(Kind::crypto_login, 1);
  return 0;
}

FAKE_EXPORT int mlx5dv_crypto_logout(ibv_context* context) {
  Call call(Verb::mlx5dv_crypto_logout);
  if (const int error = call.Error(context)) return error;
  if (!Behind(context)->crypto_login.exchange(false)) return ENOENT;
  CountLive(Kind::crypto_login, -1);
  return 0;
}

FAKE_EXPORT mlx5dv_crypto_login_obj* mlx5dv_crypto_login_create(ibv_context* context, mlx5dv_crypto_login_attr_ex*) {
  Call call(Verb::mlx5dv_crypto_login_create);
  return Create<mlx5dv_crypto_login_obj>(call, context, Kind::crypto_login_obj, {});
}

FAKE_EXPORT int mlx5dv_crypto_login_destroy(mlx5dv_crypto_login_obj* login) {
  Call call(Verb::mlx5dv_crypto_login_destroy);
  return DestroyDriver(call, login, Kind::crypto_login_obj);
}

// DEVX.

FAKE_EXPORT mlx5dv_devx_obj* mlx5dv_devx_obj_create(ibv_context* context, const void*, size_t, void* out, size_t len) {
  Call call(Verb::mlx5dv_devx_obj_create);
  memset(out, 0, len);
  return Create<mlx5dv_devx_obj>(call, context, Kind::devx_obj, {});
}

FAKE_EXPORT int mlx5dv_devx_obj_destroy(mlx5dv_devx_obj* object) {
  Call call(Verb::mlx5dv_devx_obj_destroy);
  return DestroyDriver(call, object, Kind::devx_obj);
}

FAKE_EXPORT mlx5dv_devx_obj* mlx5dv_devx_obj_import(ibv_context* context, void* /*data*/) {
  Call call(Verb::mlx5dv_devx_obj_import);
  return Create<mlx5dv_devx_obj>(call, context, Kind::devx_obj, {});
}

FAKE_EXPORT void mlx5dv_devx_obj_unimport(mlx5dv_devx_obj* object) {
  Call call(Verb::mlx5dv_devx_obj_unimport);
  DestroyAnyway(call, DvObj(object), Kind::devx_obj);
}

FAKE_EXPORT mlx5dv_devx_umem* mlx5dv_devx_umem_reg(ibv_context* context, void*, size_t, uint32_t) {
  Call call(Verb::mlx5dv_devx_umem_reg);
  return WithId(Create<mlx5dv_devx_umem>(call, context, Kind::devx_umem, {}));
}

FAKE_EXPORT mlx5dv_devx_umem* mlx5dv_devx_umem_reg_ex(ibv_context* context, mlx5dv_devx_umem_in*) {
  Call call(Verb::mlx5dv_devx_umem_reg_ex);
  return WithId(Create<mlx5dv_devx_umem>(call, context, Kind::devx_umem, {}));
}

FAKE_EXPORT int mlx5dv_devx_umem_dereg(mlx5dv_devx_umem* umem) {
  Call call(Verb::mlx5dv_devx_umem_dereg);
  return DestroyDriver(call, umem, Kind::devx_umem);
}

FAKE_EXPORT mlx5dv_devx_umem* mlx5dv_devx_umem_import(ibv_context* context, void* /*data*/) {
  Call call(Verb::mlx5dv_devx_umem_import);
  return WithId(Create<mlx5dv_devx_umem>(call, context, Kind::devx_umem, {}));
}

FAKE_EXPORT void mlx5dv_devx_umem_unimport(mlx5dv_devx_umem* umem) {
  Call call(Verb::mlx5dv_devx_umem_unimport);
  DestroyAnyway(call, DvObj(umem), Kind::devx_umem);
}

FAKE_EXPORT mlx5dv_devx_uar* mlx5dv_devx_alloc_uar(ibv_context* context, uint32_t /*flags*/) {
  Call call(Verb::mlx5dv_devx_alloc_uar);
  return Create<mlx5dv_devx_uar>(call, context, Kind::devx_uar, {});
}

FAKE_EXPORT void mlx5dv_devx_free_uar(mlx5dv_devx_uar* uar) {
  Call call(Verb::mlx5dv_devx_free_uar);
  DestroyAnyway(call, DvObj(uar), Kind::devx_uar);
}

FAKE_EXPORT int mlx5dv_devx_uar_export_dmabuf_fd(mlx5dv_devx_uar* uar) {
  Call call(Verb::mlx5dv_devx_uar_export_dmabuf_fd);
  return call.Fails(DvObj(uar)->context) ? -1 : memfd_create("fake-dmabuf", MFD_CLOEXEC);
}

FAKE_EXPORT mlx5dv_var* mlx5dv_alloc_var(ibv_context* context, uint32_t /*flags*/) {
  Call call(Verb::mlx5dv_alloc_var);
  return WithId(Create<mlx5dv_var>(call, context, Kind::var, {}));
}

FAKE_EXPORT void mlx5dv_free_var(mlx5dv_var* var) {
  Call call(Verb::mlx5dv_free_var);
  DestroyAnyway(call, DvObj(var), Kind::var);
}

FAKE_EXPORT mlx5dv_var* mlx5dv_var_import(ibv_context* context, void* /*data*/) {
  Call call(Verb::mlx5dv_var_import);
  return WithId(Create<mlx5dv_var>(call, context, Kind::var, {}));
}

FAKE_EXPORT void mlx5dv_var_unimport(mlx5dv_var* var) {
  Call call(Verb::mlx5dv_var_unimport);
  DestroyAnyway(call, DvObj(var), Kind::var);
}

FAKE_EXPORT mlx5dv_pp* mlx5dv_pp_alloc(ibv_context* context, size_t, const void*, uint32_t) {
  Call call(Verb::mlx5dv_pp_alloc);
  return Create<mlx5dv_pp>(call, context, Kind::pp, {});
}

FAKE_EXPORT void mlx5dv_pp_free(mlx5dv_pp* pp) {
  Call call(Verb::mlx5dv_pp_free);
  DestroyAnyway(call, DvObj(pp), Kind::pp);
}

FAKE_EXPORT mlx5dv_devx_cmd_comp* mlx5dv_devx_create_cmd_comp(ibv_context* context) {
  Call call(Verb::mlx5dv_devx_create_cmd_comp);
  return WithFd(Create<mlx5dv_devx_cmd_comp>(call, context, Kind::devx_cmd_comp, {}));
}

FAKE_EXPORT void mlx5dv_devx_destroy_cmd_comp(mlx5dv_devx_cmd_comp* comp) {
  Call call(Verb::mlx5dv_devx_destroy_cmd_comp);
  DestroyWithFd(call, comp, Kind::devx_cmd_comp);
}

FAKE_EXPORT mlx5dv_devx_event_channel* mlx5dv_devx_create_event_channel(ibv_context* context,
                                                                        mlx5dv_devx_create_event_channel_flags) {
  Call call(Verb::mlx5dv_devx_create_event_channel);
  return WithFd(Create<mlx5dv_devx_event_channel>(call, context, Kind::devx_event_channel, {}));
}

FAKE_EXPORT void mlx5dv_devx_destroy_event_channel(mlx5dv_devx_event_channel* channel) {
  Call call(Verb::mlx5dv_devx_destroy_event_channel);
  DestroyWithFd(call, channel, Kind::devx_event_channel);
}

FAKE_EXPORT mlx5dv_devx_msi_vector* mlx5dv_devx_alloc_msi_vector(ibv_context* context) {
  Call call(Verb::mlx5dv_devx_alloc_msi_vector);
  return WithFd(Create<mlx5dv_devx_msi_vector>(call, context, Kind::msi_vector, {}));
}

FAKE_EXPORT int mlx5dv_devx_free_msi_vector(mlx5dv_devx_msi_vector* msi) {
  Call call(Verb::mlx5dv_devx_free_msi_vector);
  if (const int error = call.Error()) return error;
  DestroyWithFd(call, msi, Kind::msi_vector);
  return 0;
}

FAKE_EXPORT mlx5dv_devx_eq* mlx5dv_devx_create_eq(ibv_context* context, const void*, size_t, void* out, size_t len) {
  Call call(Verb::mlx5dv_devx_create_eq);
  memset(out, 0, len);
  return Create<mlx5dv_devx_eq>(call, context, Kind::devx_eq, {});
}

FAKE_EXPORT int mlx5dv_devx_destroy_eq(mlx5dv_devx_eq* eq) {
  Call call(Verb::mlx5dv_devx_destroy_eq);
  return DestroyDriver(call, eq, Kind::devx_eq);
}

// Scheduling elements and reserved queue pair numbers.

FAKE_EXPORT mlx5dv_sched_node* mlx5dv_sched_node_create(ibv_context* context, const mlx5dv_sched_attr* attr) {
  Call call(Verb::mlx5dv_sched_node_create);
  if (attr->parent == nullptr) return Create<mlx5dv_sched_node>(call, context, Kind::sched_node, {});
  return Create<mlx5dv_sched_node>(call, context, Kind::sched_node, {DvObj(attr->parent)});
}

FAKE_EXPORT int mlx5dv_sched_node_destroy(mlx5dv_sched_node* node) {
  Call call(Verb::mlx5dv_sched_node_destroy);
  return DestroyDriver(call, node, Kind::sched_node);
}

FAKE_EXPORT mlx5dv_sched_leaf* mlx5dv_sched_leaf_create(ibv_context* context, const mlx5dv_sched_attr* attr) {
  Call call(Verb::mlx5dv_sched_leaf_create);
  return Create<mlx5dv_sched_leaf>(call, context, Kind::sched_leaf, {DvObj(attr->parent)});
}

FAKE_EXPORT int mlx5dv_sched_leaf_destroy(mlx5dv_sched_leaf* leaf) {
  Call call(Verb::mlx5dv_sched_leaf_destroy);
  return DestroyDriver(call, leaf, Kind::sched_leaf);
}

FAKE_EXPORT int mlx5dv_reserved_qpn_alloc(ibv_context* context, uint32_t* qpn) {
  Call call(Verb::mlx5dv_reserved_qpn_alloc);
  if (const int error = call.Error(context)) return error;
  auto* entry = static_cast<ReservedQpn*>(malloc(sizeof(ReservedQpn)));
  if (entry == nullptr) return ENOMEM;
  *qpn = 0x800000 + NextHandle();
  pthread_mutex_lock(&g_qpn_lock);
  *entry = {Behind(context)->serial, *qpn, g_qpns};
  g_qpns = entry;
  pthread_mutex_unlock(&g_qpn_lock);
  CountLive(Kind::reserved_qpn, 1);
  return 0;
}

FAKE_EXPORT int mlx5dv_reserved_qpn_dealloc(ibv_context* context, uint32_t qpn) {
  Call call(Verb::mlx5dv_reserved_qpn_dealloc);
  if (const int error = call.Error(context)) return error;
  pthread_mutex_lock(&g_qpn_lock);
  ReservedQpn** at = &g_qpns;
  while (*at != nullptr && ((*at)->qpn != qpn || (*at)->context_serial != Behind(context)->serial)) at = &(*at)->next;
  ReservedQpn* entry = *at;
  if (entry != nullptr) *at = entry->next;
  pthread_mutex_unlock(&g_qpn_lock);
  if (entry == nullptr) return EINVAL;
  free(entry);
  CountLive(Kind::reserved_qpn, -1);
  return 0;
}
