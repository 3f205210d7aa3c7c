#include "experiments/measure/comparison/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/input/files/plain_text.hpp"
#include "experiments/input/files/quantity.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/measured_runs/measured_run.hpp"
#include "experiments/run/layout/training.hpp"
#include "experiments/run/throughput.hpp"
#include "sim/base/error.hpp"

namespace penstock {
namespace {

template <class Count>
void add_counts(const char* what, const Count& a, const Count& b, const char* consequence,
                std::vector<std::string>& differences) {
  if (a != b) differences.push_back(fmt::format("{}: {} in A, {} in B{}", what, a, b, consequence));
}

void add_rates(const char* what, std::optional<double> a, std::optional<double> b,
               std::vector<std::string>& notes) {
  if (!a || !b || *a == 0) return;
  notes.push_back(fmt::format("{}: {} in A, {} in B ({})", what, number_text(*a), number_text(*b),
                              signed_percent(*b / *a - 1)));
}

/// Makespans of runs that do different work say nothing without their rates.
void add_work(const std::optional<StepWork>& a, const std::optional<StepWork>& b,
              std::vector<std::string>& notes) {
  if (!a || !b) return;
  const std::size_t before = notes.size();
  add_counts("devices", a->devices, b->devices, "", notes);
  if (a->global_batch && b->global_batch) {
    add_counts("global batch", *a->global_batch, *b->global_batch, "", notes);
  }
  if (a->tokens && b->tokens) add_counts("tokens of a step", *a->tokens, *b->tokens, "", notes);
  if (notes.size() == before) return;
  add_rates("samples per second", a->samples_per_s, b->samples_per_s, notes);
  add_rates("tokens per second", a->tokens_per_s, b->tokens_per_s, notes);
}

void add_missing_causes(const char* run, bool known, std::vector<std::string>& notes) {
  if (known) return;
  notes.push_back(fmt::format(
      "{} does not record which input came last: causes of idle time are left out", run));
}

/// What stands under `time_scale_key`; 1 for other runs.
double time_scale_of(const Timeline& timeline) {
  const auto stated = timeline.environment.find(time_scale_key);
  if (stated == timeline.environment.end()) return 1;
  const auto scale = plain_number(stated->second);
  return scale && *scale > 0 ? *scale : 1;
}

void add_time_scale(const char* run, const Timeline& timeline, std::vector<std::string>& notes) {
  const double scale = time_scale_of(timeline);
  if (scale == 1) return;
  notes.push_back(fmt::format(
      "times of {} are divided by its time_scale {:.4g}, so that they are those of the scenario",
      run, scale));
}

void add_unaligned(const char* run, const Timeline& timeline, std::vector<std::string>& notes) {
  const auto stated = timeline.environment.find(unaligned_key);
  if (stated == timeline.environment.end()) return;
  notes.push_back(fmt::format("{}: {}", run, stated->second));
}

/// How two plans differ, as text; empty for equal plans.
std::vector<std::string> plan_differences(const Plan& a, const Plan& b) {
  std::vector<std::string> differences;
  if (a.schedule != b.schedule) {
    differences.push_back(fmt::format("schedule: {} in A, {} in B", a.schedule, b.schedule));
  }
  add_counts("ranks", a.ranks, b.ranks, "", differences);
  add_counts("stages", a.model_stage.size(), b.model_stage.size(),
             "; a stage may be another part of the model", differences);
  add_counts("microbatches", a.microbatches, b.microbatches, "", differences);
  return differences;
}

}  // namespace

StepWork step_work_of(const Layout& layout, const Recording& recording) {
  StepWork work{.devices = devices_of(layout)};
  if (layout.documents) return work;
  work.global_batch = global_batch_of(layout);
  if (layout.batch.sequence) work.tokens = *work.global_batch * *layout.batch.sequence;
  const Time length = makespan(recording.plan, recording.timeline);
  const Throughput throughput = throughput_of(layout, recording.plan, length, std::nullopt);
  work.samples_per_s = throughput.samples_per_s;
  work.tokens_per_s = throughput.tokens_per_s;
  return work;
}

std::vector<std::string> comparison_notes(const ComparedRun& a, const ComparedRun& b,
                                          const Comparison& comparison) {
  std::vector<std::string> notes;
  if (!comparison.same_plan) {
    notes = plan_differences(a.recording.plan, b.recording.plan);
    if (notes.empty()) notes.emplace_back("the plans differ in order or in dependencies");
    notes.emplace_back("different plans are compared on their common ops");
  }
  add_work(a.work, b.work, notes);
  add_counts("iteration", a.recording.timeline.iteration, b.recording.timeline.iteration, "",
             notes);
  const auto moved = std::ranges::count(comparison.ops, Reason::place, &OpDifference::reason);
  if (moved > 0)
    notes.push_back(fmt::format("{} on another rank or link in B",
                                counted(static_cast<std::uint64_t>(moved), "op")));
  if (comparison.scale != 1) {
    notes.push_back(fmt::format("times of B are scaled by {:.4g}, so that both makespans are equal",
                                comparison.scale));
  }
  add_time_scale("A", a.recording.timeline, notes);
  add_time_scale("B", b.recording.timeline, notes);
  add_unaligned("A", a.recording.timeline, notes);
  add_unaligned("B", b.recording.timeline, notes);
  const Time unit =
      std::max(resolution_of(a.recording.timeline), resolution_of(b.recording.timeline));
  if (unit > Time{}) {
    notes.push_back(fmt::format(
        "measured times are rounded to {} ns: smaller differences of ops add up to the tolerance",
        to_ns(unit)));
  }
  add_missing_causes("A", comparison.use_a.causes_known, notes);
  add_missing_causes("B", comparison.use_b.causes_known, notes);
  return notes;
}

Time resolution_of(const Timeline& timeline) {
  const auto stated = timeline.environment.find(resolution_key);
  if (stated == timeline.environment.end()) return {};
  try {
    return from_us(quantity_of(stated->second, QuantityKind::microseconds));
  } catch (const InputError&) {
    return {};
  }
}

void undo_time_scale(Timeline& timeline) {
  const double scale = time_scale_of(timeline);
  if (scale == 1) return;
  const auto undo = [&](Time& time) {
    time = later({}, static_cast<double>(time.picoseconds) / scale);
  };
  for (auto* column : {&timeline.begin, &timeline.end, &timeline.slowed, &timeline.memory_wait}) {
    std::for_each(column->begin(), column->end(), undo);
  }
  for (MemorySample& sample : timeline.memory) undo(sample.time);
}

double share_of_makespan(const Comparison& comparison, Time difference) {
  const double makespan = static_cast<double>(comparison.use_a.makespan.picoseconds);
  return makespan == 0 ? 0 : static_cast<double>(difference.picoseconds) / makespan;
}

std::string signed_percent(double share) {
  constexpr double most_short = 9.995;  // more has an exponent in three digits
  if (std::abs(share) >= most_short) return signed_percent_text(share);
  return share == 0 ? "0 %" : fmt::format("{:+.3g} %", share * 100);
}

}  // namespace penstock
