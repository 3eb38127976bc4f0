// Where an object stands among a verb's arguments. A row says Arg<0>, Field<1, &ibv_qp_init_attr::send_cq> …; the kind
// follows from the C type, so a row cannot name the wrong one.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

#include "interpose/checker/call.h"
#include "interpose/verbs/kind_of.h"

namespace rdmacheck {

template <class T>
Argument ArgumentOf(T* object, bool required) {
  Argument argument;
  argument.kind = KindOf<std::remove_const_t<T>>::value;
  argument.handle = HandleOf(object);
  argument.required = required;
  return argument;
}

// Every subject has: template <class Args> static void Collect(const Args& args, Arguments* out).

template <size_t I>
struct Arg {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    out->push_back(ArgumentOf(std::get<I>(args), true));
  }
};

// May be NULL.
template <size_t I>
struct OptArg {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    if (std::get<I>(args) != nullptr) out->push_back(ArgumentOf(std::get<I>(args), false));
  }
};

// A field of the struct that argument I points to; NULL is no fault unless a collector of parents.h says so.
template <size_t I, auto Member>
struct Field {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr == nullptr) return;
    auto* object = attr->*Member;
    if (object != nullptr) out->push_back(ArgumentOf(object, false));
  }
};

// A field that must not be NULL where there is a struct.
template <size_t I, auto Member>
struct NeedField {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr != nullptr) out->push_back(ArgumentOf(attr->*Member, true));
  }
};

// A field that is valid only when a bit of another field says so.
template <size_t I, auto Member, auto Mask, uint64_t Bit>
struct FieldIf {
  template <class Args>
  static void Collect(const Args& args, Arguments* out) {
    const auto* attr = std::get<I>(args);
    if (attr != nullptr && (attr->*Mask & Bit) != 0) Field<I, Member>::Collect(args, out);
  }
};

// What a new object is made from, in the order in which a reader would name it: the first leads to the context.
template <class... Subjects>
struct Under {
  template <class Args>
  static void Collect([[maybe_unused]] const Args& args, [[maybe_unused]] Arguments* out) {
    (Subjects::Collect(args, out), ...);
  }
};

}  // namespace rdmacheck
