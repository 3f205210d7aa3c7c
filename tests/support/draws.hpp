#pragma once

#include <rapidcheck.h>

#include <cstdint>

namespace penstock::testing {

// Numbers drawn inside a RapidCheck property, over the whole range at every case size.

inline std::uint32_t below(std::uint32_t end) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
}

inline std::uint32_t from_to(std::uint32_t first, std::uint32_t last) {
  return first + below(last + 1 - first);
}

/// True with probability 1 / count. Shrinks to false.
inline bool one_in(std::uint32_t count) { return below(count) == count - 1; }

}  // namespace penstock::testing
