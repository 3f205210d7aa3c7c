#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/costs/demand.hpp"
#include "sim/costs/hardware_model.hpp"
#include "sim/model/model_graph.hpp"
#include "sim/model/partition.hpp"
#include "sim/plan/plan.hpp"

namespace penstock {

/// What the classes of a plan cost.
struct Costs {
  std::vector<Time> duration;        // by work class: how long it holds its rank or link
  std::vector<Time> latency;         // by work class: how much later its result is there
  std::vector<std::uint64_t> bytes;  // by buffer class

  // By task, where chance makes tasks of a class differ; else empty.
  std::vector<Time> task_duration;
  std::vector<Time> task_latency;

  // The host issues the actions of its rank one after the other, each taking `issue`; an action
  // can start `launch` after it was issued.
  Time issue{};
  Time launch{};

  Time duration_of(const Plan& plan, TaskId task) const {
    return task_duration.empty() ? duration[plan.work[task]] : task_duration[task];
  }
  Time latency_of(const Plan& plan, TaskId task) const {
    return task_latency.empty() ? latency[plan.work[task]] : task_latency[task];
  }
  bool has_launches() const { return issue > Time{} || launch > Time{}; }
};

/// Prices every class of a plan, each duration rounded once. A pass takes the time of the layers of
/// its stage, the extra time of its demand and that of its collectives; whether these overlap, the
/// demand says too. A pass that begins by recomputing carries the collectives of both. Throws
/// InputError when a layer lacks a time that the order needs, when a stage has no layers, or when
/// the sum of all durations would not fit the clock (104 days).
Costs price(const Plan& plan, const ModelGraph& model, const Partition& partition,
            const HardwareModel& hardware, const Demand& demand);

/// Throws InputError, at `where`, unless the clock can hold all launches and tasks of a plan one
/// after the other, each `stretch` times as long: nothing that adds times up later can overflow
/// then.
void check_clock(const Plan& plan, const Costs& costs, const std::string& where,
                 double stretch = 1);

}  // namespace penstock
