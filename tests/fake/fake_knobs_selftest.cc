// Events, lost devices and the knobs of the fake libibverbs.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <thread>

#include "fake_selftest.h"
#include "fake_slots.h"

namespace {

TEST_F(FakeTest, CqEventIsReadOnceAndAwaitsItsAck) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = NewCq(channel);
  ASSERT_EQ(fake_post_cq_event(cq), 0);
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &cq_context), 0);
  EXPECT_EQ(got, cq);
  EXPECT_EQ(cq_context, this);
  std::thread destroyer([cq] { EXPECT_EQ(ibv_destroy_cq(cq), 0); });
  EXPECT_EQ(fake_await_waiters("ibv_destroy_cq", 1), 0);
  ibv_ack_cq_events(cq, 1);
  destroyer.join();
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(FakeTest, EventsNobodyReadGoWithTheirCq) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* doomed = NewCq(channel);
  ibv_cq* other = NewCq(channel);
  fake_post_cq_event(doomed);
  fake_post_cq_event(other);
  fake_post_cq_event(doomed);
  EXPECT_EQ(ibv_destroy_cq(doomed), 0);
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &cq_context), 0);
  EXPECT_EQ(got, other);
  ibv_ack_cq_events(got, 1);
  EXPECT_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(ibv_get_cq_event(channel, &got, &cq_context), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(ibv_destroy_cq(other), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(FakeTest, GetEventBlocksUntilOneIsPosted) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = NewCq(channel);
  std::thread reader([channel] {
    ibv_cq* got = nullptr;
    void* cq_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &got, &cq_context), 0);
    ibv_ack_cq_events(got, 1);
  });
  EXPECT_EQ(fake_await_waiters("ibv_get_cq_event", 1), 0);
  fake_post_cq_event(cq);
  reader.join();
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(FakeTest, AsyncEventOfAQpHoldsItsDestroy) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_cq* cq = NewCq();
  ibv_qp* qp = NewQp(pd, cq);
  ASSERT_EQ(fake_post_async_event(context_, IBV_EVENT_QP_FATAL, qp), 0);
  ASSERT_EQ(fake_post_async_event(context_, IBV_EVENT_PORT_ACTIVE, reinterpret_cast<void*>(1)), 0);
  ibv_async_event event = {};
  ibv_async_event port_event = {};
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  ASSERT_EQ(ibv_get_async_event(context_, &port_event), 0);
  EXPECT_EQ(event.element.qp, qp);
  EXPECT_EQ(port_event.element.port_num, 1);
  ibv_ack_async_event(&port_event);
  std::thread destroyer([qp] { EXPECT_EQ(ibv_destroy_qp(qp), 0); });
  EXPECT_EQ(fake_await_waiters("ibv_destroy_qp", 1), 0);
  ibv_ack_async_event(&event);
  destroyer.join();
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(FakeTest, AcksBeyondWhatWasTakenHangTheDestroy) {
  ibv_cq* cq = NewCq();
  ibv_ack_cq_events(cq, 1);
  std::thread destroyer([cq] { EXPECT_EQ(ibv_destroy_cq(cq), 0); });
  EXPECT_EQ(fake_await_waiters("ibv_destroy_cq", 1), 0);
  ibv_ack_cq_events(cq, UINT32_MAX);  // wraps the counter back: the only way out
  destroyer.join();
}

TEST_F(FakeTest, DisassociatedDestroyWaitsForNothing) {
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "1");
  fake_fail_next("ibv_destroy_cq", EIO, 1);
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = NewCq(channel);
  fake_post_cq_event(cq);
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &got, &cq_context), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "0");
}

