// The only include of <libunwind.h>.
#include "interpose/stacks/unwind.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <cstdint>

#include "interpose/libraries/loaded_object.h"
#include "interpose/stacks/frame_table.h"
#include "report/frugal.h"

namespace rdmacheck {
namespace {

// Between the hook and unw_step lie a few frames of ours; a caller deeper than this is not looked for.
constexpr size_t kOwnFrames = 24;
constexpr size_t kWord = sizeof(uintptr_t);

// By libunwind, frame by frame: what every other way is measured by. Some 400 ns a frame.
void StepByStep(void* caller, Trace* trace) {
  unw_context_t context;
  unw_cursor_t cursor;
  if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) return;
  size_t n = 0;
  for (size_t i = 0; n < trace->limit && (n > 0 || i < kOwnFrames) && unw_step(&cursor) > 0; ++i) {
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0) break;
    if (n > 0 || reinterpret_cast<void*>(ip) == caller) trace->pcs[n++] = reinterpret_cast<void*>(ip);
  }
  if (n > 0) trace->depth = n;
}

#if defined(__x86_64__)

// Stands for a frame of any size that libunwind is asked about: there is nothing in it.
constexpr size_t kMostOfFrame = 512 * 1024;
alignas(4096) char empty_frame[kMostOfFrame];

// How the frame is left that this return address leads to. libunwind is asked to step out of one that is made up: the stack
// pointer leads into an empty frame, and the frame pointer to words that say where they were read. All have low bits of their
// own, so that the result says what it came from.
FrameRule AskLibunwind(uintptr_t pc) {
  constexpr uintptr_t kOfFrame = 3, kOfStored = 5, kOfOthers = 1, kLowBits = 7;
  constexpr int kStored = 16;
  alignas(16) char around_frame[2 * kStored * kWord + 2 * kWord] = {};
  const uintptr_t stack = reinterpret_cast<uintptr_t>(empty_frame) + 4096;
  const uintptr_t frame = reinterpret_cast<uintptr_t>(around_frame) + kStored * kWord + kOfFrame;
  for (int i = -kStored + 1; i < kStored; ++i) {
    const uintptr_t stored = stack + 1024 + static_cast<uintptr_t>(i + kStored) * 64 + kOfStored;
    __builtin_memcpy(reinterpret_cast<void*>(frame + static_cast<uintptr_t>(i) * kWord), &stored, kWord);
  }
  unw_context_t context = {};
  for (greg_t& any : context.uc_mcontext.gregs) any = static_cast<greg_t>(stack + kOfOthers);
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(pc);
  context.uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>(stack);
  context.uc_mcontext.gregs[REG_RBP] = static_cast<greg_t>(frame);
  unw_cursor_t cursor;
  unw_proc_info_t info;
  if (unw_init_local(&cursor, &context) != 0) return FrameRule::Unusual();
  // What has no tables is left by guessing, which needs the real frame; and behind a signal the stack may be another one.
  if (unw_is_signal_frame(&cursor) != 0 || unw_get_proc_info(&cursor, &info) != 0 || info.format == UNW_INFO_FORMAT_DYNAMIC) {
    return FrameRule::Unusual();
  }
  const int stepped = unw_step(&cursor);
  unw_word_t up = 0, cfa = 0;
  if (stepped < 0 || unw_get_reg(&cursor, UNW_REG_IP, &up) != 0) return FrameRule::Unusual();
  unw_save_loc_t return_address{}, saved{};
  if (unw_get_save_loc(&cursor, UNW_X86_64_RIP, &return_address) != 0) return FrameRule::Unusual();
  if (return_address.type == UNW_SLT_NONE) return FrameRule::Outermost();
  if (return_address.type != UNW_SLT_MEMORY || unw_get_reg(&cursor, UNW_REG_SP, &cfa) != 0 ||
      return_address.u.addr != cfa - kWord || unw_get_save_loc(&cursor, UNW_X86_64_RBP, &saved) != 0 ||
      saved.type != UNW_SLT_MEMORY) {
    return FrameRule::Unusual();
  }
  FrameRule::Base base = FrameRule::kSpecial;
  uintptr_t bytes = 0;
  if ((cfa & kLowBits) == 0) {
    base = FrameRule::kStack;
    bytes = cfa - stack;
  } else if ((cfa & kLowBits) == kOfFrame) {
    base = FrameRule::kFrame;
    bytes = cfa - frame;
  } else if ((cfa & kLowBits) == kOfStored) {
    base = FrameRule::kStored;
    bytes = (kStored - (cfa - kOfStored - 1024 - stack) / 64) * kWord;
  }
  if (base == FrameRule::kSpecial || bytes == 0 || bytes % kWord != 0 || bytes / kWord > FrameRule::kMostWords) {
    return FrameRule::Unusual();
  }
  uint32_t where = FrameRule::kNotSaved;
  if (saved.u.addr == frame) {
    where = FrameRule::kSavedAtFrame;
  } else if (saved.u.addr != reinterpret_cast<uintptr_t>(&context.uc_mcontext.gregs[REG_RBP])) {
    const uintptr_t below = cfa - saved.u.addr;
    if (below % kWord != 0 || below < 2 * kWord || below >= FrameRule::kSavedAtFrame * kWord) return FrameRule::Unusual();
    where = static_cast<uint32_t>(below / kWord);
  }
  return FrameRule(base, static_cast<uint32_t>(bytes / kWord), where);
}

