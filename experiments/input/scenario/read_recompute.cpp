#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "experiments/input/files/json_input.hpp"
#include "experiments/input/scenario/named_value.hpp"
#include "experiments/input/scenario/recompute_section.hpp"
#include "sim/base/error.hpp"

namespace penstock {

namespace {

std::vector<std::vector<std::uint32_t>> read_microbatches(const nlohmann::json& lists,
                                                          std::optional<RecomputeMode> mode) {
  if (mode == RecomputeMode::none || mode == RecomputeMode::except_last) {
    throw InputError("/recompute/microbatches",
                     "microbatches go with mode=full or mode=selective, which say what is "
                     "recomputed of them");
  }
  auto microbatches = lists.get<std::vector<std::vector<std::uint32_t>>>();
  for (auto& own : microbatches) {
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return microbatches;
}

}  // namespace

RecomputeSection read_recompute(const nlohmann::json& section, const TrainingCommand& command) {
  constexpr std::array modes{"none", "full", "selective", "except_last"};
  RecomputeSection recompute;
  recompute.mode = command.recompute;
  take(section, "early", recompute.early);
  if (section.contains("unit")) {
    recompute.unit = section["unit"] == "stage" ? RecomputeUnit::stage : RecomputeUnit::layer;
  }
  if (section.contains("mode")) recompute.mode = enumerator<RecomputeMode>(section["mode"], modes);
  if (!command.recompute_operators.empty()) recompute.operators = command.recompute_operators;
  take(section, "operators", recompute.operators);
  if (section.contains("operators") && recompute.mode != RecomputeMode::selective) {
    throw InputError("/recompute/operators", "operators need mode=selective");
  }
  if (section.contains("microbatches")) {
    recompute.microbatches = read_microbatches(section["microbatches"], recompute.mode);
  }
  return recompute;
}

Offload read_offload(const nlohmann::json& section) {
  Offload offload{.keep = section["keep"].get<std::uint32_t>()};
  take(section, "ahead", offload.ahead);
  return offload;
}

}  // namespace penstock
