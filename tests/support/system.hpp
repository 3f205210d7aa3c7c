#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/layout/training_step.hpp"
#include "hardware_models/registry.hpp"
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

/// A whole pipeline, small enough to work out by hand.
struct System {
  Placement placement;
  Schedule schedule;
  std::vector<Layer> stages;  // what each model stage costs
  HardwareSpec hardware = {};
  Overlap overlap = Overlap::serial;
  Extras extras = {};
  Training training = {};
};

/// What became of a system.
struct Outcome {
  Plan plan;
  Costs costs;
  Timeline timeline;
  Report report;
};

/// An order in PyTorch's notation, rows apart by line ends.
Schedule order_of(std::string_view csv);

/// A stage of which one pass takes so many microseconds; B takes both halves of the backward.
Layer stage_of(double forward_us, double backward_input_us, double backward_weight_us);
/// The same for an order with whole backwards.
Layer stage_of(double forward_us, double backward_us);

/// Links that are a pure delay, and links with a latency and a bandwidth.
HardwareSpec delay(double transfer_us);
HardwareSpec link(double latency_us, double bandwidth_bytes_per_s);

/// The plan of a system; fails the test when the order has a fault or a deadlock.
Plan lowered(const System& system);
Costs priced(const System& system, const Plan& plan);
/// Lowered and priced.
PricedPlan priced(const System& system);
Outcome simulated(const System& system);
/// Of a run that came to its end; fails the test when it did not.
Timeline timeline_of(RunOutcome outcome);

/// The task that reads like this, "2F5" or "2SEND_F5"; fails the test when there is none.
TaskId task_of(const Plan& plan, std::string_view text);

/// "warmup 1 drain 2 dependency 3 contention 4 transfer 5 memory 6 launch 7", without the zeros.
std::string causes_text(const IdleCauses& causes);

/// When a task began and ended, in microseconds: "0F1 1-2".
std::string span_text(const Outcome& outcome, std::string_view task);

}  // namespace penstock::testing
