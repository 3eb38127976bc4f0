#include "interpose/hooks/the_checker.h"

#include "interpose/judge/objects.h"
#include "interpose/judge/state.h"

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
constexpr Parts kParts{&FillReport, &MakeJudgeState, kExportedVerbs};

}  // namespace rdmacheck
