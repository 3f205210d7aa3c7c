#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// One schedule at the common example.
struct Exhibit {
  std::string name;
  RunResult result;
  double peak_share =
      0;  // most activations of a rank, in microbatches of its whole share of the model
};

struct Gallery {
  std::vector<Exhibit> exhibits;
  std::vector<std::string> left_out;  // schedules that these sizes do not suit, and why
};

/// Every schedule on the same pipeline, so that they can be compared: each rank holds an equal
/// share of the model, which takes 4 ms for F, I and W each of a microbatch, however many chunks it
/// is cut into; links are free.
Gallery gallery(std::uint32_t ranks, std::uint32_t microbatches);

/// The exhibits as a table for a terminal.
std::string gallery_table(const std::vector<Exhibit>& exhibits);

}  // namespace penstock
