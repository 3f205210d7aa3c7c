#pragma once

#include <string>

#include "experiments/measure/comparison/comparison.hpp"
#include "sim/base/time.hpp"

namespace penstock {

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
