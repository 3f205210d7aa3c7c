#pragma once

#include <span>
#include <string>
#include <vector>

#include "validate/backends/cuda/check/check_output.hpp"
#include "validate/backends/cuda/programs/gpu_pipeline.hpp"
#include "validate/backends/cuda/programs/gpu_program_file.hpp"

namespace penstock {

/// What a step of the check works with.
struct CheckRun {
  const GpuCalls& calls;
  const CheckOutput& output;
  std::vector<NamedProgram> programs;  // of files
  bool quick = false;                  // little data and few repeats, to try the check itself
};

/// The numbers of ranks that steps run: 4, 2 and 8, or 2.
std::vector<std::uint32_t> rank_counts(const CheckRun& run);

/// How often a thing is measured. The profile store takes no less than 5 samples.
constexpr std::uint32_t sample_count(const CheckRun& run) { return run.quick ? 5 : 10; }

/// A step of the check: what it measures stands for itself, so that the others go on without it.
/// It throws std::exception where the GPU fails.
struct CheckStep {
  const char* name;
  const char* summary;
  void (*run)(const CheckRun& run);
};

/// All steps, in the order of their worth when time is short.
std::span<const CheckStep> check_steps();

// The steps, by file.
void check_device(const CheckRun& run);
void check_partitions(const CheckRun& run);
void check_pipelines(const CheckRun& run);
void check_programs(const CheckRun& run);
void check_bodies(const CheckRun& run);
void check_products(const CheckRun& run);
void check_layers(const CheckRun& run);
void check_layer_bodies(const CheckRun& run);
void check_layer_programs(const CheckRun& run);
void check_bounce(const CheckRun& run);
void check_scaling(const CheckRun& run);
void check_copies(const CheckRun& run);
void check_interference(const CheckRun& run);
void check_clocks(const CheckRun& run);
void check_codec(const CheckRun& run);

/// The names of orderings and kinds of links in files.
std::string name(GpuOrdering ordering);
std::string name(GpuLinkKind links);

/// The sizes of layers that actions run; those that the host can follow.
GpuLayerSizes layer_sizes(const CheckRun& run);
GpuLayerSizes small_layer_sizes(const CheckRun& run);

/// A 1F1B of actions of this work, as graphs of actions and as one graph.
void check_body(const CheckRun& run, GpuWork work, std::uint32_t ranks);

/// Prints as JSON the SMs of each rank, what launches cost, and a 1F1B against its longest path,
/// with each ordering.
void print_pipeline(const GpuCalls& calls, const GpuPipeline& pipeline);

/// Runs a program with an ordering, after a warm-up, writes its runs and what they took against its
/// longest path, what stamps and the host cost, and whether all tensors arrived. A GPU that fails
/// is a fact, so that the other orderings go on.
void record_program(const CheckRun& run, const GpuDevice& device, const NamedProgram& named,
                    const GpuRunSetup& setup);

}  // namespace penstock
