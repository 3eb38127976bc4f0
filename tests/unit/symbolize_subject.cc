#include "symbolize_subject.h"

namespace subject {
namespace {

volatile int calls = 0;

__attribute__((always_inline)) inline void Inlined(Recorder record) {
  record();
  calls = 1;
}

}  // namespace

void Outer(Recorder record) {
  Inlined(record);
  calls = 2;
}

const int kInlinedLine = 9;
const int kOuterLine = 16;

}  // namespace subject

void subject_plain(subject::Recorder record) {
  record();
  subject::Outer([] {});
}

// The line marker makes this function one of a header's, as the inline verbs are.
# 100 "/usr/include/infiniband/verbs.h"
static inline __attribute__((always_inline)) void inline_verb(subject::Recorder record) {
  record();
  subject::Outer([] {});
}
# 200 "/src/caller.cc"
void subject_calls_inline_verb(subject::Recorder record) {
  inline_verb(record);
}

static __attribute__((noinline)) void subject_hidden(subject::Recorder record) {
  record();
  subject::Outer([] {});
}
void subject_calls_hidden(subject::Recorder record) {
  subject_hidden(record);
  subject::Outer([] {});
}
