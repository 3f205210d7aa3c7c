#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/measure/comparison/comparison.hpp"
#include "gui/models/run/viewed_run.hpp"
#include "sim/base/time_sum.hpp"
#include "sim/report/idle_sums.hpp"

namespace penstock {

/// Why an op stands elsewhere in time: what it adds itself, or what it inherits.
enum class MovedBy : std::uint8_t { length, wait, order, place, before, input };
constexpr std::size_t moved_by_count = 6;
/// "longer or shorter itself", "an input came at another time", …
const char* name(MovedBy cause);

/// Ops that moved by one cause, and those of them that moved most.
struct MovedOps {
  MovedBy cause = MovedBy::length;
  std::uint64_t ops = 0;
  TimeSum together;                // the sum of their parts
  std::vector<OpDifference> most;  // largest first
};
/// Own causes first.
std::vector<MovedOps> moved_ops(const Comparison& comparison, std::size_t most = 50);

/// The idle time of all ranks.
IdleSums idle_of_all(const ViewedRun& run);

/// A time or bytes in two runs.
struct TwoAmounts {
  std::string name;
  WideInteger in_a = 0;  // picoseconds or bytes
  WideInteger now = 0;
  std::uint64_t ops_in_a = 0;  // that take it
  std::uint64_t ops_now = 0;
};
struct AmountGroup {
  std::string title;
  bool bytes = false;  // else times
  std::vector<TwoAmounts> changes{};
};
/// By kind of op and cause of idle time on all ranks, then by rank and by link. Groups without a
/// row are left out, and those of which one of the runs knows nothing, or counts something else.
std::vector<AmountGroup> changes_of(const ViewedRun& a, const ViewedRun& now);

}  // namespace penstock
