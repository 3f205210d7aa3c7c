#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "validate/backends/registry.hpp"
#include "validate/calibration/pipeline_calibration.hpp"
#include "validate/job/measurement.hpp"

namespace penstock {

/// A pipeline that was left out, and why.
struct LeftOut {
  std::string name;
  std::string why;
};

/// Runs pipelines one after the other until the time is up.
class PipelineRuns {
 public:
  PipelineRuns(const BackendEntry& backend, double budget_s);

  /// `left`: pipelines still to run, including this one. Each runs often enough to be clean, so
  /// that all may take longer than the budget; after several times as long the others are left out.
  void run(Pipeline pipeline, std::size_t left);

  std::vector<PipelineRun> runs;
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> environment;

 private:
  std::optional<std::string> why_left_out(const Pipeline& pipeline) const;
  std::optional<std::string> measure_within(const Pipeline& pipeline, std::size_t left,
                                            Measurement& measured);
  MeasuringPlan plan_for(const Job& job, std::size_t left) const;

  const BackendEntry& backend_;
  std::int64_t end_ns_;
  std::int64_t give_up_ns_;
};

}  // namespace penstock
