#pragma once

#include <optional>
#include <string>

#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Something the user must know, for which the program exits with 1.
struct Finding {
  std::string kind;  // "deadlock", "out_of_memory", "expectation"
  std::optional<Rank> rank;
  std::optional<Time> time;
  std::string text;
};

}  // namespace penstock
