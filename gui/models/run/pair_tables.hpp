#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/run/viewed_run.hpp"
#include "validate/comparison/compare.hpp"

namespace penstock {

/// Ops that differ for one reason, and those of them that moved most.
struct MovedOps {
  Reason reason = Reason::none;
  std::uint64_t ops = 0;
  Time own{};                      // the sum of what `own_part` is of each
  std::vector<OpDifference> most;  // by what `own_part` is, largest first
};

/// What an op adds itself where it has another duration or wait; else by how much it ends later.
Time own_part(const OpDifference& op);
/// "another length", "an input came at another time", …
const char* reason_text(Reason reason);
/// By reason: own changes first, then inherited ones.
std::vector<MovedOps> moved_ops(const Comparison& comparison, std::size_t most = 50);

/// A time or bytes in two runs.
struct Change {
  std::string name;
  std::int64_t in_a = 0;  // picoseconds or bytes
  std::int64_t now = 0;
  std::uint64_t ops_in_a = 0;  // that take it
  std::uint64_t ops_now = 0;
};
struct ChangeGroup {
  std::string title;
  bool bytes = false;  // else times
  std::vector<Change> changes{};
};
/// By kind of op and cause of idle time on all ranks, then by rank and by link; groups without a
/// row are left out.
std::vector<ChangeGroup> changes_of(const ViewedRun& a, const ViewedRun& now);

}  // namespace penstock
