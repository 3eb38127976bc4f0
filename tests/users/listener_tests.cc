// The tests of a user, some of which leave objects behind. users.py runs them with and without the library.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <rdmacheck/gtest.h>

namespace {

class Device : public testing::Test {
 protected:
  // Of the whole suite: no test's.
  static void SetUpTestSuite() {
    ibv_device** list = ibv_get_device_list(nullptr);
    context_ = ibv_open_device(list[0]);
    ibv_free_device_list(list);
  }
  static void TearDownTestSuite() { ibv_close_device(context_); }
  static ibv_context* context_;
};
ibv_context* Device::context_ = nullptr;

TEST_F(Device, ReleasesWhatItCreates) {
  ibv_pd* pd = ibv_alloc_pd(context_);
  ASSERT_NE(pd, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(Device, LeavesOne) { ASSERT_NE(ibv_alloc_pd(context_), nullptr); }

TEST_F(Device, ReleasesAfterAnotherHasLeftOne) {
  ibv_cq* cq = ibv_create_cq(context_, 1, nullptr, nullptr, 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
}

TEST_F(Device, LeavesTwo) {
  ASSERT_NE(ibv_alloc_pd(context_), nullptr);
  ASSERT_NE(ibv_create_cq(context_, 1, nullptr, nullptr, 0), nullptr);
}

TEST_F(Device, KeepsOneOnPurpose) { rdmacheck_ignore(ibv_alloc_pd(context_)); }

TEST_F(Device, DestroysTwice) {
  if (!rdmacheck_active()) return;  // the second would be forwarded
  ibv_pd* pd = ibv_alloc_pd(context_);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_NE(ibv_dealloc_pd(pd), 0);
}

TEST_F(Device, FailsItselfAndLeavesOne) {
  ASSERT_NE(ibv_alloc_pd(context_), nullptr);
  FAIL() << "its own failure";
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  rdmacheck::FailTestsThatLeak();
  return RUN_ALL_TESTS();
}
