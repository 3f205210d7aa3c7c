#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measured_runs/rank_ops.hpp"
#include "experiments/measured_runs/rank_traces.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// One iteration as all ranks ran it.
struct RunIteration {
  std::uint32_t number = 0;                  // the N of ProfilerStep#N, or counted from 0
  std::vector<std::vector<MeasuredOp>> ops;  // by rank, by begin
};

/// An order that was seen, and where its stages lie.
struct SeenOrder {
  Schedule schedule;
  Placement placement;
};

/// The iterations of which every rank has ops. Steps part them; where the traces have none,
/// an iteration ends where an op comes again. Throws InputError where some ranks have steps and
/// others not.
std::vector<RunIteration> iterations_of(const std::vector<TracedRank>& ranks);

/// The order in which each rank began its ops, and its placement: the given one, or each stage on
/// the rank that ran it, all of them one chain. Throws InputError, saying what is wrong, for an
/// iteration that is not whole.
SeenOrder order_of(const RunIteration& iteration, const Placement* placement);

}  // namespace penstock
