// Who makes a call: the frames above our own and the checker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rdmacheck::fault {

struct CallStack {
  static constexpr size_t kMost = 32;
  void* pcs[kMost];
  size_t depth = 0;
};

// Innermost first. Takes no memory; may take the loader's lock.
void TakeCallStack(CallStack* stack);

// Is the call one that libibverbs or a provider makes inside a verb (or, `is_cm`, librdmacm inside a call of its own)? Takes
// the stack. A library may jump from one verb to another, and then has no frame of its own: so each thread marks the frame in
// which it entered a verb. A mark that is not on the stack any more (longjmp) is taken away.
bool IsInnerCall(bool is_cm, CallStack* stack);

// Frames of Forward() that this thread is in, 0 for none.
struct Marks {
  uintptr_t verb = 0, cm = 0;
};
extern thread_local Marks marks __attribute__((tls_model("initial-exec")));

class InsideCall {
 public:
  InsideCall(bool is_cm, void* frame) : mark_(is_cm ? &marks.cm : &marks.verb), before_(*mark_) {
    *mark_ = reinterpret_cast<uintptr_t>(frame);
  }
  ~InsideCall() { *mark_ = before_; }
  InsideCall(const InsideCall&) = delete;
  InsideCall& operator=(const InsideCall&) = delete;

 private:
  uintptr_t* const mark_;
  const uintptr_t before_;
};

// Does a file on the stack have a name that matches?
bool HasCaller(const CallStack& stack, std::string_view pattern);

// Equal for equal stacks, in each run of the same files.
uint64_t PlaceOf(const CallStack& stack);

}  // namespace rdmacheck::fault
