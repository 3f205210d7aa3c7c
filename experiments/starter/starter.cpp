#include "experiments/starter/starter.hpp"

#include <fmt/format.h>

#include "experiments/planner/space/degrees.hpp"
#include "experiments/starter/layout_search.hpp"

namespace penstock {
namespace {

/// The fastest layout that fits, except one; the first of equals.
std::optional<std::size_t> fastest_of(const std::vector<TriedLayout>& tried,
                                      std::optional<std::size_t> without = std::nullopt) {
  std::optional<std::size_t> fastest;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (!tried[i].fits() || i == without) continue;
    if (!fastest || tried[i].samples_per_s > tried[*fastest].samples_per_s) fastest = i;
  }
  return fastest;
}

std::size_t closest_of(const std::vector<TriedLayout>& tried) {
  std::size_t closest = 0;
  for (std::size_t i = 1; i < tried.size(); ++i) {
    if (tried[i].peak_bytes < tried[closest].peak_bytes) closest = i;
  }
  return closest;
}

/// Reports why no layout could be tried.
[[noreturn]] void refuse(const TrainingTask& task, const Trials& trials) {
  if (trials.refusal()) throw *trials.refusal();
  throw UsageError(
      fmt::format("no layout of {} devices divides a global batch of {} into "
                  "microbatches of {}, {} of them per replica at most; give another "
                  "--global-batch",
                  task.devices, task.global_batch, task.microbatch, most_replica_microbatches));
}

}  // namespace

Starter find_starter(const TrainingRequest& request) {
  const Catalogue catalogue = read_catalogue();
  Starter starter;
  starter.task = read_training_task(request, catalogue);
  Trials trials(starter.task, catalogue);
  search_layouts(starter.task, trials);
  if (trials.all().empty()) refuse(starter.task, trials);
  starter.tried = trials.all();
  starter.fastest = fastest_of(starter.tried);
  if (starter.fastest) starter.runner_up = fastest_of(starter.tried, starter.fastest);
  starter.closest = closest_of(starter.tried);
  return starter;
}

}  // namespace penstock
