// What every test of the fake libibverbs starts from: a context, and the promise that nothing is left behind.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>

#include "fake_verbs.h"
#include "newer_verbs.h"

class FakeTest : public ::testing::Test {
 protected:
  FakeTest() {
    fake_reset();
    ibv_device** list = ibv_get_device_list(nullptr);
    context_ = ibv_open_device(list[0]);
    ibv_free_device_list(list);
  }
  ~FakeTest() override {
    fake_reset();
    if (context_ != nullptr) {
      EXPECT_EQ(ibv_close_device(context_), 0);
    }
    for (const char* kind :
         {"context", "pd", "mr", "cq", "qp", "srq", "ah", "mw", "dm", "comp_channel", "wq", "flow"}) {
      EXPECT_EQ(fake_live(kind), 0) << kind;
    }
  }

  ibv_cq* NewCq(ibv_comp_channel* channel = nullptr) { return ibv_create_cq(context_, 16, this, channel, 0); }
  ibv_qp* NewQp(ibv_pd* pd, ibv_cq* cq, ibv_srq* srq = nullptr, ibv_qp_type type = IBV_QPT_RC) {
    ibv_qp_init_attr attr = {};
    attr.send_cq = attr.recv_cq = cq;
    attr.srq = srq;
    attr.qp_type = type;
    attr.qp_context = this;
    return ibv_create_qp(pd, &attr);
  }
  ibv_srq* NewSrq(ibv_pd* pd) {
    ibv_srq_init_attr attr = {};
    attr.attr.max_wr = 8;
    return ibv_create_srq(pd, &attr);
  }

  ibv_context* context_ = nullptr;
  char buffer_[64] = {};
};
