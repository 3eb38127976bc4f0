// Direct rules of libmlx5. What counts here is what they do through libibverbs on the way, because a preloaded hook
// sees it: a domain makes a PD, a CQ and MRs; a rule takes device memory with an exported verb and gives it back
// without.
#include <infiniband/mlx5dv.h>

#include "fake_dv.h"

namespace fake {
namespace {

struct Domain {
  ibv_pd* pd;
  ibv_cq* cq;
  ibv_mr* mrs[2];
};

struct Table {
  mlx5dv_dr_domain* domain;
  uint32_t level;
};

struct Matcher {
  mlx5dv_dr_table* table;
  mlx5dv_flow_matcher* root;  // the kernel's, for a table of level 0
};

struct Rule {
  ibv_dm* dm;  // where the hardware keeps it
  ibv_mr* mr;
  ibv_flow* root;
};

struct Action {
  ibv_flow_action* root;
};

void ReleaseRing(const Domain& domain) {
  for (ibv_mr* mr : domain.mrs) {
    if (mr != nullptr) ibv_dereg_mr(mr);
  }
  if (domain.cq != nullptr) ibv_destroy_cq(domain.cq);
  if (domain.pd != nullptr) ibv_dealloc_pd(domain.pd);
}

bool MakeRing(ibv_context* context, Domain* domain) {
  static char buffer[64];
  domain->pd = ibv_alloc_pd(context);
  if (domain->pd == nullptr) return false;
  domain->cq = ibv_create_cq(context, 128, nullptr, nullptr, 0);
  if (domain->cq == nullptr) return false;
  for (ibv_mr*& mr : domain->mrs) {
    mr = ibv_reg_mr(domain->pd, buffer, sizeof buffer, 0);
    if (mr == nullptr) return false;
  }
  return true;
}

bool MakeHardwareRule(ibv_context* context, ibv_pd* pd, Rule* rule) {
  ibv_alloc_dm_attr attr = {};
  attr.length = 64;
  mlx5dv_alloc_dm_attr mlx5_attr = {};
  rule->dm = mlx5dv_alloc_dm(context, &attr, &mlx5_attr);
  if (rule->dm == nullptr) return false;
  rule->mr = ibv_reg_dm_mr(pd, rule->dm, 0, attr.length, IBV_ACCESS_ZERO_BASED);
  return rule->mr != nullptr;
}

void ReleaseRule(const Call& call, const Rule& rule) {
  if (rule.mr != nullptr) ibv_dereg_mr(rule.mr);
  if (rule.dm != nullptr) DestroyAnyway(call, Obj(rule.dm), Kind::dm);  // not through any symbol or slot
  if (rule.root != nullptr) ibv_destroy_flow(rule.root);
}

mlx5dv_dr_action* NewAction(Verb verb, ibv_context* context, std::initializer_list<Object*> parents) {
  Call call(verb);
  return Create<mlx5dv_dr_action>(call, context, Kind::dr_action, parents);
}

// An action that needs a domain or a table holds it; a QP or a DEVX object it only points at.
template <class T>
mlx5dv_dr_action* NewActionUnder(Verb verb, const T* parent) {
  return NewAction(verb, DvObj(parent)->context, {DvObj(parent)});
}

bool IsRoot(mlx5dv_dr_matcher* matcher) { return ContentOf<Matcher>(matcher).root != nullptr; }

}  // namespace
}  // namespace fake

using namespace fake;  // NOLINT

FAKE_EXPORT mlx5dv_dr_domain* mlx5dv_dr_domain_create(ibv_context* context, mlx5dv_dr_domain_type /*type*/) {
  Call call(Verb::mlx5dv_dr_domain_create);
  auto* domain = Create<mlx5dv_dr_domain>(call, context, Kind::dr_domain, {});
  if (domain == nullptr) return nullptr;
  Domain ring = {};
  if (!MakeRing(context, &ring)) {
    const int saved = errno;
    ReleaseRing(ring);
    DestroyAnyway(call, DvObj(domain), Kind::dr_domain);
    errno = saved;
    return nullptr;
  }
  ContentOf<Domain>(domain) = ring;
  return domain;
}

FAKE_EXPORT int mlx5dv_dr_domain_destroy(mlx5dv_dr_domain* domain) {
  Call call(Verb::mlx5dv_dr_domain_destroy);
  const Outcome outcome = Kill(call, DvObj(domain), Kind::dr_domain, Way::kLocal);
  if (outcome.error != 0) return outcome.error;
  ReleaseRing(ContentOf<Domain>(domain));
  Bury(DvObj(domain));
  return 0;
}

