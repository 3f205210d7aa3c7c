#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "experiments/input/files/json_output.hpp"
#include "experiments/input/files/table.hpp"
#include "experiments/measure/validation/validation.hpp"
#include "schedules/registry.hpp"
#include "sim/report/memory.hpp"
#include "validate/comparison/counted_memory.hpp"
#include "validate/training/layered_model.hpp"
#include "validate/training/reference_numbers.hpp"

namespace penstock {
namespace {

using Stated = std::vector<StatedVersions>;

/// PipeDream: replicas of a stage update after each of their microbatches. When one starts a
/// microbatch, it has (ranks from its stage on - 1) / replicas others under way.
Stated pipedream_versions(const Placement& placement) {
  const std::vector<Stage>& chain = placement.chains().front();
  Stated stated(chain.size());
  std::uint32_t ranks = 0;
  for (std::size_t stage = chain.size(); stage-- > 0;) {
    const std::uint32_t replicas = placement.replicas(chain[stage]);
    ranks += replicas;
    stated[stage] = {.replicas = replicas, .group = 1, .delay = (ranks - 1) / replicas};
  }
  return stated;
}

/// PipeDream-2BW: a group sees weights delayed by (versions - 1) groups.
Stated two_bw_versions(const Layout& layout) {
  const ScheduleOptions& options = layout.options;
  const std::uint32_t stages = layout.placement.stage_count();
  return {stages,
          {.replicas = 1,
           .group = options.number("group", stages),
           .delay = options.number("versions", 2) - 1}};
}

/// Empty: weights do not change. Nothing: the schedule does not state a rule.
std::optional<Stated> stated_versions(const Layout& layout, const Schedule& order) {
  if (!order.has(Pass::update)) return Stated{};
  const std::string_view rule = layout.rule != nullptr ? layout.rule->name : "";
  if (rule == "pipedream") return pipedream_versions(layout.placement);
  if (rule == "pipedream-2bw") return two_bw_versions(layout);
  return std::nullopt;
}

std::vector<std::uint32_t> whole_microbatches(const Plan& plan, std::uint32_t slices) {
  std::set<std::uint32_t> numbers;
  for (const Microbatch microbatch : plan.microbatch) numbers.insert(index(microbatch) / slices);
  return {numbers.begin(), numbers.end()};
}

/// Codecs change what cells are made again from.
RemadeCells remade_cells(const Job& job) {
  RemadeCells remade;
  if (job.layers->codecs.empty()) return remade;
  for (const CellKey& cell : recomputed_cells(job.priced.plan)) {
    remade.emplace(job.priced.plan.model_stage[index(cell.stage)], index(cell.microbatch));
  }
  return remade;
}

/// Whether an iteration ends in an optimizer step, which the order does not list.
bool updates_at_end(const Schedule& order, const Plan& plan) {
  const auto updates = [](const WorkClass& work) { return work.pass == Pass::update; };
  return !order.has(Pass::update) && std::any_of(plan.classes.begin(), plan.classes.end(), updates);
}

std::string sums_text(const char* what, const CodingSums& sums) {
  if (sums.values == 0) return "";
  return fmt::format(
      "{} encoded: {:.2f} bits per value, SQNR {:.1f} dB, largest error {:.3g} of "
      "values up to {:.3g}\n",
      what, sums.bits_per_value(), sums.sqnr_db(), sums.most_error, sums.most_value);
}

ordered_json sums_json(const CodingSums& sums) {
  if (sums.values == 0) return {};
  return {{"values", sums.values},
          {"bits_per_value", sums.bits_per_value()},
          {"sqnr_db", sums.sqnr_db()},
          {"most_error", sums.most_error},
          {"most_value", sums.most_value}};
}

double difference(const HeldPeak& peak) {
  return std::abs(peak.counted_bytes - peak.simulated_bytes);
}

/// "memory at its peak: 1.213 GiB on rank 0, counted as simulated"
std::string peak_text(const char* what, const HeldPeak& peak) {
  const auto size = [](double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); };
  if (difference(peak) < 1) {
    return fmt::format("{} at its peak: {} on rank {}, counted as simulated\n", what,
                       size(peak.counted_bytes), peak.rank);
  }
  return fmt::format("{} at its peak: {} counted on rank {}, {} simulated ({:+.0f} bytes)\n", what,
                     size(peak.counted_bytes), peak.rank, size(peak.simulated_bytes),
                     peak.simulated_bytes - peak.counted_bytes);
}

}  // namespace

NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers) {
  if (!numbers) return {.error = {}, .why_not = "they were not collected"};
  const auto stated = stated_versions(layout, order);
  if (!stated) return {.error = {}, .why_not = "no rule states which weights this order uses"};
  TrainedNumbers right =
      reference_numbers(*job.layers, whole_microbatches(job.priced.plan, layout.slices),
                        has_backward(job.priced.plan), *stated, remade_cells(job));
  const bool steps = updates_at_end(order, job.priced.plan);
  if (steps) add_step(*job.layers, right);
  return {.error = largest_error(*numbers, right),
          .why_not = "",
          .of_loss_alone = !has_backward(job.priced.plan),
          .of_weights = steps,
          .by_versions = !stated->empty()};
}

std::vector<HeldPeak> held_peaks(const PricedPlan& priced, const Timeline& measured,
                                 const Timeline& simulated) {
  // When RECV_F and UNSHARD take memory stands in the order; the plan no longer has these cells.
  if (priced.plan.written) return {};
  const auto counted = counted_memory_peaks(priced.plan, priced.costs, measured);
  const auto expected = memory_peaks(priced.plan, priced.costs, simulated);
  std::vector<HeldPeak> peaks;
  for (std::uint32_t rank = 0; rank < counted.size(); ++rank) {
    peaks.push_back(
        {rank, static_cast<double>(counted[rank]), static_cast<double>(expected[rank].bytes)});
  }
  return peaks;
}

std::string held_text(const std::vector<HeldPeak>& peaks) {
  const auto worst = std::max_element(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) {
    return std::pair(difference(a), a.counted_bytes) < std::pair(difference(b), b.counted_bytes);
  });
  if (worst == peaks.end() || worst->counted_bytes == 0) return "";
  return peak_text("memory", *worst);
}

ordered_json held_json(const std::vector<HeldPeak>& peaks) {
  return list_json(peaks, [](const HeldPeak& peak) {
    return ordered_json{{"rank", peak.rank},
                        {"counted_bytes", peak.counted_bytes},
                        {"simulated_bytes", peak.simulated_bytes}};
  });
}

std::vector<HeldPeak> stash_peaks(const CodingNumbers& coding, const PricedPlan& priced,
                                  const Timeline& simulated) {
  std::vector<MemorySample> samples;
  memory_peaks(priced.plan, priced.costs, simulated, &samples);
  const std::vector<BytesByKind> kinds = memory_kinds(priced.plan, priced.costs, simulated);
  std::vector<HeldPeak> peaks;
  for (const auto& [rank, bytes] : coding.peak_stash_bytes) {
    HeldPeak& peak = peaks.emplace_back(HeldPeak{rank, bytes, 0});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (index(samples[i].rank) != rank) continue;
      const auto stash = kinds[i][static_cast<std::size_t>(BufferKind::stash)] +
                         kinds[i][static_cast<std::size_t>(BufferKind::input_stash)];
      peak.simulated_bytes = std::max(peak.simulated_bytes, static_cast<double>(stash));
    }
  }
  return peaks;
}

std::string coding_text(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks) {
  std::string text = sums_text("stash", coding.stash) + sums_text("links", coding.link);
  const auto worst = std::max_element(peaks.begin(), peaks.end(), [](const auto& a, const auto& b) {
    return difference(a) < difference(b);
  });
  return worst == peaks.end() ? text : text + peak_text("stash", *worst);
}

ordered_json coding_json(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks) {
  return {{"stash", sums_json(coding.stash)},
          {"links", sums_json(coding.link)},
          {"stash_peak", held_json(peaks)}};
}

}  // namespace penstock