__attribute__((noinline, cold)) FrameRule Learn(uintptr_t pc) {
  const FrameRule rule = AskLibunwind(pc);
  // In a program that has forbidden itself system calls libunwind cannot ask what may be read.
  if (!(rule == FrameRule::Unusual() && Frugal())) FrameTable::Add(pc, rule);
  return rule;
}

FrameRule RuleOf(uintptr_t pc) {
  const FrameRule rule = FrameTable::Find(pc);
  return __builtin_expect(rule.known(), true) ? rule : Learn(pc);
}

#endif

// The end of the stack that `from` lies in as far as it is known, at least up to `to`: pages are asked for one by one, each once
// as long as the thread stays on that stack.
__attribute__((noinline, cold)) bool ReachBeyond(StackBounds* beyond, uintptr_t from, uintptr_t to) {
  constexpr uintptr_t kPage = 4096, kMost = 64u << 20;
  if (to < from || to - from > kMost) return false;
  if (!beyond->Holds(from)) *beyond = {from & ~(kPage - 1), (from & ~(kPage - 1)) + kPage};
  for (; beyond->high < to; beyond->high += kPage) {
    if (!CanRead(beyond->high)) return false;
  }
  return true;
}

// The part of a stack that may be read: from a call to its end.
class Readable {
 public:
  Readable(uintptr_t from, StackBounds* beyond) : from_(from), beyond_(beyond) {
    const StackBounds& bounds = BoundsOfThisThread();
    if (__builtin_expect(bounds.Holds(from), true)) {
      high_ = bounds.high;
      beyond_ = nullptr;
    } else {
      high_ = beyond->Holds(from) ? beyond->high : from;
    }
  }
  bool UpTo(uintptr_t end) {
    if (__builtin_expect(end <= high_, true)) return true;
    if (beyond_ == nullptr || !ReachBeyond(beyond_, from_, end)) return false;
    high_ = beyond_->high;
    return true;
  }
  bool Holds(uintptr_t at) const { return at >= from_ && at <= high_ - kWord; }

 private:
  const uintptr_t from_;
  uintptr_t high_ = 0;
  StackBounds* beyond_;  // null: high_ is the end
};

// A trace in the making, in registers. AddressSanitizer's redzones are among what is read.
struct Writing {
  explicit Writing(const Trace& trace)
      : pc(trace.pcs), end(trace.pcs + trace.limit), value(trace.value), at(trace.at) {}
  __attribute__((always_inline)) bool Add(uintptr_t address) {  // false: that was the last one
    hash = NextHash(hash, address);
    *pc++ = reinterpret_cast<void*>(address);
    return pc != end;
  }
  __attribute__((always_inline, no_sanitize("address", "thread"))) uintptr_t Note(uintptr_t where) {
    const uintptr_t read = *reinterpret_cast<const uintptr_t*>(where);
    *value++ = read;
    *at++ = reinterpret_cast<const uintptr_t*>(where);
    return read;
  }
  size_t words(const Trace& trace) const { return static_cast<size_t>(value - trace.value); }
  void Store(Trace* trace) const {
    trace->depth = static_cast<size_t>(pc - trace->pcs);
    trace->words = words(*trace);
    trace->recognisable = true;
    trace->hash = hash;
  }

  void** pc;
  void** const end;
  uintptr_t* value;
  const uintptr_t** at;
  uint64_t hash = 0;
};

