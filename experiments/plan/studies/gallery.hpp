#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"

namespace penstock {

/// The result of one schedule on the common example.
struct Exhibit {
  std::string name;
  RunResult result;
  double peak_share =
      0;  // peak activations of a rank, in microbatches of its whole share of the model
};

struct Gallery {
  std::vector<Exhibit> exhibits;
  std::vector<std::string> left_out;  // schedules that do not support these sizes, and why
};

/// Runs every schedule on the same pipeline. Each rank holds an equal share of the model, which
/// takes 4 ms each for F, I and W of a microbatch, in any number of chunks. Links are free.
Gallery gallery(std::uint32_t ranks, std::uint32_t microbatches);

/// The results as a table for a terminal.
std::string gallery_table(const std::vector<Exhibit>& exhibits);

}  // namespace penstock
