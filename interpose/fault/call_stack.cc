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

// One walk up the stack: its frames, and whether a marked one is among them with no signal handler before it.
struct Walk {
  CallStack* stack;
  uintptr_t mark = 0;
  bool found = false, behind_signal = false;
  bool last_is_ours = false;
  uintptr_t last_low = 0;  // where the last frame begins, at the lower end
};

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  auto* const walk = static_cast<Walk*>(data);
  int is_signal = 0;
  const uintptr_t pc = _Unwind_GetIPInfo(context, &is_signal);
  if (pc == 0) return _URC_END_OF_STACK;
  const uintptr_t low = _Unwind_GetCFA(context);
  if (walk->last_is_ours && walk->mark >= walk->last_low && walk->mark < low && !walk->behind_signal) walk->found = true;
  if (is_signal != 0) walk->behind_signal = true;
  walk->last_is_ours = IsOwnCode(pc);
  walk->last_low = low;
  void* const at = reinterpret_cast<void*>(pc);
  if (walk->last_is_ours || WhoseCode(at) == Whose::kChecker) return _URC_NO_REASON;
  CallStack* const stack = walk->stack;
  if (stack->depth < CallStack::kMost) stack->pcs[stack->depth++] = at;
  return stack->depth == CallStack::kMost && (walk->mark == 0 || walk->found) ? _URC_END_OF_STACK : _URC_NO_REASON;
}

Walk WalkUp(uintptr_t mark, CallStack* stack) {
  Walk walk;
  walk.stack = stack;
  walk.mark = mark;
  stack->depth = 0;
  _Unwind_Backtrace(&Visit, &walk);
  return walk;
}

}  // namespace

thread_local Marks marks;

void TakeCallStack(CallStack* stack) { WalkUp(0, stack); }

bool IsInnerCall(bool is_cm, CallStack* stack) {
  for (uintptr_t Marks::*each : {&Marks::verb, &Marks::cm}) {
    if (each == &Marks::cm && !is_cm) continue;
    const uintptr_t mark = marks.*each;
    if (mark == 0) continue;
    const Walk walk = WalkUp(mark, stack);
    if (walk.found) return true;
    if (!walk.behind_signal) marks.*each = 0;
  }
  TakeCallStack(stack);
  if (stack->depth == 0) return false;
  const Whose whose = WhoseCode(stack->pcs[0]);
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