#if defined(__x86_64__)
// False: here only libunwind gets on.
__attribute__((no_sanitize("address", "thread"))) bool WalkByTables(const CallPoint& point, StackBounds* beyond, Trace* trace) {
  Readable readable(point.stack, beyond);
  Writing writing(*trace);
  uintptr_t pc = reinterpret_cast<uintptr_t>(point.caller), sp = point.stack, fp = point.frame;
  uintptr_t fp_at = 0;  // where the frame pointer was read; to be noted once the walk goes by it
  const auto go_by_frame = [&] {
    if (fp_at != 0) writing.Note(fp_at);
    fp_at = 0;
  };
  while (writing.Add(pc)) {
    const FrameRule rule = RuleOf(pc);
    uintptr_t cfa = 0;
    if (__builtin_expect(rule.base() == FrameRule::kStack, true)) {
      cfa = sp + rule.offset();
    } else if (rule.base() == FrameRule::kFrame) {
      go_by_frame();
      cfa = fp + rule.offset();
    } else if (rule.base() == FrameRule::kStored) {
      go_by_frame();
      const uintptr_t at = fp - rule.offset();
      if (!readable.Holds(at) || writing.words(*trace) + 3 > Trace::RoomForWords(trace->limit)) return false;
      cfa = writing.Note(at);
    } else {
      if (!(rule == FrameRule::Outermost())) return false;
      break;
    }
    if (cfa <= sp || !readable.UpTo(cfa)) return false;
    if (const uint32_t saved = rule.saved_frame(); saved != FrameRule::kNotSaved) {
      if (saved == FrameRule::kSavedAtFrame) go_by_frame();
      fp_at = saved == FrameRule::kSavedAtFrame ? fp : cfa - saved * kWord;
      if (fp_at < sp || fp_at > cfa - kWord) return false;
      fp = *reinterpret_cast<const uintptr_t*>(fp_at);
    }
    sp = cfa;
    pc = writing.Note(cfa - kWord);
    if (pc == 0) break;
  }
  writing.Store(trace);
  return true;
}
#else
bool WalkByTables(const CallPoint&, StackBounds*, Trace*) { return false; }
#endif

// To where the chain ends, or leaves the stack.
__attribute__((no_sanitize("address", "thread"))) void WalkByFrames(const CallPoint& point, StackBounds* beyond, Trace* trace) {
  Readable readable(point.stack, beyond);
  Writing writing(*trace);
  uintptr_t pc = reinterpret_cast<uintptr_t>(point.caller), sp = point.stack, fp = point.frame;
  while (writing.Add(pc)) {
    const uintptr_t end = fp + 2 * kWord;
    if (fp < sp || end <= sp || fp % kWord != 0 || !readable.UpTo(end)) break;
    const uintptr_t at = fp;
    fp = writing.Note(at);
    pc = WithoutSignature(writing.Note(at + kWord));
    if (pc == 0) break;
    sp = end;
  }
  writing.Store(trace);
}

}  // namespace

void TakeStack(UnwindBy by, const CallPoint& point, StackBounds* beyond, Trace* trace) {
  trace->depth = trace->words = 0;
  trace->hash = 0;
  trace->recognisable = false;
  if (trace->limit == 0) return;
  if (by == UnwindBy::kLibunwind && UnwinderIsTorn()) by = UnwindBy::kNone;
  if (by == UnwindBy::kFramePointers) {
    WalkByFrames(point, beyond, trace);
    return;
  }
  if (by == UnwindBy::kLibunwind) {
    if (FrameTable::Holds(FrameTable::Now()) && WalkByTables(point, beyond, trace)) return;
    StepByStep(point.caller, trace);
  }
  if (trace->depth == 0) trace->pcs[trace->depth++] = point.caller;
  for (size_t i = 0; i < trace->depth; ++i) trace->hash = NextHash(trace->hash, reinterpret_cast<uintptr_t>(trace->pcs[i]));
}

namespace {

class CopyReader {
 public:
  explicit CopyReader(const StackCopy& copy) : copy_(copy) {}
  bool Read(uintptr_t at, uintptr_t* value) const {
    if (at < copy_.from || at > copy_.to - kWord || at % kWord != 0) return false;
    __builtin_memcpy(value, copy_.bytes + (at - copy_.from), kWord);
    return true;
  }
  // Does a word from there on lead back into our code? Then another hook stands further out.
  bool LeadsToOwnCode(uintptr_t from) const {
    for (uintptr_t value; Read(from, &value); from += kWord) {
      if (IsOwnCode(value)) return true;
    }
    return false;
  }

