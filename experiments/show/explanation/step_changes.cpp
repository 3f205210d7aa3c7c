#include "experiments/show/explanation/step_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/show/explanation/memory_changes.hpp"

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

void add_degrees(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::array<Degree, 4> degrees{{{"pipeline", layout.placement.ranks()},
                                       {"tensor", layout.degrees.tensor},
                                       {"data", layout.degrees.data},
                                       {"context", layout.degrees.context}}};
  for (const Degree& more : degrees) {
    for (const Degree& less : degrees) {
      if (&more == &less || less.now % 2 != 0) continue;
      auto settings = moved(more, less, layout.microbatches);
      if (!settings.empty()) changes.push_back({.settings = std::move(settings), .left_out = {}});
    }
  }
}

void add_microbatches(const Layout& layout, std::vector<ScenarioChange>& changes) {
  const std::uint32_t count = layout.microbatches;
  const double size = layout.batch.microbatch.value_or(1);
  const auto add = [&](double of_size, std::uint32_t many) {
    changes.push_back(
        {.settings = {fmt::format("/model/microbatch={}", of_size), microbatches_setting(many)},
         .left_out = {}});
  };
  if (count % 2 == 0) add(2 * size, count / 2);
  if (size >= 2) add(size / 2, 2 * count);
}

}  // namespace

std::vector<ScenarioChange> step_changes(const Scenario& scenario, const RunResult& result) {
  std::vector<ScenarioChange> changes;
  const Layout& layout = result.layout;
  const bool is_named = layout.rule != nullptr || layout.policy != nullptr;
  if (is_named && layout.hardware.spec.machine && !scenario.model.stages_given) {
    add_degrees(layout, changes);
    add_microbatches(layout, changes);
  }
  for (ScenarioChange& change : order_changes(scenario, result)) {
    changes.push_back(std::move(change));
  }
  return changes;
}

std::vector<TriedChange> faster_changes(const Scenario& scenario, const RunResult& result) {
  constexpr std::uint64_t most_tasks = std::uint64_t{1} << 21;
  constexpr double worth_saying = 0.99;
  constexpr std::size_t most = 5;
  const double most_us = worth_saying * to_us(result.report->makespan);
  std::vector<TriedChange> changes =
      try_changes(scenario, result, step_changes(scenario, result), most_tasks).changes;
  std::erase_if(changes, [&](const TriedChange& change) {
    return change.fits == false || to_us(change.makespan) > most_us;
  });
  std::stable_sort(changes.begin(), changes.end(), [](const TriedChange& a, const TriedChange& b) {
    return a.makespan != b.makespan ? a.makespan < b.makespan : a.peak_bytes < b.peak_bytes;
  });
  if (changes.size() > most) changes.resize(most);
  return changes;
}

}  // namespace penstock
