#include "gui/models/change/moves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/input/orders/torch_comms.hpp"
#include "experiments/input/scenario/document.hpp"
#include "sim/base/error.hpp"
#include "sim/order/order_fault.hpp"

namespace penstock {
namespace {

constexpr std::string_view changed_mark = " (changed)";

using Order = std::vector<Action>;

bool is_action_of(const Action& action, const Plan& plan, TaskId task) {
  const WorkClass& work = plan.class_of(task);
  return action.pass == work.pass && action.stage == work.stage &&
         action.microbatch == plan.microbatch[task];
}

bool in_cell(const Order& order, std::size_t at) {
  return order[at].with_next || (at > 0 && order[at - 1].with_next);
}

std::optional<std::string> why_not(const ViewedRun& run, TaskId task) {
  if (run.layout == nullptr) return "a recorded run cannot be changed; open its scenario";
  if (run.plan.is_link(run.plan.class_of(task).resource)) {
    return "transfers follow the actions that send them; move an action";
  }
  if (run.layout->policy != nullptr) return "a policy decides this order while it runs";
  return std::nullopt;
}

/// The place of a task's action in the order of its rank; the number of actions if it is none.
std::size_t place_of(const ViewedRun& run, const Order& order, TaskId task) {
  const auto here = std::find_if(order.begin(), order.end(), [&](const Action& action) {
    return is_action_of(action, run.plan, task);
  });
  return static_cast<std::size_t>(here - order.begin());
}

std::variant<ViewedRunPtr, MoveRefused> rerun(Layout layout, const ViewedRun& run) {
  if (const auto fault = find_order_fault(layout.schedule, layout.placement)) {
    return MoveRefused{"in that order " + fault->text};
  }
  layout.rule = nullptr;
  if (!layout.name.ends_with(changed_mark)) layout.name += changed_mark;
  try {
    return viewed(std::move(layout), run.scenario);
  } catch (const InputError& error) {
    return MoveRefused{error.what()};
  }
}

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

std::variant<ViewedRunPtr, MoveRefused> with_op_at(const ViewedRun& run, TaskId task,
                                                   std::size_t place) {
  if (const auto reason = why_not(run, task)) return MoveRefused{*reason};
  Layout layout = *run.layout;
  Order& order = layout.schedule.on(Rank{run.plan.class_of(task).resource});
  const std::size_t here = place_of(run, order, task);
  if (here == order.size()) return MoveRefused{"this op is no action of the order"};
  if (in_cell(order, here)) return MoveRefused{"it is part of an overlap cell"};
  const Action action = order[here];
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(here));
  place = std::min(place, order.size());
  if (place > 0 && order[place - 1].with_next) return MoveRefused{"that is in an overlap cell"};
  order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), action);
  return rerun(std::move(layout), run);
}

std::variant<ViewedRunPtr, MoveRefused> with_moved_op(const ViewedRun& run, TaskId task,
                                                      bool later) {
  if (const auto reason = why_not(run, task)) return MoveRefused{*reason};
  const Order& order = run.layout->schedule.on(Rank{run.plan.class_of(task).resource});
  const std::size_t here = place_of(run, order, task);
  if (here == order.size()) return MoveRefused{"this op is no action of the order"};
  if (later && here + 1 == order.size()) return MoveRefused{"it is the last action of its rank"};
  if (!later && here == 0) return MoveRefused{"it is the first action of its rank"};
  if (in_cell(order, later ? here + 1 : here - 1)) {
    return MoveRefused{"it is part of an overlap cell"};
  }
  return with_op_at(run, task, later ? here + 1 : here - 1);
}

std::size_t place_at(const ViewedRun& run, TaskId task, std::int64_t time) {
  const std::uint32_t rank = run.plan.class_of(task).resource;
  const Order& order = run.layout->schedule.on(Rank{rank});
  std::size_t next = 0;  // of the order; the plan has its actions in the same sequence
  std::size_t place = 0;
  for (TaskId other = 0; other < run.plan.tasks() && next < order.size(); ++other) {
    if (run.plan.class_of(other).resource != rank) continue;
    if (!is_action_of(order[next], run.plan, other)) continue;
    ++next;
    const std::int64_t begin = run.timeline.begin[other].picoseconds;
    const std::int64_t middle = begin + (run.timeline.end[other].picoseconds - begin) / 2;
    if (other != task && middle < time) ++place;
  }
  return place;
}

bool has_changed_order(const ViewedRun& run) {
  return run.layout != nullptr && run.layout->name.ends_with(changed_mark);
}

std::string why_not_in_file(const Layout& layout) {
  const TorchOrder order = torch_order(layout.schedule);
  if (!order.left_out.empty()) return "PyTorch's notation has no " + order.left_out.front();
  if (layout.module) return "a file has the order of the layers behind " + layout.module->name;
  if (layout.placement.slots() != layout.placement.stage_count()) {
    return "a file has each stage on one rank";
  }
  return why_trained_otherwise(layout.slices, layout.schedule.weights().use);
}

Scenario with_moved_boundary(Chain& chain, const ViewedRun& run, std::uint32_t rank, int layers) {
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
  return chain.changed(*run.scenario, {"/partition/stages=" + text_of(stages)}, {"partition"});
}

int layers_on(const ViewedRun& run, std::uint32_t rank) {
  std::size_t layers = 0;
  for (const Stage stage : run.layout->placement.stages_of(Rank{rank})) {
    layers += run.layout->partition.stages[run.layout->placement.position(stage)].size();
  }
  return static_cast<int>(layers);
}

}  // namespace penstock
