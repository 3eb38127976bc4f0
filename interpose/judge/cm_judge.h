// The rules of rdma_cm: ids, channels and the events that tie them.
#pragma once

#include "interpose/judge/judge.h"

namespace rdmacheck {

// An id that a call has made (or an event brought), with the channel it is on. Already known: nothing happens.
void NoteCmId(Call& call, uintptr_t id, uintptr_t channel);

// What librdmacm has made for this id inside a call that just returned: its QP, SRQ, CQs and channels hang on it.
struct CmBelongings {
  Argument objects[6];
  int count = 0;
};
void NoteCmBelongings(Call& call, uintptr_t id, const CmBelongings& belongings);

// The event just taken. `waits`: the id whose destroy waits for its ack (the listening one for a connection request).
void NoteCmEvent(Call& call, uintptr_t event, uintptr_t id, uintptr_t waits, uintptr_t channel, int type, int status);

// Before rdma_destroy_id, rdma_destroy_ep or rdma_migrate_id: cm-unacked-event, self-deadlock; and where `qp_left` asks
// for it, a QP that stays is remembered for cm-qp-left. Whether it was left is known only later: a program that kept the
// pointer may call ibv_destroy_qp afterwards, as rdma-core's own rping does.
void JudgeCmId(Call& call, Slot id, bool qp_left);
void JudgeQpsLeftAtExit(Checker& checker);
// Before rdma_destroy_event_channel: cm-id-leak, cm-unacked-event.
void JudgeCmChannel(Call& call, Slot channel);
// What goes with an id without a call of its own.
void ForgetCmId(Call& call, Slot id);

}  // namespace rdmacheck
