#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/measured_runs/iterations.hpp"
#include "experiments/measured_runs/rank_traces.hpp"
#include "sim/order/placement.hpp"
#include "sim/order/schedule.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/job.hpp"
#include "validate/job/run_errors.hpp"

namespace penstock {

/// What the ops of one pass of one stage took, over microbatches and iterations, and over the
/// copies of the model.
struct OpTimes {
  std::uint32_t model_stage = 0;
  Pass pass;
  std::size_t count = 0;
  double median_ns = 0;
  double lower_ns = 0;  // a quarter took less
  double upper_ns = 0;  // a quarter took more
};

/// A training that was traced, as a plan with times.
struct MeasuredRun {
  std::string title;                    // "1f1b, 4 ranks, 8 microbatches"
  std::optional<std::string> schedule;  // the rule whose order it is; nothing: no known one's
  std::uint32_t chunks = 1;
  SeenOrder order;
  std::vector<TracedRank> ranks;
  std::vector<OpTimes> times;  // by stage, then pass

  Job job;                             // its times are medians
  Measurement measured;                // every whole iteration of the same order
  std::vector<std::uint32_t> numbers;  // of these iterations
  std::size_t chosen = 0;              // the one that the timeline is of
  Timeline timeline;
  std::optional<RunErrors> errors;    // nothing where links do not serve one pair of ranks each
  std::optional<double> transfer_us;  // typical for a tensor that crosses ranks; nothing: none does
  std::int64_t clock_error_ns = 0;    // how much earlier than what it needs an op began, at most
  std::vector<std::string> left_out;  // iterations that are not among them, and why
  std::vector<std::string> notes;
};

/// Makes a run of what each rank did: the chosen iteration, or the last whole one, gives the order;
/// all others with that order are samples. Throws InputError where none is whole.
///
/// When a tensor arrived is in no trace. It is taken to be on its way as long as it took, in the
/// median, from the end of an op to the begin of what reads its result on a rank that was free by
/// then; where no rank ever was, the least of these times. So launches count as transfer.
MeasuredRun measured_run(std::vector<TracedRank> ranks, const std::optional<NamedOrder>& named,
                         std::optional<std::uint32_t> chosen);

}  // namespace penstock
