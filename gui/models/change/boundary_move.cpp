#include "gui/models/change/boundary_move.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "experiments/input/scenario/document.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

using Stages = std::vector<std::vector<LayerIndex>>;

void check_movable(const ViewedRun& run, std::uint32_t rank) {
  if (run.layout == nullptr || run.scenario == nullptr) {
    throw InputError("a recorded run cannot be changed; open its scenario");
  }
  if (value_at(*run.scenario, "/model/stages")) {
    throw InputError("/model/stages",
                     "stages given by numbers have no layers to move; give \"layers\" or a model "
                     "file");
  }
  const Placement& placement = run.layout->placement;
  const bool plain = placement.chains().size() == 1 && run.layout->partition.ranks.empty() &&
                     placement.stage_count() == placement.ranks();
  if (!plain) {
    throw InputError("/partition",
                     "only a boundary between ranks with one stage each can be moved");
  }
  if (rank + 1 >= placement.ranks()) {
    throw InputError("/partition", fmt::format("there is no rank behind rank {}", rank));
  }
}

/// Moves layers from the front of the second to the end of the first, or back if negative.
void move_layers(int layers, std::vector<LayerIndex>& first, std::vector<LayerIndex>& second) {
  const int gained =
      std::clamp(layers, 1 - static_cast<int>(first.size()), static_cast<int>(second.size()) - 1);
  if (gained >= 0) {
    first.insert(first.end(), second.begin(), second.begin() + gained);
    second.erase(second.begin(), second.begin() + gained);
  } else {
    second.insert(second.begin(), first.end() + gained, first.end());
    first.erase(first.end() + gained, first.end());
  }
}

std::string text_of(const Stages& stages) {
  std::vector<std::string> lists;
  for (const auto& stage : stages) {
    std::vector<std::uint32_t> numbers;
    for (const LayerIndex layer : stage) numbers.push_back(index(layer));
    lists.push_back(fmt::format("[{}]", fmt::join(numbers, ",")));
  }
  return fmt::format("[{}]", fmt::join(lists, ","));
}

}  // namespace

Scenario with_moved_boundary(const ViewedRun& run, std::uint32_t rank, int layers) {
  check_movable(run, rank);
  const Placement& placement = run.layout->placement;
  Stages stages = run.layout->partition.stages;
  const std::uint32_t above = placement.position(placement.stages_of(Rank{rank}).front());
  const std::uint32_t below = placement.position(placement.stages_of(Rank{rank + 1}).front());
  if (below == above + 1) {
    move_layers(layers, stages[above], stages[below]);
  } else {
    move_layers(-layers, stages[below], stages[above]);
  }
  return changed(*run.scenario, {"/partition/stages=" + text_of(stages)}, {"partition"});
}

int layers_on(const ViewedRun& run, std::uint32_t rank) {
  std::size_t layers = 0;
  for (const Stage stage : run.layout->placement.stages_of(Rank{rank})) {
    layers += run.layout->partition.stages[run.layout->placement.position(stage)].size();
  }
  return static_cast<int>(layers);
}

}  // namespace penstock
