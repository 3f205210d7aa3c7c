#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/run/layout/stage_demand.hpp"
#include "hardware_models/registry.hpp"
#include "sim/costs/network.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/engines/standstill.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/plan/extras.hpp"
#include "sim/plan/plan.hpp"
#include "sim/report/report.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock::testing {

/// A whole pipeline, small enough to calculate by hand.
struct System {
  Placement placement;
  Schedule schedule;
  std::vector<Layer> stages;  // the costs of each model stage
  HardwareSpec hardware = {};
  Overlap overlap = Overlap::serial;
  Extras extras = {};
  Training training = {};
};

/// The result of a system.
struct Outcome {
  Plan plan;
  Costs costs;
  Timeline timeline;
  Report report;
};

/// An order in PyTorch's notation, rows separated by line ends.
Schedule order_of(std::string_view csv);

/// The actions of a row, also those that PyTorch's notation lacks: "0F0 0E0 0R0 0L0 0B0 0U0".
std::vector<Action> actions_of(const std::string& row);

/// A stage with these durations of a pass, in microseconds; B is both halves of the backward.
Layer stage_of(double forward_us, double backward_input_us, double backward_weight_us);
/// The same for whole backwards.
Layer stage_of(double forward_us, double backward_us);

/// Ranks with a stage each, one behind the other.
System a_stage_each(std::string_view order, std::vector<Layer> stages, HardwareSpec hardware = {},
                    Overlap overlap = Overlap::serial);

/// Links with a fixed delay, and links with a latency and a bandwidth.
HardwareSpec delay(double transfer_us);
HardwareSpec link(double latency_us, double bandwidth_bytes_per_s);

/// Chains of two stages each: stage s is on rank `ranks[s]`. F takes `forward_us`, and a transfer
/// `transfer_us` alone, at 1 GB/s.
System in_pairs(const std::vector<std::uint32_t>& ranks, std::string_view order,
                double forward_us = 1, double transfer_us = 4);

/// The plan of a system; fails the test if the order has a fault or deadlocks.
Plan lowered(const System& system);
Costs priced(const System& system, const Plan& plan);
/// Lowered and priced.
PricedPlan priced(const System& system);
/// The plan with one link of 1 GB/s that all its transfers cross.
PricedPlan over_one_link(PricedPlan priced, Sharing sharing);
Outcome simulated(const System& system);
Outcome simulated(const PricedPlan& priced);
/// As the event engine runs it; fails the test if it comes to a halt.
Outcome by_events(const PricedPlan& priced);
/// The timeline of a finished run; fails the test if it did not finish.
Timeline timeline_of(RunOutcome outcome);

/// The bytes of a kind at a peak.
inline std::uint64_t bytes_of(const MemoryPeak& peak, BufferKind kind) {
  return peak.by_kind[static_cast<std::size_t>(kind)];
}
/// The most bytes that each rank of a run holds.
std::vector<std::uint64_t> peaks_of(const PricedPlan& priced, const Timeline& timeline);

/// The task with this text, "2F5" or "2SEND_F5"; fails the test if there is none.
TaskId task_of(const Plan& plan, std::string_view text);

/// "warmup 1 drain 2 dependency 3 contention 4 transfer 5 memory 6 launch 7", without the zeros.
std::string causes_text(const IdleCauses& causes);

/// Start and end of tasks in microseconds, in the order of the plan: "0F1 1-2, 0B0 2-4". Of all
/// tasks, or of those of which `chosen(task)` holds.
std::string spans_text(
    const Outcome& outcome,
    const std::function<bool(TaskId)>& chosen = [](TaskId) { return true; });
/// Checks that tasks run at these times: {"0F1 1-2", "0B0 2-4"}.
void check_spans(const Outcome& outcome, const std::vector<std::string>& spans);

}  // namespace penstock::testing
