#pragma once

#include "validate/backends/cuda/programs/gpu_program.hpp"

namespace penstock {

/// A pipeline of equal stages, for checking a GPU without the rest of Penstock.
struct GpuPipeline {
  std::uint32_t ranks = 4;
  std::uint32_t microbatches = 8;
  std::uint64_t forward_ns = 2'000'000;  // B takes twice that
  std::uint64_t transfer_ns = 50'000;
  std::uint64_t transfer_bytes = 65'536;
};

/// Its 1F1B, with a link each way between neighbours.
GpuProgram one_f_one_b(const GpuPipeline& pipeline);

/// The longest path: each task starts as soon as its lane is free and its inputs have arrived.
std::uint64_t longest_path_ns(const GpuProgram& program);

}  // namespace penstock
