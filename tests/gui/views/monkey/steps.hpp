#pragma once

#include <span>

#include "tests/gui/views/monkey/monkey.hpp"

namespace penstock::monkey {

/// Something that random hands do; the more weight, the more often.
struct Step {
  const char* name;
  unsigned weight;
  void (*run)(Monkey& monkey);
};

std::span<const Step> steps();

}  // namespace penstock::monkey
