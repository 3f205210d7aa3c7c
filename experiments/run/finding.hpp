#pragma once

#include <optional>
#include <string>
#include <utility>

#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"
#include "sim/engines/standstill.hpp"

namespace penstock {

/// A problem that the user must know about. The program exits with 1.
struct Finding {
  std::string kind;  // "deadlock", "out_of_memory", "expectation"
  std::optional<Rank> rank;
  std::optional<Time> time;
  std::string text;
};

/// The finding for a standstill.
inline Finding finding_of(Standstill halt) {
  return {std::move(halt.kind), halt.rank, halt.time, std::move(halt.text)};
}

}  // namespace penstock
