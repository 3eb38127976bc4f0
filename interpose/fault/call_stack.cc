#include "interpose/fault/call_stack.h"

#include <dlfcn.h>
#include <unwind.h>

#include <atomic>

#include "interpose/libraries/loaded_object.h"
#include "report/modules.h"
#include "report/suppressions.h"

namespace rdmacheck::fault {
namespace {

// Where a file of code begins in memory; its name stays as long as it is loaded.
struct File {
  const char* name = "";
  uintptr_t base = 0;
};

File FileAt(const void* pc) {
  Dl_info info;
  if (dladdr(pc, &info) == 0 || info.dli_fname == nullptr) return {};
  return {info.dli_fname, reinterpret_cast<uintptr_t>(info.dli_fbase)};
}

enum class Whose : uintptr_t { kUnknown, kProgram, kChecker, kVerbs, kRdmacm };

Whose WhoseIs(const void* pc) {
  const std::string_view name = LastPart(FileAt(pc).name);
  if (name.find("librdmacheck.so") == 0) return Whose::kChecker;
  if (!IsOfRdmaCore(name)) return Whose::kProgram;
  return name.find("librdmacm.so") == 0 ? Whose::kRdmacm : Whose::kVerbs;
}

// Call sites are few, and asking the loader takes long: what was found is kept, with the address in one word (a file that
// is unloaded and replaced by one of another kind at the same place is not expected of a program under test).
constexpr size_t kSites = 1024;
std::atomic<uint64_t> sites[kSites];

Whose WhoseCode(const void* pc) {
  const uint64_t address = reinterpret_cast<uintptr_t>(pc);
  std::atomic<uint64_t>& site = sites[(address * 0x9E3779B97F4A7C15u) >> 54];
  const uint64_t known = site.load(std::memory_order_relaxed);
  if (known >> 8 == address && known != 0) return static_cast<Whose>(known & 0xff);
  const Whose whose = WhoseIs(pc);
  site.store(address << 8 | static_cast<uint64_t>(whose), std::memory_order_relaxed);
  return whose;
}

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  auto* const stack = static_cast<CallStack*>(data);
  const uintptr_t pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  void* const at = reinterpret_cast<void*>(pc);
  if (IsOwnCode(pc) || WhoseCode(at) == Whose::kChecker) return _URC_NO_REASON;
  stack->pcs[stack->depth++] = at;
  return stack->depth == CallStack::kMost ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

void TakeCallStack(CallStack* stack) {
  stack->depth = 0;
  _Unwind_Backtrace(&Visit, stack);
}

bool IsInnerCall(const CallStack& stack, bool is_cm) {
  if (stack.depth == 0) return false;
  const Whose whose = WhoseCode(stack.pcs[0]);
  return whose == Whose::kVerbs || (is_cm && whose == Whose::kRdmacm);
}

bool HasCaller(const CallStack& stack, std::string_view pattern) {
  for (size_t i = 0; i < stack.depth; ++i) {
    if (MatchesWildcard(pattern, LastPart(FileAt(stack.pcs[i]).name))) return true;
  }
  return false;
}

uint64_t PlaceOf(const CallStack& stack) {
  uint64_t place = 1;
  for (size_t i = 0; i < stack.depth; ++i) {
    const uint64_t offset = reinterpret_cast<uintptr_t>(stack.pcs[i]) - FileAt(stack.pcs[i]).base;
    place = (place ^ offset) * 0x9E3779B97F4A7C15u + (place >> 31);
  }
  return place;
}

}  // namespace rdmacheck::fault