FAKE_EXPORT mlx5dv_dr_table* mlx5dv_dr_table_create(mlx5dv_dr_domain* domain, uint32_t level) {
  Call call(Verb::mlx5dv_dr_table_create);
  auto* table = Create<mlx5dv_dr_table>(call, DvObj(domain)->context, Kind::dr_table, {DvObj(domain)});
  if (table != nullptr) ContentOf<Table>(table) = {domain, level};
  return table;
}

FAKE_EXPORT int mlx5dv_dr_table_destroy(mlx5dv_dr_table* table) {
  Call call(Verb::mlx5dv_dr_table_destroy);
  return Destroy(call, DvObj(table), Kind::dr_table, Way::kLocal);
}

FAKE_EXPORT mlx5dv_dr_matcher* mlx5dv_dr_matcher_create(mlx5dv_dr_table* table, uint16_t priority, uint8_t criteria,
                                                        mlx5dv_flow_match_parameters* mask) {
  Call call(Verb::mlx5dv_dr_matcher_create);
  ibv_context* context = DvObj(table)->context;
  auto* matcher = Create<mlx5dv_dr_matcher>(call, context, Kind::dr_matcher, {DvObj(table)});
  if (matcher == nullptr) return nullptr;
  ContentOf<Matcher>(matcher) = {table, nullptr};
  if (ContentOf<Table>(table).level != 0) return matcher;
  mlx5dv_flow_matcher_attr attr = {};
  attr.priority = priority;
  attr.match_criteria_enable = criteria;
  attr.match_mask = mask;
  mlx5dv_flow_matcher* root = mlx5dv_create_flow_matcher(context, &attr);
  if (root == nullptr) {
    DestroyAnyway(call, DvObj(matcher), Kind::dr_matcher);
    return nullptr;
  }
  ContentOf<Matcher>(matcher).root = root;
  return matcher;
}

FAKE_EXPORT int mlx5dv_dr_matcher_destroy(mlx5dv_dr_matcher* matcher) {
  Call call(Verb::mlx5dv_dr_matcher_destroy);
  const Outcome outcome = Kill(call, DvObj(matcher), Kind::dr_matcher, Way::kLocal);
  if (outcome.error != 0) return outcome.error;
  if (IsRoot(matcher)) mlx5dv_destroy_flow_matcher(ContentOf<Matcher>(matcher).root);
  Bury(DvObj(matcher));
  return 0;
}

FAKE_EXPORT mlx5dv_dr_rule* mlx5dv_dr_rule_create(mlx5dv_dr_matcher* matcher, mlx5dv_flow_match_parameters*,
                                                  size_t count, mlx5dv_dr_action* actions[]) {
  Call call(Verb::mlx5dv_dr_rule_create);
  ibv_context* context = DvObj(matcher)->context;
  auto* rule = Create<mlx5dv_dr_rule>(call, context, Kind::dr_rule, {DvObj(matcher)});
  if (rule == nullptr) return nullptr;
  for (size_t i = 0; i < count; ++i) Hold(DvObj(rule), DvObj(actions[i]));
  Rule content = {};
  bool made = false;
  if (IsRoot(matcher)) {
    content.root = MakeFlow(context);  // by a static function, while its destroy goes through the slot
    made = content.root != nullptr;
  } else {
    Domain& domain = ContentOf<Domain>(ContentOf<Table>(ContentOf<Matcher>(matcher).table).domain);
    made = MakeHardwareRule(context, domain.pd, &content);
  }
  if (!made) {
    const int saved = errno;
    ReleaseRule(call, content);
    DestroyAnyway(call, DvObj(rule), Kind::dr_rule);
    errno = saved;
    return nullptr;
  }
  ContentOf<Rule>(rule) = content;
  return rule;
}

