#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// The costs of a plan's classes.
struct Costs {
  std::vector<Time> duration;        // by work class: time on its rank or link
  std::vector<Time> latency;         // by work class: from its end until the result arrives
  std::vector<std::uint64_t> bytes;  // by buffer class
  // By work class, what the next step's forwards hide of its time on its link; empty: nothing.
  std::vector<Time> hidden;

  // By task, when chance makes tasks of a class differ; otherwise empty.
  std::vector<Time> task_duration;
  std::vector<Time> task_latency;

  // The host issues the actions of its rank one after the other, `issue` each; an action can start
  // `launch` after its issue.
  Time issue{};
  Time launch{};

  Time duration_of(const Plan& plan, TaskId task) const {
    return task_duration.empty() ? duration[plan.work[task]] : task_duration[task];
  }
  Time latency_of(const Plan& plan, TaskId task) const {
    return task_latency.empty() ? latency[plan.work[task]] : task_latency[task];
  }
  Time hidden_of(std::uint32_t work) const { return work < hidden.size() ? hidden[work] : Time{}; }
  bool has_launches() const { return issue > Time{} || launch > Time{}; }
};

/// Prices every class of a plan, rounding each duration once. A pass takes the time of its layers,
/// its extra time and its collectives; the demand says whether these overlap. A pass that starts
/// with recomputation has the collectives of both. Throws InputError when a layer lacks a needed
/// time, a stage has no layers, or the sum of all durations exceeds the clock (104 days).
Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Demand& demand);

/// Throws InputError at `where` unless the clock can hold all launches and tasks of a plan in
/// sequence, each `stretch` times as long: later sums of times cannot overflow then.
void check_clock(const Plan& plan, const Costs& costs, const std::string& where,
                 double stretch = 1);

/// The network of some hardware with a route for each link of a plan; empty when no links are
/// shared. Throws InputError for a link without a route.
Network network_of(const Plan& plan, const HardwareModel& hardware);

}  // namespace penstock
