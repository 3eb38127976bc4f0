// A verb inside a verb is one event: libibverbs and the providers call their own exported functions through the PLT.
#pragma once

namespace rdmacheck {

class HookScope {
 public:
  HookScope() { ++depth_; }
  ~HookScope() { --depth_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;
  static bool Nested() { return depth_ > 0; }

 private:
  // A thread that is cancelled inside a verb unwinds past us without running the destructor; its depth dies with it.
  static thread_local int depth_ __attribute__((tls_model("initial-exec")));
};

// The same for librdmacm's calls of itself.
class CmScope {
 public:
  CmScope() { ++depth_; }
  ~CmScope() { --depth_; }
  CmScope(const CmScope&) = delete;
  CmScope& operator=(const CmScope&) = delete;
  static bool Nested() { return depth_ > 0; }

 private:
  static thread_local int depth_ __attribute__((tls_model("initial-exec")));
};

}  // namespace rdmacheck
