#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "experiments/measure/measured_runs/rank_ops.hpp"
#include "experiments/measure/measured_runs/rank_traces.hpp"
#include "sim/order/communication.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// One iteration on all ranks.
struct RunIteration {
  std::uint32_t number = 0;                       // N of ProfilerStep#N, or counted from 0
  std::vector<std::vector<MeasuredOp>> ops;       // by rank, sorted by begin
  std::vector<std::vector<CommCell>> comms = {};  // by rank, each in front of the op behind it
};

/// An observed order and its placement.
struct SeenOrder {
  Schedule schedule;
  Placement placement;
  Communication communication = {};  // as hosts issued it, where that is known
};

/// The iterations in which every rank has ops; of others, `left_out` gets a rank that has none.
/// Steps separate them; without steps, an iteration begins with a forward before which no
/// microbatch is under way, or where an op repeats. Traces may begin within one: iterations of two
/// ranks are then the same where they are nearest in time. Throws InputError if only some ranks
/// have steps.
std::vector<RunIteration> iterations_of(const std::vector<TracedRank>& ranks,
                                        std::vector<std::string>& left_out);

/// The order in which each rank began its ops, with the given placement, or else with each stage on
/// the rank that ran it, all in one chain. Throws InputError with the reason for an incomplete
/// iteration.
SeenOrder order_of(const RunIteration& iteration, const Placement* placement);

/// The communication of an iteration with this order as its hosts issued it, each tensor on its
/// own; without rows if they marked none. Its fault if that is not what the order needs.
std::variant<Communication, std::string> communication_of(const RunIteration& iteration,
                                                          const SeenOrder& order);

/// The largest microbatch number plus one.
std::uint32_t microbatches_of(const Schedule& schedule);

/// The schedule that produces this order with default options. If several do, one whose default has
/// the same number of stages per rank.
std::optional<std::string> known_order(const SeenOrder& order);

/// The first difference from the named order; "" if there is none.
std::string order_difference(const Schedule& seen, const NamedOrder& named);

}  // namespace penstock
