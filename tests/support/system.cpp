#include "tests/support/system.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "experiments/input/formats/torch_csv.hpp"
#include "experiments/run/layout/stage_demand.hpp"
#include "sim/base/named.hpp"
#include "sim/engines/events.hpp"
#include "sim/order/order_fault.hpp"
#include "sim/plan/lower.hpp"
#include "sim/report/memory.hpp"

namespace penstock::testing {
namespace {

Outcome outcome_of(const PricedPlan& priced, const Timeline& timeline) {
  return {priced.plan, priced.costs, timeline, summarize(priced.plan, priced.costs, timeline)};
}

/// "0F1 1-2".
std::string span_text(const Outcome& outcome, TaskId task) {
  return fmt::format("{} {}-{}", task_text(outcome.plan, task),
                     text_us(outcome.timeline.begin[task]), text_us(outcome.timeline.end[task]));
}

}  // namespace

Schedule order_of(std::string_view csv) { return read_torch_csv(csv).schedule; }

std::vector<Action> actions_of(const std::string& row) {
  constexpr std::string_view passes = "FBIWRUEL";  // in the order of `Pass`
  const auto number = [](const std::string& digits) {
    return static_cast<std::uint32_t>(std::stoul(digits));
  };
  std::vector<Action> actions;
  std::istringstream cells(row);
  for (std::string cell; cells >> cell;) {
    const std::size_t at = cell.find_first_of(passes);
    actions.emplace_back(static_cast<Pass>(passes.find(cell[at])), Stage{number(cell)},
                         Microbatch{number(cell.substr(at + 1))});
  }
  return actions;
}

Layer stage_of(double forward_us, double backward_input_us, double backward_weight_us) {
  return {.forward_us = forward_us,
          .backward_input_us = backward_input_us,
          .backward_weight_us = backward_weight_us};
}

Layer stage_of(double forward_us, double backward_us) {
  return {.forward_us = forward_us, .backward_us = backward_us};
}

System a_stage_each(std::string_view order, std::vector<Layer> stages, HardwareSpec hardware,
                    Overlap overlap) {
  const auto ranks = static_cast<std::uint32_t>(stages.size());
  return {Placement::loop(ranks, 1), order_of(order), std::move(stages), std::move(hardware),
          overlap};
}

HardwareSpec delay(double transfer_us) { return {.transfer_us = transfer_us}; }

HardwareSpec link(double latency_us, double bandwidth_bytes_per_s) {
  return {.latency_us = latency_us, .bandwidth_bytes_per_s = bandwidth_bytes_per_s};
}

System in_pairs(const std::vector<std::uint32_t>& ranks, std::string_view order, double forward_us,
                double transfer_us) {
  std::vector<std::vector<Rank>> on;
  for (const std::uint32_t rank : ranks) on.push_back({Rank{rank}});
  std::vector<std::vector<Stage>> chains;
  for (std::uint32_t s = 0; s < ranks.size(); s += 2) chains.push_back({Stage{s}, Stage{s + 1}});
  Layer stage{.forward_us = forward_us, .backward_us = 0, .activation_bytes = transfer_us * 1000};
  return {Placement::given(*std::ranges::max_element(ranks) + 1, on, chains),
          order_of(order),
          {stage, stage},
          link(0, 1e9)};
}

Plan lowered(const System& system) {
  if (const auto fault = find_order_fault(system.schedule, system.placement)) {
    throw std::logic_error("the order has a fault: " + fault->text);
  }
  auto result = lower(system.schedule, system.placement, system.overlap, system.extras);
  if (const auto* deadlock = std::get_if<Deadlock>(&result)) {
    throw std::logic_error(text(*deadlock));
  }
  return std::get<Plan>(std::move(result));
}

Costs priced(const System& system, const Plan& plan) {
  ModelGraph model{.layers = system.stages};
  model.connect_as_chain();
  Partition partition;
  const auto count = static_cast<std::uint32_t>(system.stages.size());
  for (LayerIndex layer : Numbers<LayerIndex>(count)) partition.stages.push_back({layer});
  const auto* ideal = find_named(cost_model_entries(), "ideal");
  return price(plan, model, partition, *ideal->make(system.hardware), system.training);
}

PricedPlan priced(const System& system) {
  PricedPlan all{lowered(system), {}};
  all.costs = priced(system, all.plan);
  return all;
}

PricedPlan over_one_link(PricedPlan priced, Sharing sharing) {
  priced.conditions.network = {.links = {{"spine", 1e9, 0}}, .routes = {}, .sharing = sharing};
  priced.conditions.network.routes.assign(priced.plan.links.size(), {0});
  return priced;
}

Outcome simulated(const System& system) { return simulated(priced(system)); }

Outcome simulated(const PricedPlan& priced) { return outcome_of(priced, relax(priced)); }

Outcome by_events(const PricedPlan& priced) {
  return outcome_of(priced, timeline_of(run_events(priced)));
}

Timeline timeline_of(RunOutcome outcome) {
  if (const auto* halt = std::get_if<Standstill>(&outcome)) throw std::logic_error(halt->text);
  return std::get<Timeline>(std::move(outcome));
}

std::vector<std::uint64_t> peaks_of(const PricedPlan& priced, const Timeline& timeline) {
  std::vector<std::uint64_t> bytes;
  for (const MemoryPeak& peak : memory_peaks(priced.plan, priced.costs, timeline)) {
    bytes.push_back(peak.bytes);
  }
  return bytes;
}

TaskId task_of(const Plan& plan, std::string_view text) {
  for (TaskId task = 0; task < plan.tasks(); ++task) {
    if (task_text(plan, task) == text) return task;
  }
  throw std::logic_error(fmt::format("no task reads {}", text));
}

std::string causes_text(const IdleCauses& causes) {
  std::string text;
  const auto add = [&](const char* name, Time time) {
    if (time != Time{})
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, text_us(time));
  };
  add("warmup", causes.warmup);
  add("drain", causes.drain);
  add("dependency", causes.dependency);
  add("contention", causes.contention);
  add("transfer", causes.transfer);
  add("memory", causes.memory);
  add("launch", causes.launch);
  return text;
}

std::string spans_text(const Outcome& outcome, const std::function<bool(TaskId)>& chosen) {
  std::string text;
  for (TaskId task = 0; task < outcome.plan.tasks(); ++task) {
    if (chosen(task)) text += (text.empty() ? "" : ", ") + span_text(outcome, task);
  }
  return text;
}

void check_spans(const Outcome& outcome, const std::vector<std::string>& spans) {
  for (const std::string& span : spans) {
    CHECK(span_text(outcome, task_of(outcome.plan, span.substr(0, span.find(' ')))) == span);
  }
}

}  // namespace penstock::testing
