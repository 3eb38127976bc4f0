// A library for symbolize_test to look itself up in. Built with debug information and optimised.
#pragma once

namespace subject {

using Recorder = void (*)();

// Calls `record` from a function that is inlined into this one.
__attribute__((visibility("default"))) void Outer(Recorder record);
// The lines of the two calls.
__attribute__((visibility("default"))) extern const int kInlinedLine;
__attribute__((visibility("default"))) extern const int kOuterLine;

}  // namespace subject

// A name that is not mangled.
extern "C" __attribute__((visibility("default"))) void subject_plain(subject::Recorder record);
// Calls `record` from a function that is inlined from <infiniband/verbs.h>, or so it says.
extern "C" __attribute__((visibility("default"))) void subject_calls_inline_verb(subject::Recorder record);
// Calls `record` from a function that only .symtab names.
extern "C" __attribute__((visibility("default"))) void subject_calls_hidden(subject::Recorder record);
