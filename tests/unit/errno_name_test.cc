#include "report/errno_name.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace rdmacheck {
namespace {

TEST(ErrnoNameTest, AKnownValueHasItsNameAndWords) {
  EXPECT_EQ(ErrnoName(EBUSY), "EBUSY");
  EXPECT_EQ(ErrnoText(EBUSY), "Device or resource busy");
}

TEST(ErrnoNameTest, ANegatedValueIsTheSameError) { EXPECT_EQ(ErrnoName(-ENOMEM), "ENOMEM"); }

TEST(ErrnoNameTest, AnUnknownValueIsSaidAsANumber) {
  EXPECT_EQ(ErrnoName(4711), "errno 4711");
  EXPECT_EQ(ErrnoText(4711), "errno 4711");
}

}  // namespace
}  // namespace rdmacheck
