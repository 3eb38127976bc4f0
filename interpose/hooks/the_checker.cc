#include "interpose/hooks/the_checker.h"

#include "interpose/hooks/bypass.h"
#include "interpose/hooks/reentry.h"
#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"
#include "interpose/judge/witness.h"

namespace rdmacheck {
namespace {

// The rows that are exported symbols: all are in place as soon as the library is loaded.
constexpr uint32_t kExportedVerbs = 0
#define PLT_VERB(library, version, symbol, argc, ...) +1
#define SLOT_VERB(symbol, slot, ...)
#include "interpose/effects/all_verbs.def"
#undef PLT_VERB
#undef SLOT_VERB
    ;

}  // namespace

// A constant, for a verb may be called before any constructor of ours has run.
constexpr Parts kParts{&FillReport, [](Checker& checker) { CompareWithKernel(checker, nullptr); },
                       [](Checker& checker) {
                         for (const Statement& bypass : CallersThatBypass()) checker.Unwatched(bypass);
                       },
                       &MakeJudgeState, [] { Reentry::ThreadEnds(); }, kExportedVerbs};

}  // namespace rdmacheck
