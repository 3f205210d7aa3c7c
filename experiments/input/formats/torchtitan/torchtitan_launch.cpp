#include "experiments/input/formats/torchtitan/torchtitan_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "experiments/input/files/output_file.hpp"
#include "experiments/input/model_files/model_file.hpp"

namespace penstock {
namespace {

/// The lines of a command.
class ScriptWriter {
 public:
  explicit ScriptWriter(const TrainingLaunch& launch) : launch_(launch), command_(launch.command) {}

  std::string written() {
    text_ = fmt::format(
        "#!/usr/bin/env bash\n"
        "# {}\n"
        "# torchtitan needs a model too: sh {}.sh --module llama3 --config …\n"
        "{}{} -m torchtitan.train",
        own_mark, launch_.name, left_out_line(left_out()), torchrun_text(launch_));
    write_degrees();
    if (command_.pipeline.value_or(1) > 1) write_pipeline();
    write_batch();
    add("activation_checkpoint.mode", command_.recompute == RecomputeMode::full        ? "full"
                                      : command_.recompute == RecomputeMode::selective ? "selective"
                                                                                       : "none");
    const auto narrow =
        std::ranges::find(titan_converters, command_.dtype.value_or(""), &TitanConverter::dtype);
    if (narrow != titan_converters.end()) add("model.converters", narrow->name);
    if (command_.stack != "fsdp-eager") text_ += " \\\n  --compile.enable";
    return text_ + " \\\n  \"$@\"\n";
  }

 private:
  /// torchtitan trains with Adam, and FSDP2 overlaps what it reduces.
  std::vector<std::string> left_out() const {
    constexpr std::array names{"none", "sgd", "momentum", "adam"};
    const Optimizer optimizer = command_.optimizer.value_or(Optimizer::adam);
    std::vector<std::string> all;
    if (optimizer != Optimizer::adam) {
      all.push_back(
          fmt::format("/memory/optimizer={}", names[static_cast<std::size_t>(optimizer)]));
    }
    if (command_.gradients == Precision::bf16) all.emplace_back("/memory/gradients=bf16");
    if (!launch_.overlaps_sums) all.emplace_back("/parallel/overlap_sums=false");
    all.insert(all.end(), launch_.of_megatron.begin(), launch_.of_megatron.end());
    all.insert(all.end(), launch_.of_none.begin(), launch_.of_none.end());
    return all;
  }

  void add(std::string_view name, const auto& value) {
    text_ += fmt::format(" \\\n  --{} {}", name, value);
  }

  void write_degrees() {
    const std::uint32_t zero = command_.zero.value_or(0);
    add("parallelism.tensor_parallel_degree", command_.tensor.value_or(1));
    if (command_.tensor.value_or(1) > 1 && !command_.sequence_parallel.value_or(false)) {
      text_ += " \\\n  --parallelism.no_enable_sequence_parallel";
    }
    add("parallelism.pipeline_parallel_degree", command_.pipeline.value_or(1));
    add("parallelism.context_parallel_degree", command_.context.value_or(1));
    add("parallelism.expert_parallel_degree", command_.expert.value_or(1));
    const std::uint32_t data = command_.data.value_or(1);
    const std::uint32_t replicated = zero == 0 ? data : command_.shard_groups.value_or(1);
    add("parallelism.data_parallel_replicate_degree", replicated);
    add("parallelism.data_parallel_shard_degree", data / replicated);
    if (zero > 0) add("parallelism.fsdp_reshard_after_forward", zero == 3 ? "always" : "never");
  }

  void write_pipeline() {
    const TitanSchedule* known = titan_schedule(command_.schedule);
    const std::uint32_t chunks = command_.chunks.value_or(1);
    if (known != nullptr) {
      add("parallelism.pipeline_parallel_schedule", known->torch);
    } else {
      add("parallelism.pipeline_parallel_schedule",
          chunks > 1 ? titan_order_of_several : titan_order_of_one);
      add("parallelism.pipeline_parallel_schedule_csv", launch_.name + ".csv");
    }
    const int ends = command_.partition == "even" ? 0 : 1;
    add("parallelism.pipeline_parallel_first_stage_less_layers", ends);
    add("parallelism.pipeline_parallel_last_stage_less_layers", ends);
    const std::vector<std::uint32_t> all =
        ends == 1 ? stage_counts(launch_).all : stage_counts(launch_).even;
    if (chunks > 2) {
      add("parallelism.pipeline_parallel_layers_per_stage", *std::ranges::max_element(all));
    }
    add("parallelism.pipeline_parallel_microbatch_size", command_.microbatch.value_or(1));
  }

  void write_batch() {
    const std::uint32_t size = command_.microbatch.value_or(1);
    const bool pipelined = command_.pipeline.value_or(1) > 1;
    add("training.local_batch_size", pipelined ? size * command_.microbatches.value_or(1) : size);
    add("training.global_batch_size", command_.global_batch.value_or(1));
    if (command_.sequence) add("training.seq_len", *command_.sequence);
  }

  const TrainingLaunch& launch_;
  const TrainingCommand& command_;
  std::string text_;
};

}  // namespace

const TitanSchedule* titan_schedule(std::string_view rule) {
  const auto known = std::ranges::find(titan_schedules, rule, &TitanSchedule::rule);
  return known == titan_schedules.end() ? nullptr : &*known;
}

std::string torchtitan_script(const TrainingLaunch& launch) {
  return ScriptWriter(launch).written();
}

}  // namespace penstock
