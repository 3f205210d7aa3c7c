#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "experiments/run/changes/scenario_changes.hpp"
#include "experiments/run/layout/training.hpp"

namespace penstock {
namespace {

struct Degree {
  const char* key;
  std::uint32_t now;
};

std::string microbatches_setting(std::uint32_t count) {
  return fmt::format("/schedule/microbatches={}", count);
}

/// One degree doubled, another halved; nothing if the batch cannot follow.
std::vector<std::string> moved(const Degree& more, const Degree& less, std::uint32_t microbatches) {
  std::vector<std::string> settings{fmt::format("/parallel/{}={}", more.key, 2 * more.now),
                                    fmt::format("/parallel/{}={}", less.key, less.now / 2)};
  const std::string_view data = "data";
  if (more.key == data) {
    if (microbatches % 2 != 0) return {};
    settings.push_back(microbatches_setting(microbatches / 2));
  } else if (less.key == data) {
    settings.push_back(microbatches_setting(2 * microbatches));
  }
  return settings;
}

/// A new tensor group shards norms and dropout, as frameworks do.
void add_degrees(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::array<Degree, 4> degrees{{{"pipeline", pipeline_ranks(layout)},
                                       {"tensor", layout.degrees.tensor},
                                       {"data", layout.degrees.data},
                                       {"context", layout.degrees.context}}};
  for (const Degree& more : degrees) {
    for (const Degree& less : degrees) {
      if (&more == &less || less.now % 2 != 0) continue;
      auto settings = moved(more, less, layout.microbatches);
      if (settings.empty()) continue;
      const bool begins = more.key == std::string_view("tensor") && more.now == 1;
      if (begins && !layout.degrees.sequence_parallel) {
        settings.emplace_back("/parallel/sequence=true");
      }
      changes.push_back({.settings = std::move(settings)});
    }
  }
}

/// Groups of experts twice and half as large, and experts that are whole on a device.
void add_experts(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const auto& layers = layout.model.layers;
  if (std::ranges::none_of(layers, [](const Layer& one) { return one.expert_parameter_bytes > 0; }))
    return;
  const auto add = [&](std::string_view key, std::uint32_t value) {
    changes.push_back({.settings = {fmt::format("/parallel/{}={}", key, value)}});
  };
  const std::uint32_t expert = layout.degrees.expert;
  add("expert", 2 * expert);
  if (expert % 2 == 0) add("expert", expert / 2);
  if (layout.degrees.expert_tensor > 1) add("expert_tensor", 1);
}

void add_microbatches(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::uint32_t count = layout.microbatches;
  const double size = layout.batch.microbatch.value_or(1);
  const auto add = [&](double of_size, std::uint32_t many) {
    changes.push_back(
        {.settings = {fmt::format("/model/microbatch={}", of_size), microbatches_setting(many)}});
  };
  if (count % 2 == 0) add(2 * size, count / 2);
  if (size >= 2) add(size / 2, 2 * count);
}

}  // namespace

std::vector<ScenarioChange> degree_changes(const Scenario& scenario, const Layout& layout) {
  const bool is_named = layout.rule != nullptr || layout.policy != nullptr;
  if (!is_named || !layout.hardware.spec.machine || scenario.model.stages_given) return {};
  std::vector<ScenarioChange> changes;
  add_microbatches(layout, changes);
  add_degrees(layout, changes);
  add_experts(layout, changes);
  return changes;
}

}  // namespace penstock
