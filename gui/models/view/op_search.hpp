#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

/// A search for ops: all conditions that are given hold.
struct OpQuery {
  std::optional<std::uint32_t> stage, microbatch, rank;
  std::optional<Pass> pass;
  std::optional<Time> longer_than, shorter_than;
  friend bool operator==(const OpQuery&, const OpQuery&) = default;
};

/// Reads `stage:3 kind:B mb:12 rank:0 dur>2ms dur<1s`, or the name of an op such as `3B12`. Throws
/// InputError that says what is understood.
OpQuery read_query(std::string_view text);

bool fits(const OpQuery& query, const Plan& plan, const Timeline& timeline, TaskId task);

/// All that fit, by begin; ops without length are left out.
std::vector<TaskId> find_ops(const OpQuery& query, const Plan& plan, const Timeline& timeline);

}  // namespace penstock
