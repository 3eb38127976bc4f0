// The functions of rdmacheck/rdmacheck.h, each under two names: its own, for who looks it up (ctypes, dlsym), and the
// private one behind the header's inline function. The header itself is the users' and is not included here.
#include <errno.h>

#include "interpose/checker/guard.h"
#include "interpose/hooks/the_checker.h"
#include "interpose/judge/judge.h"
#include "report/quiet_scope.h"

namespace rdmacheck {
namespace {

int GrowthEnd(Checker& checker, int id) {
  Serial serial;
  return checker.SerialAtCheckpoint(id, &serial) ? JudgeGrowth(checker, serial) : -1;
}

// What `ask` returns, or `otherwise` where there is no memory for it.
template <class Ask>
int Answer(int otherwise, Ask ask) {
  Checker* checker = TheChecker();
  if (checker == nullptr) return otherwise;
  int result = otherwise;
  Guarded(*checker, [&] {
    QuietScope quiet;
    result = ask(*checker);
  });
  return result;
}

}  // namespace
}  // namespace rdmacheck

#define RDMACHECK_API extern "C" __attribute__((visibility("default"), used))
#define RDMACHECK_BEHIND(result, name, arguments) \
  RDMACHECK_API result rdmacheck_private_##name arguments __attribute__((alias("rdmacheck_" #name)))

RDMACHECK_API int rdmacheck_active(void) { return 1; }

RDMACHECK_API int rdmacheck_check_now(void) {
  rdmacheck::Checker* checker = rdmacheck::Checker::IfMade();
  return checker == nullptr ? 0 : static_cast<int>(checker->reporter().errors());
}

RDMACHECK_API int rdmacheck_snapshot(const char* path) {
  if (path == nullptr || path[0] == '\0') return EINVAL;
  return rdmacheck::Answer(ENOMEM, [path](rdmacheck::Checker& checker) {
    checker.parts().before_snapshot(checker);
    return checker.reporter().WriteSnapshot(path);
  });
}

RDMACHECK_API int rdmacheck_growth_begin(void) { return rdmacheck::Answer(0, [](rdmacheck::Checker& checker) { return checker.AddCheckpoint(); }); }

RDMACHECK_API int rdmacheck_growth_end(int id) {
  return rdmacheck::Answer(-1, [id](rdmacheck::Checker& checker) { return rdmacheck::GrowthEnd(checker, id); });
}

RDMACHECK_API void rdmacheck_ignore(const void* handle) {
  rdmacheck::Checker* checker = rdmacheck::Checker::IfMade();
  if (checker == nullptr || handle == nullptr) return;
  // The handle says nothing of its kind; one address names few objects.
  for (size_t kind = 1; kind < rdmacheck::kKindCount; ++kind) {
    const rdmacheck::Found found =
        checker->ledger().Pin(static_cast<rdmacheck::Kind>(kind), reinterpret_cast<uintptr_t>(handle));
    if (found.slot == 0) continue;
    checker->ledger().SetFlags(found.slot, rdmacheck::kIgnored);
    checker->ledger().Unpin(found.slot);
  }
}

RDMACHECK_API void rdmacheck_disable(void) {
  if (rdmacheck::ThreadRecord* self = rdmacheck::ThisThread()) ++self->disabled;
}

RDMACHECK_API void rdmacheck_enable(void) {
  rdmacheck::ThreadRecord* self = rdmacheck::ThisThread();
  if (self != nullptr && self->disabled > 0) --self->disabled;
}

RDMACHECK_BEHIND(int, active, (void));
RDMACHECK_BEHIND(int, check_now, (void));
RDMACHECK_BEHIND(int, snapshot, (const char*));
RDMACHECK_BEHIND(int, growth_begin, (void));
RDMACHECK_BEHIND(int, growth_end, (int));
RDMACHECK_BEHIND(void, ignore, (const void*));
RDMACHECK_BEHIND(void, disable, (void));
RDMACHECK_BEHIND(void, enable, (void));
