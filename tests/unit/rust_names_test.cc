#include "report/rust_names.h"

#include <gtest/gtest.h>

#include <random>

#include "report/symbolize.h"

namespace rdmacheck {
namespace {

struct Pair {
  const char *symbol, *name;
};

// Symbols of programs that rustc 1.95.0 made, with -C symbol-mangling-version=v0 and =legacy. The names agree with those of
// c++filt (binutils 2.40), but for what it adds (crates' numbers, types of constants) and takes away (letters beyond ASCII).
constexpr Pair kV0[] = {
    {"_RINvCshJSgCjiTWlM_7subject7genericAhj3_FEzEB2_",
     "subject::generic::<[u8; 3], fn() -> !>"},
    {"_RINvCshJSgCjiTWlM_7subject7genericINtNtCslNYArtu3iFV_5alloc3vec3VecINtNtCsgEmfK2I1SDS_4core6option6OptionhEEINtNtNtNtCsjrHSEGnQ3l9_3std11collections4hash3map7HashMapNtNtBB_6string6StringReEEB2_",
     "subject::generic::<alloc::vec::Vec<core::option::Option<u8>>, std::collections::hash::map::HashMap<alloc::string::String, &str>>"},
    {"_RINvCshJSgCjiTWlM_7subject7genericRSfODNtNtCsgEmfK2I1SDS_4core3fmt5DebugEL_EB2_",
     "subject::generic::<&[f32], *mut dyn core::fmt::Debug>"},
    {"_RINvCshJSgCjiTWlM_7subject7genericTxEFUKChEuEB2_",
     "subject::generic::<(i64,), unsafe extern \"C\" fn(u8)>"},
    {"_RINvCshJSgCjiTWlM_7subject9takes_dynDINtNtNtCsgEmfK2I1SDS_4core3ops8function2FnTmEEp6OutputmNtNtBG_6marker4SendEL_EB2_",
     "subject::takes_dyn::<dyn core::ops::function::Fn<(u32,), Output = u32> + core::marker::Send>"},
    {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtNtNtCsjrHSEGnQ3l9_3std11collections4hash3map7HashMapNtNtCslNYArtu3iFV_5alloc6string6StringReEECshJSgCjiTWlM_7subject",
     "core::ptr::drop_in_place::<std::collections::hash::map::HashMap<alloc::string::String, &str>>"},
    {"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeNtNtCsjrHSEGnQ3l9_3std3env4ArgsECshJSgCjiTWlM_7subject",
     "core::ptr::drop_in_place::<std::env::Args>"},
    {"_RINvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_backtraceFEuuECshJSgCjiTWlM_7subject",
     "std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"},
    {"_RNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0CshJSgCjiTWlM_7subject",
     "std::rt::lang_start::<()>::{closure#0}"},
    {"_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceuE9call_once6vtableCshJSgCjiTWlM_7subject",
     "<std::rt::lang_start<()>::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}"},
    {"_RNvCshJSgCjiTWlM_7subject2cb",
     "subject::cb"},
    {"_RNvCshJSgCjiTWlM_7subject4main",
     "subject::main"},
    {"_RNvCshJSgCjiTWlM_7subject8callback",
     "subject::callback"},
    {"_RNvCshJSgCjiTWlM_7subjectu9gre_6ka8i",
     "subject::größe"},
    {"_RNvMs0_NtCshJSgCjiTWlM_7subject5verbsINtB5_5GuardKj10_Kln5_Kb1_Kc78_E4holdB7_",
     "<subject::verbs::Guard<16, -5, true, 'x'>>::hold"},
    {"_RNvMs_NtCshJSgCjiTWlM_7subject5verbsINtB4_2PduE7releaseB6_",
     "<subject::verbs::Pd<()>>::release"},
    {"_RNvXNtCshJSgCjiTWlM_7subject5verbsINtB2_2PdReENtB2_9Registers8registerB4_",
     "<subject::verbs::Pd<&str> as subject::verbs::Registers>::register"},
    {"_RNvXNtCshJSgCjiTWlM_7subject5verbsINtB2_2PdhENtB2_9Registers8registerB4_",
     "<subject::verbs::Pd<u8> as subject::verbs::Registers>::register"},
    {"_RNvXs1H_NtCsgEmfK2I1SDS_4core3fmtTxENtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<(i64,) as core::fmt::Debug>::fmt"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRINtNtB8_6option6OptionhENtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<&core::option::Option<u8> as core::fmt::Debug>::fmt"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRSfNtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<&[f32] as core::fmt::Debug>::fmt"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRfNtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<&f32 as core::fmt::Debug>::fmt"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRhNtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<&u8 as core::fmt::Debug>::fmt"},
    {"_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRxNtB6_5Debug3fmtCshJSgCjiTWlM_7subject",
     "<&i64 as core::fmt::Debug>::fmt"},
    {"_RNvXs2_NtCshJSgCjiTWlM_7subject5verbsTRehENtB5_9Registers8register",
     "<(&str, u8) as subject::verbs::Registers>::register"},
    {"_RNvXsa_NtCsgEmfK2I1SDS_4core5arrayAhj3_NtNtB7_3fmt5Debug3fmtCshJSgCjiTWlM_7subject",
     "<[u8; 3] as core::fmt::Debug>::fmt"},
    {"_RNvXsq_NtCslNYArtu3iFV_5alloc3vecINtB5_3VecINtNtCsgEmfK2I1SDS_4core6option6OptionhEENtNtBK_3fmt5Debug3fmtCshJSgCjiTWlM_7subject",
     "<alloc::vec::Vec<core::option::Option<u8>> as core::fmt::Debug>::fmt"},
    {"_RINvCs60fBPC9gAID_4more5typedFG_RL0_hQL0_StEPaEB2_",
     "more::typed::<for<'a> fn(&'a u8, &'a mut [u16]) -> *const i8>"},
    {"_RINvMNtCs60fBPC9gAID_4more5innerNtB3_4Unit4eachNCNCNvB5_5outer00EB5_",
     "<more::inner::Unit>::each::<more::outer::{closure#0}::{closure#0}>"},
    {"_RINvMNtCs60fBPC9gAID_4more5innerNtB3_4Unit4eachNCNvB5_5outer0EB5_",
     "<more::inner::Unit>::each::<more::outer::{closure#0}>"},
    {"_RNCNCNvCs60fBPC9gAID_4more5outer00B5_",
     "more::outer::{closure#0}::{closure#0}"},
    {"_RNCNvCs60fBPC9gAID_4more5outer0B3_",
     "more::outer::{closure#0}"},
    {"_RNvCs60fBPC9gAID_4more4main",
     "more::main"},
    {"_RNvCs60fBPC9gAID_4more5outer",
     "more::outer"},
};

constexpr Pair kLegacy[] = {
    {"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h9868e7e3eb3a2878E",
     "std::rt::lang_start::{{closure}}"},
    {"_ZN3std3sys9backtrace28__rust_begin_short_backtrace17he26931d55a664948E",
     "std::sys::backtrace::__rust_begin_short_backtrace"},
    {"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h7dcc3a272b61a2b9E",
     "<&T as core::fmt::Debug>::fmt"},
    {"_ZN49_$LT$$LP$T$C$$RP$$u20$as$u20$core..fmt..Debug$GT$3fmt17h3aa60ef42b68554fE",
     "<(T,) as core::fmt::Debug>::fmt"},
    {"_ZN4core3ops8function6FnOnce40call_once$u7b$$u7b$vtable.shim$u7d$$u7d$17h08746dacade15eb1E",
     "core::ops::function::FnOnce::call_once{{vtable.shim}}"},
    {"_ZN4core3ptr35drop_in_place$LT$std..env..Args$GT$17h1094deaecab2b101E",
     "core::ptr::drop_in_place<std::env::Args>"},
    {"_ZN4core3ptr96drop_in_place$LT$std..collections..hash..map..HashMap$LT$alloc..string..String$C$$RF$str$GT$$GT$17h72c94a3503caec95E",
     "core::ptr::drop_in_place<std::collections::hash::map::HashMap<alloc::string::String,&str>>"},
    {"_ZN4core5array69_$LT$impl$u20$core..fmt..Debug$u20$for$u20$$u5b$T$u3b$$u20$N$u5d$$GT$3fmt17h34839da58c273aabE",
     "core::array::<impl core::fmt::Debug for [T; N]>::fmt"},
    {"_ZN65_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt17h29dee97e1b010624E",
     "<alloc::vec::Vec<T,A> as core::fmt::Debug>::fmt"},
    {"_ZN66_$LT$$LP$$RF$str$C$u8$RP$$u20$as$u20$subject..verbs..Registers$GT$8register17hf38095c4634fcdd3E",
     "<(&str,u8) as subject::verbs::Registers>::register"},
    {"_ZN69_$LT$$u5b$u8$u3b$$u20$4$u5d$$u20$as$u20$subject..verbs..Registers$GT$8register17hd90be7d578bd62e8E",
     "<[u8; 4] as subject::verbs::Registers>::register"},
    {"_ZN73_$LT$subject..verbs..Pd$LT$T$GT$$u20$as$u20$subject..verbs..Registers$GT$8register17h3ba420382b826c80E",
     "<subject::verbs::Pd<T> as subject::verbs::Registers>::register"},
    {"_ZN7subject13gr$uf6$$udf$e17h14f088060eda6717E",
     "subject::größe"},
    {"_ZN7subject2cb17he6ed46e635c27f84E",
     "subject::cb"},
    {"_ZN7subject4main17h863a403726239028E",
     "subject::main"},
    {"_ZN7subject5verbs11Pd$LT$T$GT$7release17h9bdf3e5ea67d00e0E",
     "subject::verbs::Pd<T>::release"},
    {"_ZN7subject5verbs26Guard$LT$_$C$_$C$_$C$_$GT$4hold17he33fc35aee941660E",
     "subject::verbs::Guard<_,_,_,_>::hold"},
    {"_ZN7subject7generic17h1058bfe50a808951E",
     "subject::generic"},
    {"_ZN7subject8callback17hd0c3d8c83ea54adeE",
     "subject::callback"},
    {"_ZN7subject9takes_dyn17h8fd88fa0880234f4E",
     "subject::takes_dyn"},
};

std::string NameOf(std::string_view symbol) {
  std::string name;
  return DemangleRust(symbol, &name) ? name : "(none)";
}

TEST(RustNamesTest, WhatRustcWrites) {
  for (const Pair& pair : kV0) EXPECT_EQ(NameOf(pair.symbol), pair.name);
  for (const Pair& pair : kLegacy) EXPECT_EQ(NameOf(pair.symbol), pair.name);
}

TEST(RustNamesTest, SuffixesOfTheCompilerAreKeptButLlvms) {
  EXPECT_EQ(NameOf("_RNvC4echo4main.llvm.1234567890"), "echo::main");
  EXPECT_EQ(NameOf("_RNvC4echo4main.cold"), "echo::main.cold");
  EXPECT_EQ(NameOf("_ZN4echo4main17h0123456789abcdefE.llvm.77"), "echo::main");
  EXPECT_EQ(NameOf("_ZN4echo4main17h0123456789abcdefE.isra.0"), "echo::main.isra.0");
}

TEST(RustNamesTest, WhatIsNoRustNameStays) {
  for (const char* symbol : {"", "main", "_R", "_R0NvC4echo4main", "_RNvC4echo4mai", "_RNvC4echo5main", "_RNvC4echo4mainX", "_RR", "_Rust",
                             "_ZN2ns1fEi", "_ZN2ns1fE", "_ZN4echo4main17h0123456789abcdeE", "_ZN17h0123456789abcdefE",
                             "_ZN99echo17h0123456789abcdefE", "_ZN4echo4main17h0123456789abcdef", "_ZN4echo4main17h0123456789abcdefEi"}) {
    EXPECT_EQ(NameOf(symbol), "(none)") << symbol;
  }
}

TEST(RustNamesTest, WorkAndLengthAreBounded) {
  // Deeper than any type, a name that doubles at each step, and one that leads back to itself.
  EXPECT_EQ(NameOf("_RMC1a" + std::string(100000, 'S') + "h"), "(none)");
  std::string doubling = "_RMC1aTh";
  for (int i = 0; i < 60; ++i) doubling += "TB" + std::string(i == 0 ? "" : "0") + "_B3_E";
  EXPECT_EQ(NameOf(doubling + "E"), "(none)");
  EXPECT_EQ(NameOf("_RB_"), "(none)");
  EXPECT_EQ(NameOf("_RMC1aB4_"), "(none)");
  EXPECT_EQ(NameOf("_RNvC4294967295a4main"), "(none)");
  EXPECT_EQ(NameOf("_RNvCszzzzzzzzzzzzzzz_1a4main"), "(none)");
  EXPECT_EQ(NameOf("_RMC1aFGzzzzz_EuE"), "(none)");
}

// A symbol table may hold anything. AddressSanitizer's build says whether this reads where it should not.
TEST(RustNamesTest, BrokenNamesDoNoHarm) {
  std::mt19937 random(20261203);
  for (const Pair& pair : kV0) {
    const std::string whole = pair.symbol;
    for (size_t size = 0; size < whole.size(); ++size) NameOf(whole.substr(0, size));
    for (int i = 0; i < 2000; ++i) {
      std::string broken = whole;
      for (int changes = 0; changes < 3; ++changes) broken[random() % broken.size()] = whole[random() % whole.size()];
      EXPECT_LE(NameOf(broken).size(), 20000u);
    }
  }
  for (const Pair& pair : kLegacy) {
    std::string broken = pair.symbol;
    for (int i = 0; i < 2000; ++i) {
      broken[random() % broken.size()] = static_cast<char>(random());
      NameOf(broken);
    }
  }
}

TEST(DemangledTest, BothLanguages) {
  EXPECT_EQ(Demangled("_RNvC4echo4main"), "echo::main");
  EXPECT_EQ(Demangled("_ZN4echo4main17h0123456789abcdefE"), "echo::main");
  // From g++ 12: nested templates and lambdas, ABI tags.
  EXPECT_EQ(Demangled("_ZNKR3app4Node4takeB5cxx11EOSt6vectorISt4pairIiS1_IcSaIcEEESaIS5_EE"),
            "app::Node::take[abi:cxx11](std::vector<std::pair<int, std::vector<char, std::allocator<char> > >, std::allocator<std::pair<"
            "int, std::vector<char, std::allocator<char> > > > >&&) const &");
  EXPECT_EQ(Demangled("_ZN3app4PoolIiiE4eachIZZNS_5startEvENKUlT_E_clIiEEDaS3_EUliE_EEiS3_"),
            "int app::Pool<int, int>::each<app::start()::{lambda(auto:1)#1}::operator()<int>(int) const::{lambda(int)#1}>(app::start()::"
            "{lambda(auto:1)#1}::operator()<int>(int) const::{lambda(int)#1})");
  EXPECT_EQ(Demangled("_ZN3app4PoolIcNS0_IibEEE4eachIZNS_5startEvEUlT_E_EEiS4_"),
            "int app::Pool<char, app::Pool<int, bool> >::each<app::start()::{lambda(auto:1)#1}>(app::start()::{lambda(auto:1)#1})");
  EXPECT_EQ(Demangled("_ZN3app6taggedB2v2Ei"), "app::tagged[abi:v2](int)");
  EXPECT_EQ(Demangled("_ZN12_GLOBAL__N_16hiddenEv.cold"), "(anonymous namespace)::hidden() [clone .cold]");
  EXPECT_EQ(Demangled("_ZThn16_N3app4Node4freeEv"), "non-virtual thunk to app::Node::free()");
}

}  // namespace
}  // namespace rdmacheck
