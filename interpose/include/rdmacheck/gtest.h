// A GoogleTest listener: a test that leaves verbs objects behind, or makes rdmacheck report an error, fails.
//
//   #include <gtest/gtest.h>
//   #include <rdmacheck/gtest.h>
//
//   int main(int argc, char** argv) {
//     testing::InitGoogleTest(&argc, argv);
//     rdmacheck::FailTestsThatLeak();
//     return RUN_ALL_TESTS();
//   }
//
// It looks at what is created between the start and the end of a test, SetUp and TearDown included; what a suite or an
// environment sets up for several tests is not the test's. rdmacheck_ignore() and rdmacheck_disable() (rdmacheck.h) take out what
// is kept on purpose. The report on standard error says where each object was created.
//
// Without the library it does nothing. C++11 and later, GoogleTest 1.8 and later; call it from the thread that runs the tests.
#ifndef RDMACHECK_GTEST_H
#define RDMACHECK_GTEST_H

#include <gtest/gtest.h>

#include <rdmacheck/rdmacheck.h>

namespace rdmacheck {

class LeakListener : public testing::EmptyTestEventListener {
 public:
  LeakListener() : checkpoint_(0), errors_(0) {}

  void OnTestStart(const testing::TestInfo&) override {
    if (!rdmacheck_active()) return;
    errors_ = rdmacheck_check_now();
    checkpoint_ = rdmacheck_growth_begin();
  }

  void OnTestEnd(const testing::TestInfo&) override {
    if (checkpoint_ <= 0) return;
    const int left = rdmacheck_growth_end(checkpoint_);
    const int errors = rdmacheck_check_now() - errors_;
    checkpoint_ = 0;
    if (left > 0) {
      ADD_FAILURE() << "rdmacheck: the test leaves " << left << (left == 1 ? " verbs object" : " verbs objects") << " alive";
    }
    if (errors > 0) {
      ADD_FAILURE() << "rdmacheck: " << errors << (errors == 1 ? " error was" : " errors were") << " reported during the test";
    }
  }

 private:
  int checkpoint_;
  int errors_;
};

// Adds the listener; GoogleTest owns it. Call it once, after testing::InitGoogleTest().
inline void FailTestsThatLeak() { testing::UnitTest::GetInstance()->listeners().Append(new LeakListener); }

}  // namespace rdmacheck

#endif
