#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/parallel_section.hpp"

namespace penstock {
namespace {

/// A training command leaves the number of data replicas to the number of devices.
ParallelSection degrees_of(const TrainingCommand& command) {
  ParallelSection parallel;
  parallel.pipeline = command.pipeline;
  parallel.chunks = command.chunks;
  parallel.tensor = command.tensor.value_or(1);
  parallel.context = command.context.value_or(1);
  parallel.expert = command.expert.value_or(1);
  parallel.sequence = command.sequence_parallel.value_or(false);
  parallel.scatter_gather = command.scatter_gather.value_or(false);
  parallel.overlap_gathers = command.overlap_gathers;
  parallel.overlap_experts = command.overlap_experts.value_or(false);
  if (command.tensor || command.pipeline) parallel.data.reset();
  return parallel;
}

}  // namespace

ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command) {
  ParallelSection parallel = degrees_of(command);
  take(section, "pipeline", parallel.pipeline);
  take(section, "chunks", parallel.chunks);
  take(section, "tensor", parallel.tensor);
  take(section, "data", parallel.data);
  take(section, "context", parallel.context);
  take(section, "expert", parallel.expert);
  take(section, "sequence", parallel.sequence);
  take(section, "overlap_sums", parallel.overlap_sums);
  take(section, "overlap_gathers", parallel.overlap_gathers);
  take(section, "bucket_bytes", parallel.bucket_bytes);
  take(section, "overlap_experts", parallel.overlap_experts);
  take(section, "scatter_gather", parallel.scatter_gather);
  return parallel;
}

}  // namespace penstock
