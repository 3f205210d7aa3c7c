#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "validate/processes/control.hpp"
#include "validate/ranks/make_part.hpp"

namespace penstock {

/// What every process knows about the whole job.
struct ProcessJob {
  const Job* job;
  MakePart make;
  StartLine* line;                          // in shared memory
  std::vector<RankGroup> groups;            // by process
  std::array<std::uint64_t, 2> token{};     // secret
  std::chrono::milliseconds start_limit{};  // until all are connected
  std::chrono::milliseconds wait_limit{};   // for one tensor
};

/// The main function of a process: connects with the others, then follows messages until it is told
/// to quit or the parent is gone.
void serve(const ProcessJob& all, std::uint32_t process, Control& control);

}  // namespace penstock
