#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/measure/measured_runs/measured_run.hpp"
#include "sim/base/error.hpp"
#include "validate/statistics/summary.hpp"

namespace penstock {
namespace {

constexpr std::array<Pass, 4> passes{Pass::forward, Pass::backward, Pass::backward_input,
                                     Pass::backward_weight};

bool has_pass(const std::vector<OpTimes>& times, Pass pass) {
  return std::ranges::find(times, pass, &OpTimes::pass) != times.end();
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

OpTimes less(OpTimes op, double ns) {
  for (double* time : {&op.median_ns, &op.lower_ns, &op.upper_ns})
    *time = std::max(0.0, *time - ns);
  return op;
}

/// The times of a pass of a coarser run, split over the layers of each of its stages.
void add_split(const MeasuredRun& run, Pass pass, const std::vector<OpTimes>& layers,
               std::uint32_t per_stage, double op_ns, std::vector<OpTimes>& times) {
  for (const OpTimes& whole : run.times) {
    if (whole.pass != pass) continue;
    const OpTimes op = less(whole, op_ns);
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

// ---- the time of an op beyond its layers ----

/// Whether PyTorch's runtime moved the work of I to W, as in the first stage.
bool lacks_input(const MeasuredRun& run, std::uint32_t stage) {
  const OpTimes* const op = find_times(run.times, stage, Pass::backward_input);
  return op != nullptr && op->median_ns == 0;
}

/// For each stage of the coarser run that takes a pass: what its layers take longer as ops of
/// their own, by extra op.
void add_extras(const MeasuredRun& fine, const MeasuredRun& coarse, std::vector<double>& extras) {
  const std::uint32_t per_stage = stages_of(fine) / stages_of(coarse);
  for (const OpTimes& op : coarse.times) {
    const std::uint32_t first = op.model_stage * per_stage;
    if (op.median_ns == 0 || !has_pass(fine.times, op.pass)) continue;
    if (op.pass == Pass::backward_weight && lacks_input(coarse, op.model_stage)) continue;
    double apart = 0;
    for (std::uint32_t i = 0; i < per_stage; ++i) {
      if (const OpTimes* layer = find_times(fine.times, first + i, op.pass)) {
        apart += layer->median_ns;
      }
    }
    extras.push_back((apart - op.median_ns) / (per_stage - 1));
  }
}

double op_ns_of(const std::vector<MeasuredRun>& runs, std::uint32_t layers) {
  std::vector<double> extras;
  for (const MeasuredRun& fine : runs) {
    if (stages_of(fine) != layers || fine.host_us == 0) continue;
    for (const MeasuredRun& coarse : runs) {
      const std::uint32_t stages = stages_of(coarse);
      if (stages == layers || layers % stages != 0 || coarse.host_us == 0) continue;
      add_extras(fine, coarse, extras);
    }
  }
  return std::max(0.0, median(std::move(extras)));
}

void merge_slow_links(const std::vector<MeasuredRun>& runs, MergedTimes& merged) {
  std::map<std::pair<Rank, Rank>, std::vector<double>> slow;
  for (const MeasuredRun& run : runs) {
    for (const auto& [link, us] : run.slow_links) slow[{link.from, link.to}].push_back(us);
  }
  for (const auto& [ends, us] : slow) {
    if (2 * us.size() < runs.size()) continue;
    merged.slow_links.push_back({{ends.first, ends.second}, median(us)});
  }
  // A scenario has them as factors of what other links take, which may be too short to be seen.
  const bool unseen = merged.transfer_us.value_or(0) == 0;
  if (!merged.slow_links.empty() && unseen) merged.transfer_us = 1;
}

void merge_hosts(const std::vector<MeasuredRun>& runs, MergedTimes& merged) {
  std::vector<double> hosts;
  std::vector<double> transfers;
  for (const MeasuredRun& run : runs) {
    if (run.host_us > 0) hosts.push_back(run.host_us);
    if (run.transfer_us) transfers.push_back(*run.transfer_us);
  }
  if (!hosts.empty()) merged.host_us = median(std::move(hosts));
  if (!transfers.empty()) merged.transfer_us = median(std::move(transfers));
  merge_slow_links(runs, merged);
}

// ---- runs that do not agree ----

/// What a stage of the coarser run takes, and its layers in the finer one.
struct Disagreement {
  const MeasuredRun* finer = nullptr;
  const MeasuredRun* coarser = nullptr;
  const OpTimes* op = nullptr;  // of the coarser
  double apart_ns = 0;          // of the finer

  double factor() const {
    const double one = apart_ns / op->median_ns;
    return std::max(one, 1 / one);
  }
};

/// The largest between two runs; nothing where they have no pass of a stage in common.
std::optional<Disagreement> largest_disagreement(const MeasuredRun& finer,
                                                 const MeasuredRun& coarser) {
  const std::uint32_t per_stage = stages_of(finer) / stages_of(coarser);
  std::optional<Disagreement> largest;
  for (const OpTimes& op : coarser.times) {
    double apart = 0;
    bool whole =
        op.median_ns > 0 &&
        !(op.pass == Pass::backward_weight &&
          (lacks_input(coarser, op.model_stage) || lacks_input(finer, op.model_stage * per_stage)));
    for (std::uint32_t i = 0; i < per_stage; ++i) {
      const OpTimes* const layer = find_times(finer.times, op.model_stage * per_stage + i, op.pass);
      whole = whole && layer != nullptr && layer->median_ns > 0;
      if (layer != nullptr) apart += layer->median_ns;
    }
    if (!whole) continue;
    const Disagreement one{&finer, &coarser, &op, apart};
    if (!largest || one.factor() > largest->factor()) largest = one;
  }
  return largest;
}

/// Its title, or where that of the other is the same its first trace, which names folder or
/// replica.
std::string title_beside(const MeasuredRun& run, const MeasuredRun& other) {
  if (run.title != other.title) return run.title;
  return fmt::format("the run of {}", run.ranks.front().source);
}

/// Says where runs do not agree on what the same layers take.
void note_disagreements(const std::vector<MeasuredRun>& runs, MergedTimes& merged) {
  constexpr double much = 1.25;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t k = i + 1; k < runs.size(); ++k) {
      const bool swapped = stages_of(runs[i]) < stages_of(runs[k]);
      const MeasuredRun& finer = runs[swapped ? k : i];
      const MeasuredRun& coarser = runs[swapped ? i : k];
      if (stages_of(finer) % stages_of(coarser) != 0) continue;
      const auto most = largest_disagreement(finer, coarser);
      if (!most || most->factor() < much) continue;
      merged.disagreements.push_back(fmt::format(
          "runs disagree: {} of stage {} takes {:.4g} ms in {}, and {:.4g} ms in {}; are they of "
          "one model, microbatch and machine?",
          letters(most->op->pass), most->op->model_stage, most->op->median_ns / 1e6,
          title_beside(coarser, finer), most->apart_ns / 1e6, title_beside(finer, coarser)));
    }
  }
}

}  // namespace

MergedTimes merged_times(const std::vector<MeasuredRun>& runs) {
  const auto finest = std::ranges::max_element(runs, {}, stages_of);
  const std::uint32_t layers = stages_of(*finest);
  const double op_ns = op_ns_of(runs, layers);
  MergedTimes merged{.times = {}, .op_us = op_ns / 1e3, .transfer_us = {}, .notes = {}};
  merge_hosts(runs, merged);
  for (const OpTimes& op : finest->times) merged.times.push_back(less(op, op_ns));
  for (const Pass pass : passes) {
    if (has_pass(finest->times, pass)) continue;
    const MeasuredRun* other = nullptr;
    for (const MeasuredRun& run : runs) {
      const bool finer = other == nullptr || stages_of(run) > stages_of(*other);
      if (has_pass(run.times, pass) && finer) other = &run;
    }
    if (other == nullptr) continue;
    const std::uint32_t stages = stages_of(*other);
    if (layers % stages != 0) {
      throw InputError(
          fmt::format("a run of {} stages and one of {}: one must be a multiple of "
                      "the other to make one profile",
                      stages, layers));
    }
    add_split(*other, pass, finest->times, layers / stages, op_ns, merged.times);
    merged.notes.push_back(fmt::format(
        "{} comes from {}{}", letters(pass), other->title,
        layers == stages ? ""
                         : fmt::format(", split over the {} layers of a stage as their backwards",
                                       layers / stages)));
  }
  std::ranges::sort(merged.times, {},
                    [](const OpTimes& op) { return std::pair(op.model_stage, op.pass); });
  note_disagreements(runs, merged);
  if (!has_pass(merged.times, Pass::backward) && has_pass(merged.times, Pass::backward_input)) {
    merged.notes.emplace_back("no run has a whole backward: B is taken as I + W");
  }
  return merged;
}

HostCosts host_costs(const std::vector<MeasuredRun>& runs) {
  constexpr double least_variance = 1e-3;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;  // sums over ranks: tensors and time of an op
  for (const MeasuredRun& run : runs) {
    for (const HostShare& share : run.host_shares) {
      if (share.ops == 0) continue;
      const double messages = share.messages / share.ops, us = share.us / share.ops;
      ++n, x += messages, y += us, xx += messages * messages, xy += messages * us;
    }
  }
  if (n == 0) return {};
  const double variance = xx / n - x / n * (x / n);
  const double slope = variance < least_variance ? 0 : (xy / n - x / n * (y / n)) / variance;
  if (slope <= 0) return {y / n, 0};
  const double op_us = (y - slope * x) / n;
  return op_us >= 0 ? HostCosts{op_us, slope} : HostCosts{0, xy / xx};
}

}  // namespace penstock
