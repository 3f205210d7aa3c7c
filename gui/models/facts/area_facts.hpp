#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/models/facts/facts.hpp"
#include "sim/base/time_sum.hpp"

namespace penstock {

/// What ops or idle time of an area have in common.
enum class AreaGroup : std::uint8_t { kind, stage, cause };

/// Ops of one kind or stage, or idle time of one cause, in an area.
struct AreaRow {
  AreaGroup group = AreaGroup::kind;
  std::uint32_t key = 0;  // the pass, stage or cause; ops with names: the first class of its name
  std::string name{};     // "forward", "stage 2", "idle: transfer"
  std::uint64_t count = 0;
  WideInteger sum = 0;  // of the parts that lie in the area
  // Of whole ops and gaps, also what lies outside.
  WideInteger whole = 0;
  std::int64_t shortest = 0;
  std::int64_t longest = 0;
  /// How many have which length, in equal steps from the shortest to the longest.
  std::vector<std::uint32_t> lengths{};
  WideInteger change = 0;  // of the sum, of another run minus A; 0 unless they were compared

  std::int64_t mean() const { return count == 0 ? 0 : static_cast<std::int64_t>(whole / count); }
};

/// All rows that an area has, by group.
std::vector<AreaRow> rows_of(const Area& area, const RunLanes& lanes, const Plan& plan);
constexpr std::size_t length_steps = 24;
/// Compares with the same area of another run; one of them is A. Rows of the other alone are added,
/// without an op.
void compare_rows(std::vector<AreaRow>& rows, const std::vector<AreaRow>& others,
                  bool others_are_a);

/// Where it lies, and how much of it is busy and idle; nullptr: that is not known yet. `of`: " of
/// B" where there are several runs.
Facts facts_of_area(const Area& area, const std::string& of, const Plan& plan, const AreaUse* use);
/// How much work it is to look at all of an area: about the number of its ops.
double ops_about(const Area& area, const RunLanes& lanes);

}  // namespace penstock
