#pragma once

#include <cstdint>

#include "experiments/input/long_work/progress.hpp"
#include "experiments/run/simulation.hpp"

namespace penstock {

/// How to run a scenario.
struct RunOptions {
  Engine engine = Engine::automatic;
  std::uint32_t repeat = 0;     // number of draws for a distribution; 0: none
  OnProgress on_progress = {};  // of these draws
};

}  // namespace penstock