 private:
  const StackCopy& copy_;
};

bool WalkCopyByFrames(const StackCopy& copy, void** pcs, size_t limit, size_t* depth) {
  const CopyReader reader(copy);
  uintptr_t pc = copy.pc, sp = copy.from, fp = copy.frame;
  for (*depth = 0; *depth < limit && pc != 0;) {
    pcs[(*depth)++] = reinterpret_cast<void*>(pc);
    const uintptr_t end = fp + 2 * kWord;
    if (fp < sp || end > copy.to) return false;
    if (end == copy.to) return true;
    if (!reader.Read(fp + kWord, &pc) || !reader.Read(fp, &fp)) return false;
    pc = WithoutSignature(pc);
    sp = end;
  }
  return false;
}

#if defined(__x86_64__)
bool WalkCopyByTables(const StackCopy& copy, void** pcs, size_t limit, size_t* depth) {
  const CopyReader reader(copy);
  uintptr_t pc = copy.pc, sp = copy.from, fp = copy.frame;
  for (*depth = 0; *depth < limit && pc != 0;) {
    pcs[(*depth)++] = reinterpret_cast<void*>(pc);
    const FrameRule rule = RuleOf(pc);
    uintptr_t cfa = 0;
    if (rule.base() == FrameRule::kStack) {
      cfa = sp + rule.offset();
    } else if (rule.base() == FrameRule::kSpecial) {
      return false;
    } else if (fp == 0) {
      // Nobody between needed the register: the hook's own frame, if no other hook stands further out.
      return IsOwnCode(pc) && !reader.LeadsToOwnCode(sp);
    } else if (rule.base() == FrameRule::kFrame) {
      cfa = fp + rule.offset();
    } else if (!reader.Read(fp - rule.offset(), &cfa)) {
      return false;
    }
    if (cfa == copy.to) return true;
    if (cfa <= sp) return false;
    if (const uint32_t saved = rule.saved_frame(); saved == FrameRule::kSavedAtFrame) {
      if (fp == 0 || !reader.Read(fp, &fp)) return false;
    } else if (saved != FrameRule::kNotSaved && !reader.Read(cfa - saved * kWord, &fp)) {
      return false;
    }
    sp = cfa;
    if (!reader.Read(cfa - kWord, &pc)) return false;
  }
  return false;
}
#endif

}  // namespace

bool WalkCopy(UnwindBy by, const StackCopy& copy, void** pcs, size_t limit, size_t* depth) {
  *depth = 0;
  if (by == UnwindBy::kNone || limit == 0) return false;
#if defined(__x86_64__)
  if (by == UnwindBy::kLibunwind && !UnwinderIsTorn() && FrameTable::Holds(FrameTable::Now())) {
    return WalkCopyByTables(copy, pcs, limit, depth);
  }
#endif
  return WalkCopyByFrames(copy, pcs, limit, depth);
}

void UnwinderBeginUnload() { FrameTable::BeginUnload(); }

void ForgetCode() { unw_flush_cache(unw_local_addr_space, 0, 0); }

void UnwinderEndUnload() {
  ForgetCode();
  FrameTable::EndUnload();
}

Ancestor FindAncestor(uintptr_t frame, uintptr_t inner) {
  constexpr int kMostSteps = 512;
  unw_context_t context;
  unw_cursor_t cursor;
  if (UnwinderIsTorn() || unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) return Ancestor::kNone;
  bool signal = false, beyond = false;
  unw_word_t ip = 0, low = 0, high = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || unw_get_reg(&cursor, UNW_REG_SP, &low) != 0) break;
    const bool is_signal = unw_is_signal_frame(&cursor) > 0;
    if (unw_step(&cursor) <= 0 || unw_get_reg(&cursor, UNW_REG_SP, &high) != 0) break;
    // The frame's address may be given to another function later: only a frame of ours there is the one that is meant.
    // The inner hook may lie just where the outer one, long left, has been.
    if (beyond && IsOwnCode(ip) && low <= frame && frame < high) return signal ? Ancestor::kBehindSignal : Ancestor::kCaller;
    beyond |= low <= inner && inner < high;
    signal |= is_signal;
  }
  return Ancestor::kNone;
}

}  // namespace rdmacheck
