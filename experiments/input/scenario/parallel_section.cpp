#include "experiments/input/scenario/parallel_section.hpp"

#include <nlohmann/json.hpp>

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

const Fields& parallel_fields() {
  using P = ParallelSection;
  const Takes degree = whole(1, 1'048'576);
  static const Fields fields{
      "degrees of parallelism",
      {note(), field<&P::pipeline>("pipeline", whole(1, 16'384), "pipeline ranks"),
       field<&P::chunks>("chunks", whole(1, 65'536), "stages a rank"),
       field<&P::tensor>("tensor", degree), field<&P::data>("data", degree),
       field<&P::context>("context", degree), field<&P::expert>("expert", degree),
       field<&P::sequence>("sequence", truth(),
                           "sequence parallelism: shards norms and dropout along the sequence"),
       field<&P::overlap_sums>("overlap_sums", truth(),
                               "replicas reduce gradients while ranks still compute (the default), "
                               "or after the last backward of a rank; false with ZeRO-2 and -3: "
                               "each pass waits for its own collectives"),
       field<&P::overlap_gathers>("overlap_gathers", truth(),
                                  "the new weights that ZeRO-1 and -2 gather after the update "
                                  "arrive while the first forwards of the next step run; what is "
                                  "longer than these stays exposed; default: as the stack does "
                                  "(hardware.stack), false without one"),
       field<&P::bucket_bytes>("bucket_bytes", number(1, 1e18),
                               "gradients reduced at once while the last backward of a stage runs, "
                               "with ZeRO-2 each; default: those of one layer, at least 25 MiB"),
       field<&P::overlap_experts>("overlap_experts", truth(),
                                  "all-to-alls of experts overlap the compute of their pass, as "
                                  "frameworks do that interleave two microbatches; default: they "
                                  "are exposed, except in a fused overlap cell"),
       field<&P::scatter_gather>("scatter_gather", truth(),
                                 "each device of a tensor group sends its share of an activation "
                                 "to the next stage, where the group gathers it; without effect "
                                 "where activations are sharded already (sequence)")}};
  return fields;
}

ParallelSection read_parallel(const nlohmann::json& section, const TrainingCommand& command) {
  ParallelSection parallel = degrees_of(command);
  read_fields(parallel_fields(), section, &parallel);
  return parallel;
}

}  // namespace penstock