FAKE_EXPORT int mlx5dv_dr_rule_destroy(mlx5dv_dr_rule* rule) {
  Call call(Verb::mlx5dv_dr_rule_destroy);
  const Outcome outcome = Kill(call, DvObj(rule), Kind::dr_rule, Way::kLocal);
  if (outcome.error != 0) return outcome.error;
  ReleaseRule(call, ContentOf<Rule>(rule));
  Bury(DvObj(rule));
  return 0;
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ibv_qp(ibv_qp* qp) {
  return NewAction(Verb::mlx5dv_dr_action_create_dest_ibv_qp, qp->context, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_table(mlx5dv_dr_table* table) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_dest_table, table);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_root_table(mlx5dv_dr_table* table, uint16_t) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_dest_root_table, table);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_vport(mlx5dv_dr_domain* domain, uint32_t) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_dest_vport, domain);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ib_port(mlx5dv_dr_domain* domain, uint32_t) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_dest_ib_port, domain);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_devx_tir(mlx5dv_devx_obj* object) {
  return NewAction(Verb::mlx5dv_dr_action_create_dest_devx_tir, DvObj(object)->context, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_dest_array(mlx5dv_dr_domain* domain, size_t count,
                                                                 mlx5dv_dr_action_dest_attr* dests[]) {
  mlx5dv_dr_action* action = NewActionUnder(Verb::mlx5dv_dr_action_create_dest_array, domain);
  for (size_t i = 0; action != nullptr && i < count; ++i) {
    if (dests[i]->type == MLX5DV_DR_ACTION_DEST) {
      Hold(DvObj(action), DvObj(dests[i]->dest));
    } else {
      Hold(DvObj(action), DvObj(dests[i]->dest_reformat->reformat));
      Hold(DvObj(action), DvObj(dests[i]->dest_reformat->dest));
    }
  }
  return action;
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_drop() {
  return NewAction(Verb::mlx5dv_dr_action_create_drop, nullptr, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_default_miss() {
  return NewAction(Verb::mlx5dv_dr_action_create_default_miss, nullptr, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_tag(uint32_t) {
  return NewAction(Verb::mlx5dv_dr_action_create_tag, nullptr, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_pop_vlan() {
  return NewAction(Verb::mlx5dv_dr_action_create_pop_vlan, nullptr, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_push_vlan(mlx5dv_dr_domain* domain, __be32) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_push_vlan, domain);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_flow_counter(mlx5dv_devx_obj* object, uint32_t) {
  return NewAction(Verb::mlx5dv_dr_action_create_flow_counter, DvObj(object)->context, {});
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_aso(mlx5dv_dr_domain* domain, mlx5dv_devx_obj*, uint32_t,
                                                          uint32_t, uint8_t) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_aso, domain);
}

// On the root level these two are actions of the kernel, made by exported verbs and destroyed through the slot.

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_packet_reformat(mlx5dv_dr_domain* domain, uint32_t flags,
                                                                      mlx5dv_flow_action_packet_reformat_type type,
                                                                      size_t size, void* data) {
  mlx5dv_dr_action* action = NewActionUnder(Verb::mlx5dv_dr_action_create_packet_reformat, domain);
  if (action != nullptr && (flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL) != 0) {
    ContentOf<Action>(action).root = mlx5dv_create_flow_action_packet_reformat(DvObj(domain)->context, size, data, type,
                                                                               MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
  }
  return action;
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_modify_header(mlx5dv_dr_domain* domain, uint32_t flags,
                                                                    size_t size, __be64 actions[]) {
  mlx5dv_dr_action* action = NewActionUnder(Verb::mlx5dv_dr_action_create_modify_header, domain);
  if (action != nullptr && (flags & MLX5DV_DR_ACTION_FLAGS_ROOT_LEVEL) != 0) {
    ContentOf<Action>(action).root = mlx5dv_create_flow_action_modify_header(
        DvObj(domain)->context, size, reinterpret_cast<uint64_t*>(actions), MLX5DV_FLOW_TABLE_TYPE_NIC_RX);
  }
  return action;
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_flow_meter(mlx5dv_dr_flow_meter_attr* attr) {
  return NewActionUnder(Verb::mlx5dv_dr_action_create_flow_meter, attr->next_table);
}

FAKE_EXPORT mlx5dv_dr_action* mlx5dv_dr_action_create_flow_sampler(mlx5dv_dr_flow_sampler_attr* attr) {
  mlx5dv_dr_action* action = NewActionUnder(Verb::mlx5dv_dr_action_create_flow_sampler, attr->default_next_table);
  for (uint32_t i = 0; action != nullptr && i < attr->num_sample_actions; ++i) {
    Hold(DvObj(action), DvObj(attr->sample_actions[i]));
  }
  return action;
}

FAKE_EXPORT int mlx5dv_dr_action_destroy(mlx5dv_dr_action* action) {
  Call call(Verb::mlx5dv_dr_action_destroy);
  const Outcome outcome = Kill(call, DvObj(action), Kind::dr_action, Way::kLocal);
  if (outcome.error != 0) return outcome.error;
  if (ibv_flow_action* root = ContentOf<Action>(action).root) ibv_destroy_flow_action(root);
  Bury(DvObj(action));
  return 0;
}
