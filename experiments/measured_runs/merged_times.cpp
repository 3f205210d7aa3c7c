#include "experiments/measured_runs/merged_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/error.hpp"

namespace penstock {
namespace {

constexpr std::array<Pass, 4> passes{Pass::forward, Pass::backward, Pass::backward_input,
                                     Pass::backward_weight};

const OpTimes* find_times(const std::vector<OpTimes>& times, std::uint32_t stage, Pass pass) {
  const auto found = std::find_if(times.begin(), times.end(), [&](const OpTimes& op) {
    return op.model_stage == stage && op.pass == pass;
  });
  return found == times.end() ? nullptr : &*found;
}

bool has_pass(const MeasuredRun& run, Pass pass) {
  return std::any_of(run.times.begin(), run.times.end(),
                     [pass](const OpTimes& op) { return op.pass == pass; });
}

std::uint32_t stages_of(const MeasuredRun& run) {
  std::uint32_t count = 0;
  for (const OpTimes& op : run.times) count = std::max(count, op.model_stage + 1);
  return count;
}

/// A layer's weight when the times of its stage are split.
double weight_of(const std::vector<OpTimes>& layers, std::uint32_t layer) {
  double sum = 0;
  for (const Pass pass : {Pass::backward, Pass::backward_input, Pass::backward_weight}) {
    if (const OpTimes* op = find_times(layers, layer, pass)) sum += op->median_ns;
  }
  if (sum > 0) return sum;
  const OpTimes* const forward = find_times(layers, layer, Pass::forward);
  return forward == nullptr ? 0 : forward->median_ns;
}

/// The times of a pass of a coarser run, split over the layers of each of its stages.
void add_split(const MeasuredRun& run, Pass pass, const std::vector<OpTimes>& layers,
               std::uint32_t per_stage, std::vector<OpTimes>& times) {
  for (const OpTimes& op : run.times) {
    if (op.pass != pass) continue;
    const std::uint32_t first = op.model_stage * per_stage;
    double all = 0;
    for (std::uint32_t i = 0; i < per_stage; ++i) all += weight_of(layers, first + i);
    for (std::uint32_t i = 0; i < per_stage; ++i) {
      const double share = all > 0 ? weight_of(layers, first + i) / all : 1.0 / per_stage;
      times.push_back({first + i, pass, op.count, op.median_ns * share, op.lower_ns * share,
                       op.upper_ns * share});
    }
  }
}

}  // namespace

MergedTimes merged_times(const std::vector<MeasuredRun>& runs) {
  const auto finest = std::max_element(
      runs.begin(), runs.end(),
      [](const MeasuredRun& a, const MeasuredRun& b) { return stages_of(a) < stages_of(b); });
  const std::uint32_t layers = stages_of(*finest);
  MergedTimes merged{finest->times, {}};
  for (const Pass pass : passes) {
    if (has_pass(*finest, pass)) continue;
    const MeasuredRun* other = nullptr;
    for (const MeasuredRun& run : runs) {
      const bool finer = other == nullptr || stages_of(run) > stages_of(*other);
      if (has_pass(run, pass) && finer) other = &run;
    }
    if (other == nullptr) continue;
    const std::uint32_t stages = stages_of(*other);
    if (layers % stages != 0) {
      throw InputError(
          fmt::format("a run of {} stages and one of {}: one must be a multiple of "
                      "the other to make one profile",
                      stages, layers));
    }
    add_split(*other, pass, finest->times, layers / stages, merged.times);
    merged.notes.push_back(fmt::format(
        "{} comes from {}{}", letters(pass), other->title,
        layers == stages ? ""
                         : fmt::format(", split over the {} layers of a stage as their backwards",
                                       layers / stages)));
  }
  std::sort(merged.times.begin(), merged.times.end(), [](const OpTimes& a, const OpTimes& b) {
    return std::pair(a.model_stage, a.pass) < std::pair(b.model_stage, b.pass);
  });
  const auto has = [&](Pass pass) {
    return std::any_of(merged.times.begin(), merged.times.end(),
                       [pass](const OpTimes& op) { return op.pass == pass; });
  };
  if (!has(Pass::backward) && has(Pass::backward_input)) {
    merged.notes.emplace_back("no run has a whole backward: B is taken as I + W");
  }
  return merged;
}

}  // namespace penstock
