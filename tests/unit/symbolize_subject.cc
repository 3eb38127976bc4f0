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
