#include "experiments/measure/torch_runs/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "experiments/input/files/output_file.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/measure/measured_runs/run_times.hpp"
#include "experiments/run/simulation.hpp"
#include "schedules/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/named.hpp"
#include "sim/costs/chance.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

/// The settings that give the scenario of the profile an order, each stage with its layers of the
/// profile; or why its stages are not made of these.
std::variant<std::vector<std::string>, std::string> settings_for(const RuntimeOrder& order,
                                                                 const RuntimeOrder& finest) {
  nlohmann::json stages = nlohmann::json::array();
  std::size_t next = 0;
  for (const auto& layers : order.stages) {
    nlohmann::json of_stage = nlohmann::json::array();
    std::size_t count = 0;
    while (count < layers.size() && next < finest.stages.size()) {
      of_stage.push_back(next);
      count += finest.stages[next++].size();
    }
    if (count != layers.size()) {
      return fmt::format("its stages are not made of those of {}, which was traced", finest.name);
    }
    stages.push_back(std::move(of_stage));
  }
  const nlohmann::json partition{{"stages", std::move(stages)}};
  const nlohmann::json schedule{{"file", fmt::format("orders/{}.csv", order.name)}};
  return std::vector<std::string>{"/schedule=" + schedule.dump(), "/partition=" + partition.dump()};
}

/// A whole backward of a stage as one op takes less than I and W apart.
Time whole_backward(const Layout& layout, std::uint32_t stage) {
  double us = 0;
  for (const LayerIndex layer : layout.partition.stages[stage]) {
    const Layer& of = layout.model.layers[index(layer)];
    const double apart = of.backward_input_us.value_or(0) + of.backward_weight_us.value_or(0);
    us += of.backward_us.value_or(apart);
  }
  return from_us(us + layout.overheads.host_us);
}

/// In PyTorch's runtime I of the first stage does nothing, and its W is the whole backward.
void move_first_inputs(const Layout& layout, double host_us, PricedPlan& priced) {
  const Plan& plan = priced.plan;
  for (std::size_t i = 0; i < plan.classes.size(); ++i) {
    const WorkClass& work = plan.classes[i];
    if (plan.is_link(work.resource) || plan.model_stage[index(work.stage)] != 0) continue;
    Time& duration = priced.costs.duration[i];
    if (work.pass == Pass::backward_input) duration = from_us(host_us);
    if (work.pass == Pass::backward_weight) duration = whole_backward(layout, 0);
  }
}

/// Adds the time of the host for tensors that actions send and receive.
void add_messages(double message_us, PricedPlan& priced) {
  const Plan& plan = priced.plan;
  const Messages messages = messages_of(plan);
  std::vector<std::uint32_t> of_class(plan.classes.size());
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    of_class[plan.work[task]] = messages.sent[task] + messages.received[task];
  }
  for (std::size_t i = 0; i < of_class.size(); ++i) {
    if (plan.is_link(plan.classes[i].resource)) continue;
    priced.costs.duration[i] += from_us(of_class[i] * message_us);
  }
}

double typical_around_us(const std::vector<TracedOrder>& traced) {
  std::vector<double> all;
  for (const TracedOrder& one : traced) all.push_back(one.around_us);
  return median(std::move(all));
}

const TracedOrder& finest_of(const std::vector<TracedOrder>& traced) {
  return *std::max_element(traced.begin(), traced.end(), [](const auto& a, const auto& b) {
    return a.order.stages.size() < b.order.stages.size();
  });
}

/// The schedule by name where there is one.
ScenarioParts parts_of(const TracedOrder& traced) {
  ScenarioParts parts{.profile = "profile.json", .order = ""};
  const auto& name = traced.run.schedule;
  const ScheduleEntry* const entry = name ? find_named(schedule_entries(), *name) : nullptr;
  if (entry == nullptr) {
    parts.order = fmt::format("orders/{}.csv", traced.order.name);
  } else if (entry->default_chunks != traced.run.chunks) {
    parts.chunks = traced.run.chunks;
  }
  return parts;
}

}  // namespace

Transfer::Transfer(const std::vector<TracedOrder>& traced, const TorchFolder& folder)
    : folder_(folder.path("")),
      around_(from_us(typical_around_us(traced))),
      finest_(finest_of(traced).order) {
  std::vector<MeasuredRun> runs;
  for (const TracedOrder& one : traced) runs.push_back(one.run);
  const MergedTimes merged = merged_times(runs);
  host_ = host_costs(runs);
  op_us_ = merged.op_us;
  profile_ = profile_text(runs, merged, 1);
  const ScenarioParts parts = parts_of(traced.front());
  scenario_ = scenario_text(runs.front(), merged, parts, 1);
  write_file(folder.path("profile.json"), profile_);
  write_file(folder.path("run.json"), scenario_);
}

std::variant<PricedPlan, std::string> Transfer::priced(const RuntimeOrder& order) const {
  auto settings = settings_for(order, finest_);
  if (const auto* why = std::get_if<std::string>(&settings)) return *why;
  std::get<0>(settings).push_back(fmt::format("/overheads/host_us={}", host_.op_us + op_us_));
  try {
    const Layout layout = settle(read_scenario(folder_ + "run.json", std::get<0>(settings)));
    auto priced = Simulation(layout).priced_order();
    if (const auto* finding = std::get_if<Finding>(&priced)) return finding->text;
    move_first_inputs(layout, host_.op_us, std::get<PricedPlan>(priced));
    add_messages(host_.message_us, std::get<PricedPlan>(priced));
    auto& [plan, costs, conditions] = std::get<PricedPlan>(priced);
    costs = draw(plan, costs, layout.chance, 0);
    return std::get<PricedPlan>(std::move(priced));
  } catch (const InputError& error) {
    return std::string(error.what());
  }
}

}  // namespace penstock