TEST_F(FakeTest, LostDeviceFailsCreatesAndKeepsDestroysWorking) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context_);
  ibv_cq* cq = NewCq(channel);
  ibv_pd* pd = ibv_alloc_pd(context_);
  ASSERT_EQ(fake_device_fatal(context_), 0);
  ibv_async_event event = {};
  ASSERT_EQ(ibv_get_async_event(context_, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
  ibv_ack_async_event(&event);
  ibv_cq* got = nullptr;
  void* cq_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &got, &cq_context), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(ibv_alloc_pd(context_), nullptr);
  EXPECT_EQ(errno, EIO);

  fake_set("FAKE_OLD_KERNEL", "1");
  EXPECT_EQ(ibv_dealloc_pd(pd), EIO);
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "1");
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  fake_set("RDMAV_ALLOW_DISASSOC_DESTROY", "0");
  fake_set("FAKE_OLD_KERNEL", "0");
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(FakeTest, FailuresCountDownAndStaleOnesLeaveErrno) {
  fake_fail_after("ibv_alloc_pd", 1, ENOMEM, 2);
  ibv_pd* first = ibv_alloc_pd(context_);
  EXPECT_NE(first, nullptr);
  for (int i = 0; i < 2; ++i) {
    errno = 0;
    EXPECT_EQ(ibv_alloc_pd(context_), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  fake_set("FAKE_FAIL", "ibv_alloc_pd=stale,ibv_dealloc_pd@2=EBUSY:1");
  errno = ENOTTY;
  EXPECT_EQ(ibv_alloc_pd(context_), nullptr);
  EXPECT_EQ(errno, ENOTTY);
  ibv_pd* second = ibv_alloc_pd(context_);
  EXPECT_EQ(ibv_dealloc_pd(first), 0);
  EXPECT_EQ(ibv_dealloc_pd(second), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(second), 0);
}

TEST_F(FakeTest, LatchHoldsTheVerbAtItsStartOrReturn) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  fake_block("ibv_dealloc_pd");
  std::thread waits([pd] { EXPECT_EQ(ibv_dealloc_pd(pd), 0); });
  EXPECT_EQ(fake_await_waiters("ibv_dealloc_pd", 1), 0);
  EXPECT_EQ(fake_live("pd"), 1);
  fake_unblock("ibv_dealloc_pd");
  waits.join();

  pd = ibv_alloc_pd(context_);
  fake_block_return("ibv_dealloc_pd");
  std::thread returns([pd] { EXPECT_EQ(ibv_dealloc_pd(pd), 0); });
  EXPECT_EQ(fake_await_waiters("ibv_dealloc_pd", 1), 0);
  EXPECT_EQ(fake_live("pd"), 0);
  fake_unblock("ibv_dealloc_pd");
  returns.join();
}

TEST_F(FakeTest, LaxDriverDestroysParentsFirst) {
  fake_set("FAKE_LAX", "1");
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_mr* mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
}

TEST_F(FakeTest, SzAndNullSlotsShapeTheContext) {
  ibv_device** list = ibv_get_device_list(nullptr);
  fake_set("FAKE_SZ", "440");
  ibv_context* old = ibv_open_device(list[0]);
  EXPECT_EQ(verbs_get_ctx(old)->sz, fake::SzHere(440));
  EXPECT_EQ(verbs_get_ctx_op(old, create_cq_ex), nullptr);
  EXPECT_NE(verbs_get_ctx_op(old, create_qp_ex), nullptr);
  EXPECT_EQ(ibv_close_device(old), 0);

  fake_set("FAKE_SZ", "696");
  fake_set("FAKE_NULL_SLOTS", "alloc_td,alloc_mw");
  ibv_context* partial = ibv_open_device(list[0]);
  EXPECT_EQ(verbs_get_ctx_op(partial, alloc_td), nullptr);
  EXPECT_NE(verbs_get_ctx_op(partial, dealloc_td), nullptr);
  EXPECT_EQ(partial->ops.alloc_mw, nullptr);
  EXPECT_EQ(ibv_close_device(partial), 0);
  ibv_free_device_list(list);
}

TEST_F(FakeTest, TouchingASlotBeforeAnOldContextDies) {
  fake_set("FAKE_SZ", "352");
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* old = ibv_open_device(list[0]);
  volatile uintptr_t* slot = reinterpret_cast<uintptr_t*>(&verbs_get_ctx(old)->query_port);
  EXPECT_DEATH(*slot = 0, "");
  EXPECT_EQ(ibv_close_device(old), 0);
  ibv_free_device_list(list);
}

TEST_F(FakeTest, DoubleDestroyAborts) {
  fake_set("FAKE_KEEP", "1");
  ibv_pd* pd = ibv_alloc_pd(context_);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_DEATH(ibv_dealloc_pd(pd), "fake: destroy of a dead handle reached libibverbs");
  EXPECT_DEATH(ibv_dealloc_pd(nullptr), "fake: destroy of NULL reached libibverbs");
  EXPECT_EQ(ibv_reg_mr(pd, buffer_, 8, 0), nullptr);  // use of a dead one: the kernel's answer
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(FakeTest, OldVersionsForwardToTheNewOnes) {
  using Open = ibv_context* (*)(ibv_device*);
  auto open_1_0 = reinterpret_cast<Open>(dlvsym(RTLD_DEFAULT, "ibv_open_device", "IBVERBS_1.0"));
  auto open_1_1 = reinterpret_cast<Open>(dlvsym(RTLD_DEFAULT, "ibv_open_device", "IBVERBS_1.1"));
  ASSERT_NE(open_1_0, nullptr);
  EXPECT_NE(open_1_0, open_1_1);
  const uint64_t before = fake_calls("ibv_open_device");
  ibv_context* context = open_1_0(context_->device);
  EXPECT_EQ(fake_compat_calls("ibv_open_device"), 1u);
  EXPECT_EQ(fake_calls("ibv_open_device"), before + 1);
  EXPECT_EQ(ibv_close_device(context), 0);
  EXPECT_EQ(dlvsym(RTLD_DEFAULT, "ibv_create_comp_channel", "IBVERBS_1.1"), nullptr);
}

TEST_F(FakeTest, ForkInitComesTooLateAfterAnMr) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ibv_mr* mr = ibv_reg_mr(pd, buffer_, sizeof buffer_, 0);
  EXPECT_EQ(ibv_fork_init(), EINVAL);
  fake_set("FAKE_COPY_ON_FORK", "1");
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

}  // namespace
