#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/time_sum.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/comparison/task_match.hpp"
#include "validate/comparison/time_use.hpp"

namespace penstock {

/// How two runs are aligned in time.
enum class Alignment : std::uint8_t {
  start,     // their starts
  first_op,  // the begins of their first ops
  makespan,  // their starts; the second is scaled to the makespan of the first
};

struct CompareOptions {
  Alignment alignment = Alignment::start;
  double tolerance = 0;  // share of the first makespan; smaller differences count as equal
  /// The unit that measured times are rounded to. Each op may add one to the differences of those
  /// behind it, so the tolerance is at least one per op of the longest chain.
  Time resolution = {};
};

/// Why an op differs: the nearest cause, which may have causes of its own.
enum class Reason : std::uint8_t {
  none,      // no difference within the tolerance
  duration,  // same begin, other duration
  wait,      // same inputs, other wait: for host, memory or link
  input,     // an input arrived at another time
  before,    // the op before it on its rank ended at another time
  order,     // of the common ops, another one runs before it on its rank or link
  place,     // it runs on another rank or link
};
constexpr std::size_t reason_count = 7;

/// "none", "duration", …
const char* name(Reason reason);

/// The difference of an op: second run minus first.
struct OpDifference {
  TaskPair task;
  Time start{};
  Time end{};
  Time wait{};  // from when its inputs were there to its start
  Reason reason = Reason::none;
  // Of `input` and `before`: the last to end, in the run in which it ended later; of `order`: the
  // op before it in each run.
  TaskPair by{no_task, no_task};

  Time duration() const { return end - start; }
  Time inherited() const { return start - wait; }
};

/// The first op in time that differs. An op differs from the earlier of its two begins; an action
/// with the same begin, from the earlier of its ends. A transfer may free its link at another time
/// before it arrives at another time, so it differs from its begin.
struct FirstDifference {
  Time at{};
  std::size_t op = 0;  // index in the differences
};

/// The first place where the common ops of a rank or link run in another order.
struct OrderDifference {
  Time at{};                         // begin of the earlier of the two
  std::uint32_t resource = 0;        // of the first run
  TaskPair after{no_task, no_task};  // the last op before; none at the start
  TaskPair next{no_task, no_task};   // the next op in each run
};

/// Absolute deviations.
struct Spread {
  Time median{};
  Time ninth_decile{};  // 90 % deviate by no more
  Time largest{};
};

/// Differences that ops caused themselves rather than inherited.
struct OwnDifferences {
  std::uint64_t durations = 0;  // ops with another duration
  TimeSum duration;             // total of these differences
  std::uint64_t waits = 0;
  TimeSum wait;
};

/// The comparison of two runs.
struct Comparison {
  bool same_plan = false;
  TaskMatch tasks;
  std::vector<OpDifference> ops;  // all common ops, by task of the first run
  Timeline a, b;                  // on one axis; no memory samples
  TimeUse use_a, use_b;           // of both, on this axis
  double scale = 1;               // of the second run's times
  Time tolerance{};

  std::optional<FirstDifference> first;  // in time
  std::optional<OrderDifference> first_order;
  Spread starts, ends, durations;
  std::array<std::uint64_t, reason_count> reasons{};  // ops per reason
  OwnDifferences actions, transfers;
  MakespanChange makespan_change;
  std::optional<double> start_correlation;  // Kendall's tau-b

  /// No op is in one run only, and none has moved in place or time.
  bool same() const;
};

/// Compares two runs on their common ops, which may be none. A fraction of a makespan of 0 is 0.
Comparison compare(const Plan& plan_a, const Timeline& a, const Plan& plan_b, const Timeline& b,
                   const CompareOptions& options = {});

}  // namespace penstock
