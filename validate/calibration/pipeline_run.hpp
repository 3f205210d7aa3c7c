#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "validate/job/job.hpp"
#include "validate/job/measurement.hpp"

namespace penstock {

/// What a pipeline is for in a calibration: factors are fitted to the first alone.
enum class PipelinePart : std::uint8_t {
  training,       // 1F1B at sizes of a grid
  interpolation,  // 1F1B at sizes inside it
  extrapolation,  // 1F1B with more ranks, more microbatches or longer actions
  transfer,       // other schedules at sizes that 1F1B was trained on
};
std::string_view name(PipelinePart part);

/// A pipeline to run for real, and what its actions take by themselves.
struct Pipeline {
  std::string name;     // "1f1b p2 m8 60us even"
  std::string family;   // of which it is one: "even"
  std::string setting;  // all but the schedule: those of one setting compete
  std::string schedule;
  PipelinePart part = PipelinePart::training;
  Job job;
  std::vector<double> alone_ns;                     // by work class; links: what the job says
  std::vector<std::vector<double>> alone_draws_ns;  // the same by draw; empty: known exactly
};

/// A pipeline that was run.
struct PipelineRun {
  Pipeline pipeline;
  Measurement measured;  // at least one iteration
};

}  // namespace penstock
