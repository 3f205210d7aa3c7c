#include "experiments/measure/validation/coding_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "experiments/input/files/table.hpp"
#include "sim/report/memory_kinds.hpp"
#include "validate/comparison/counted_memory.hpp"

namespace penstock {
namespace {

using nlohmann::ordered_json;

std::string sums_text(const char* what, const CodingSums& sums) {
  if (sums.values == 0) return "";
  return fmt::format(
      "{} encoded: {:.2f} bits per value, SQNR {:.1f} dB, largest error {:.3g} of "
      "values up to {:.3g}\n",
      what, sums.bits_per_value(), sums.sqnr_db(), sums.most_error, sums.most_value);
}

ordered_json sums_json(const CodingSums& sums) {
  if (sums.values == 0) return {};
  const double sqnr = sums.sqnr_db();
  return {{"values", sums.values},
          {"bits_per_value", sums.bits_per_value()},
          {"sqnr_db", std::isfinite(sqnr) ? ordered_json(sqnr) : ordered_json()},
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

std::vector<HeldPeak> held_peaks(const PricedPlan& priced, const Timeline& measured,
                                 const Timeline& simulated) {
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
  ordered_json ranks = ordered_json::array();
  for (const HeldPeak& peak : peaks) {
    ranks.push_back({{"rank", peak.rank},
                     {"counted_bytes", peak.counted_bytes},
                     {"simulated_bytes", peak.simulated_bytes}});
  }
  return ranks;
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
