// The functions behind the slots of a context, by the file that defines them. Signatures are the slots'.
#pragma once

#include "fake_internal.h"

namespace fake {

// What is verbs_context::sz, or a slot's distance from its end, where x86-64 has this one: ibv_context, at the end, holds a
// mutex, which is larger on aarch64.
constexpr size_t SzHere(size_t x86_sz) { return x86_sz + sizeof(ibv_context) - 328; }

// fake_pd_mr.cc
ibv_td* SlotAllocTd(ibv_context* context, ibv_td_init_attr* attr);
int SlotDeallocTd(ibv_td* td);
ibv_pd* SlotAllocParentDomain(ibv_context* context, ibv_parent_domain_init_attr* attr);
ibv_mr* SlotAllocNullMr(ibv_pd* pd);
ibv_mr* SlotRegDmMr(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned access);
int SlotAdviseMr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list, uint32_t count);
ibv_dm* SlotAllocDm(ibv_context* context, ibv_alloc_dm_attr* attr);
int SlotFreeDm(ibv_dm* dm);
ibv_mw* SlotAllocMw(ibv_pd* pd, ibv_mw_type type);
int SlotBindMw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
int SlotDeallocMw(ibv_mw* mw);

// fake_cq.cc
ibv_cq_ex* SlotCreateCqEx(ibv_context* context, ibv_cq_init_attr_ex* attr);
int SlotModifyCq(ibv_cq* cq, ibv_modify_cq_attr* attr);
int SlotPollCq(ibv_cq* cq, int entries, ibv_wc* wc);
int SlotReqNotifyCq(ibv_cq* cq, int solicited_only);

// fake_qp_srq.cc
ibv_srq* SlotCreateSrqEx(ibv_context* context, ibv_srq_init_attr_ex* attr);
int SlotGetSrqNum(ibv_srq* srq, uint32_t* number);
int SlotPostSrqOps(ibv_srq* srq, ibv_ops_wr* op, ibv_ops_wr** bad);
int SlotPostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad);
ibv_xrcd* SlotOpenXrcd(ibv_context* context, ibv_xrcd_init_attr* attr);
int SlotCloseXrcd(ibv_xrcd* xrcd);
ibv_qp* SlotCreateQpEx(ibv_context* context, ibv_qp_init_attr_ex* attr);
ibv_qp* SlotOpenQp(ibv_context* context, ibv_qp_open_attr* attr);
int SlotModifyQpRateLimit(ibv_qp* qp, ibv_qp_rate_limit_attr* attr);
int SlotPostSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
int SlotPostRecv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);

// fake_flow_wq.cc
ibv_wq* SlotCreateWq(ibv_context* context, ibv_wq_init_attr* attr);
int SlotModifyWq(ibv_wq* wq, ibv_wq_attr* attr);
int SlotDestroyWq(ibv_wq* wq);
ibv_rwq_ind_table* SlotCreateRwqIndTable(ibv_context* context, ibv_rwq_ind_table_init_attr* attr);
int SlotDestroyRwqIndTable(ibv_rwq_ind_table* table);
ibv_flow* SlotCreateFlow(ibv_qp* qp, ibv_flow_attr* attr);
int SlotDestroyFlow(ibv_flow* flow);
ibv_flow* SlotOldCreateFlow(ibv_qp* qp, ibv_flow_attr* attr);
int SlotOldDestroyFlow(ibv_flow* flow);
ibv_flow_action* SlotCreateFlowActionEsp(ibv_context* context, ibv_flow_action_esp_attr* attr);
int SlotModifyFlowActionEsp(ibv_flow_action* action, ibv_flow_action_esp_attr* attr);
int SlotDestroyFlowAction(ibv_flow_action* action);
ibv_counters* SlotCreateCounters(ibv_context* context, ibv_counters_init_attr* attr);
int SlotDestroyCounters(ibv_counters* counters);
int SlotAttachCounters(ibv_counters* counters, ibv_counter_attach_attr* attr, ibv_flow* flow);
int SlotReadCounters(ibv_counters* counters, uint64_t* values, uint32_t count, uint32_t flags);

// fake_query.cc
int SlotQueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attr, size_t size);
int SlotQueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attr,
                      size_t size);
int SlotQueryRtValues(ibv_context* context, ibv_values_ex* values);

// fake_newer.cc
ibv_dmah* NewAllocDmah(ibv_context* context, ibv_dmah_init_attr* attr);
int NewDeallocDmah(ibv_dmah* dmah);
ibv_mr* NewRegMrEx(ibv_pd* pd, ibv_mr_init_attr* attr);
int NewDmExportDmabufFd(ibv_dm* dm);
void* NewAllocBuf(ibv_pd* pd, size_t size, ibv_buf** out);
void NewFreeBuf(ibv_buf* handle);

}  // namespace fake
