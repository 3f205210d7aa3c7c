#pragma once

#include <string>
#include <vector>

#include "sim/base/time.hpp"
#include "sim/timeline/timeline_file.hpp"
#include "validate/comparison/compare.hpp"

namespace penstock {

/// A run to compare, and its file.
struct ComparedRun {
  std::string source;
  Recording recording;
};

/// How two plans differ, as text; empty for equal plans.
std::vector<std::string> plan_differences(const Plan& a, const Plan& b);
/// Notes for the reader: how the plans differ, what is left out.
std::vector<std::string> comparison_notes(const ComparedRun& a, const ComparedRun& b,
                                          const Comparison& comparison);

/// The unit that the times of a measured run are rounded to, as its environment says under
/// `resolution_key`; 0 for a simulated run.
Time resolution_of(const Timeline& timeline);

/// "rank 2" or "link 0>1".
std::string place_text(const Plan& plan, std::uint32_t resource);

/// A difference as a share of the first run's makespan; 0 where that is 0.
double share_of_makespan(const Comparison& comparison, Time difference);

/// Summary, first difference and largest differences.
std::string comparison_text(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison);
/// Everything as JSON, one op per line, so that a million ops need no tree in memory.
std::string comparison_json(const ComparedRun& a, const ComparedRun& b,
                            const Comparison& comparison);

/// Formats the values of a comparison as text.
struct ComparisonWords {
  const ComparedRun& run_a;
  const ComparedRun& run_b;
  const Comparison& comparison;
  TimeUnit unit;

  const Plan& plan_a() const { return run_a.recording.plan; }
  const Plan& plan_b() const { return run_b.recording.plan; }

  std::string time(Time time) const;
  /// With its sign: "+0.5".
  std::string change(Time time) const;
  /// Where an op runs in A: "rank 2".
  std::string where(const OpDifference& op) const;
  /// Why an op starts or ends at another time: "its input 0SEND_F0 came later".
  std::string reason(const OpDifference& op) const;
};

/// A share with its sign: "+1.5 %".
std::string signed_percent(double share);

/// Tables: time of ranks and links, largest differences of ops and of kinds of ops.
std::string comparison_tables(const ComparisonWords& words);

}  // namespace penstock
