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

// Is the call one that libibverbs or a provider makes inside a verb (or, `is_cm`, librdmacm inside a call of its own)?
bool IsInnerCall(const CallStack& stack, bool is_cm);

// Does a file on the stack have a name that matches?
bool HasCaller(const CallStack& stack, std::string_view pattern);

// Equal for equal stacks, in each run of the same files.
uint64_t PlaceOf(const CallStack& stack);

}  // namespace rdmacheck::fault
