#pragma once

#include "validate/backends/cuda/gpu_program.hpp"

namespace penstock {

/// A pipeline of equal stages, to check a GPU with where the rest of Penstock is not at hand.
struct GpuPipeline {
  std::uint32_t ranks = 4;
  std::uint32_t microbatches = 8;
  std::uint64_t forward_ns = 2'000'000;  // B takes twice that
  std::uint64_t transfer_ns = 50'000;
  std::uint64_t transfer_bytes = 65'536;
};

struct GpuAction {
  bool backward = false;
  std::uint32_t microbatch = 0;
};

/// What its ranks do, each in an order, with a link each way between neighbours. Throws
/// std::logic_error where an action waits for one that never comes.
GpuProgram ordered(const GpuPipeline& pipeline, const std::vector<std::vector<GpuAction>>& orders);

/// Its 1F1B, with a link each way between neighbours.
GpuProgram one_f_one_b(const GpuPipeline& pipeline);

/// What 1F1B takes when transfers are free: (m + p - 1)(F + B).
std::uint64_t formula_ns(const GpuPipeline& pipeline);

/// What a program takes when each task begins at once when its lane is free and its inputs are
/// there.
std::uint64_t longest_path_ns(const GpuProgram& program);

}  // namespace penstock
