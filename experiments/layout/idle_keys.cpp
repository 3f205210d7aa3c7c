#include "experiments/layout/idle_keys.hpp"

#include <nlohmann/json.hpp>

#include "experiments/layout/training.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

/// Throws where the scenario states a key that does not apply.
void check_applies(const Scenario& scenario, const char* pointer, bool applies,
                   const char* instead) {
  if (applies || !scenario.document) return;
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

}  // namespace

void refuse_idle_keys(const Scenario& scenario, const Layout& layout) {
  check_zero(scenario, layout);
  const std::uint32_t zero = layout.memory.zero;
  check_applies(scenario, "/parallel/overlap_gathers", zero == 1 || zero == 2,
                "new weights are gathered after an update with /memory/zero 1 and 2 only");
  check_applies(
      scenario, "/parallel/bucket_bytes", zero < 3 && layout.degrees.overlaps_sums,
      "buckets fill while a backward runs; they need /parallel/overlap_sums, and /memory/zero "
      "below 3");
}

}  // namespace penstock
