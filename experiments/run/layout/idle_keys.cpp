#include "experiments/run/layout/idle_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/run/layout/training.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Throws where the scenario states a key that does not apply.
void check_applies(const Scenario& scenario, const std::string& pointer, bool applies,
                   const char* instead) {
  if (applies) return;
  if (!scenario.document->contains(nlohmann::json::json_pointer(pointer))) return;
  throw InputError(pointer, instead);
}

/// Layers by kind have weights, and a level of ZeRO chooses their stack even without replicas.
void check_zero(const Scenario& scenario, const Layout& layout) {
  if (scenario.model.by_kind() || layout.memory.zero == 0) return;
  check_applies(
      scenario, "/memory/zero", has_weights(layout.model),
      "ZeRO shards weights, and no stage states any; state parameter_bytes, or set zero to 0");
  check_applies(scenario, "/memory/zero", shares_weights(layout),
                "ZeRO shards over replicas, and there are none; set /parallel/data, or zero to 0");
}

/// Stages that are given need no partitioner.
void check_cut(const Scenario& scenario) {
  if (!scenario.model.stages_given && scenario.partition.stages.empty()) return;
  const auto section = scenario.document->value("partition", nlohmann::json::object());
  for (const auto& [key, value] : section.items()) {
    if (key == "description" || key == "stages" || key == "file" || key == "ranks") continue;
    throw InputError("/partition/" + key, "the stages are given, so no partitioner cuts them");
  }
}

/// "full" means all stages that state a time for it, if any do; a list of microbatches means more.
void check_recompute(const Scenario& scenario, const Layout& layout) {
  if (layout.recompute.microbatches.empty()) return;
  const std::vector<bool> stages = extras_of(layout).recomputing.stages;
  check_applies(scenario, "/recompute/microbatches",
                std::find(stages.begin(), stages.end(), true) != stages.end(),
                "no stage recomputes anything; its layers need recompute_us");
}

void check_weights(const Scenario& scenario, const Layout& layout) {
  if (has_weights(layout.model)) return;
  const char* none = "no layer has parameters; state parameter_bytes";
  const MemorySection& memory = scenario.memory;
  check_applies(scenario, "/memory/optimizer", memory.optimizer == Optimizer::none, none);
  check_applies(scenario, "/memory/bytes_per_parameter", false, none);
}

}  // namespace

void refuse_idle_keys(const Scenario& scenario, const Layout& layout) {
  if (!scenario.document) return;
  check_zero(scenario, layout);
  check_cut(scenario);
  check_recompute(scenario, layout);
  check_weights(scenario, layout);
  const std::uint32_t zero = layout.memory.zero;
  check_applies(scenario, "/parallel/overlap_gathers", zero == 1 || zero == 2,
                "new weights are gathered after an update with /memory/zero 1 and 2 only");
  const bool by_times = !scenario.model.by_kind();
  check_applies(scenario, "/parallel/sequence", !(by_times && layout.degrees.sequence_parallel),
                "layers that state their times have no norms or dropout to shard");
  check_applies(scenario, "/parallel/overlap_experts",
                !(layout.degrees.overlaps_experts && by_times),
                "layers that state their times have no experts");
  check_applies(
      scenario, "/parallel/bucket_bytes", zero < 3 && layout.degrees.overlaps_sums,
      "buckets fill while a backward runs; they need /parallel/overlap_sums, and /memory/zero "
      "below 3");
}

}  // namespace penstock
