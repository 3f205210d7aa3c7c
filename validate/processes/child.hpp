#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "validate/processes/control.hpp"
#include "validate/ranks/make_part.hpp"

namespace penstock {

/// What every process knows of the whole.
struct ProcessJob {
  const Job* job;
  MakePart make;
  StartLine* line;                          // in memory that all share
  std::vector<RankGroup> groups;            // by process
  std::array<std::uint64_t, 2> token{};     // shared with no one else
  std::chrono::milliseconds start_limit{};  // for all to be connected
  std::chrono::milliseconds wait_limit{};   // for one tensor
};

/// The life of one process: connects with the others, then does what it is told until it is told to
/// quit or nobody is left to tell it.
void serve(const ProcessJob& all, std::uint32_t process, Control& control);

}  // namespace penstock
