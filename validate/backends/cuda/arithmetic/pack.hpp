#pragma once

#include "validate/backends/cuda/arithmetic/number.hpp"

namespace penstock {

/// Some numbers side by side, as what they are added up in; memory is accessed once for all.
template <class Number, unsigned count>
struct Pack {
  SumOf<Number> values[count] = {};

  Pack() = default;
  PENSTOCK_BOTH explicit Pack(const Number* from) {
    const InMemory packed = *reinterpret_cast<const InMemory*>(from);
    PENSTOCK_UNROLLED
    for (unsigned i = 0; i < count; ++i) values[i] = value_of(packed.numbers[i]);
  }
  PENSTOCK_BOTH void write(Number* to) const {
    InMemory packed;
    PENSTOCK_UNROLLED
    for (unsigned i = 0; i < count; ++i) packed.numbers[i] = rounded<Number>(values[i]);
    *reinterpret_cast<InMemory*>(to) = packed;
  }

  PENSTOCK_BOTH SumOf<Number> times(const Pack& other) const {
    SumOf<Number> sum = 0;
    PENSTOCK_UNROLLED
    for (unsigned i = 0; i < count; ++i) sum += values[i] * other.values[i];
    return sum;
  }
  PENSTOCK_BOTH void add(SumOf<Number> share, const Pack& other) {
    PENSTOCK_UNROLLED
    for (unsigned i = 0; i < count; ++i) values[i] += share * other.values[i];
  }
  PENSTOCK_BOTH void scale(SumOf<Number> factor) {
    PENSTOCK_UNROLLED
    for (unsigned i = 0; i < count; ++i) values[i] *= factor;
  }

 private:
  static constexpr unsigned bytes = count * sizeof(Number);
  struct alignas(bytes % 16 == 0 ? 16 : alignof(Number)) InMemory {
    Number numbers[count];
  };
};

/// Calls work(k) for all k below `count`, which is known when it is compiled.
template <unsigned count, class Work>
PENSTOCK_BOTH void for_each_of(const Work& work) {
  PENSTOCK_UNROLLED
  for (unsigned k = 0; k < count; ++k) work(k);
}

/// How many numbers elements and lanes take at a time, where all of a row come in such packs.
constexpr unsigned pack_size = 8;

}  // namespace penstock
