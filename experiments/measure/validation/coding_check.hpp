#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/coding_sums.hpp"

namespace penstock {

/// The most that a rank holds, of everything or of activations: as counted in a run, and as
/// simulated.
struct HeldPeak {
  std::uint32_t rank = 0;
  double counted_bytes = 0;
  double simulated_bytes = 0;
};

/// Of everything, by rank. `measured`: an iteration of a run.
std::vector<HeldPeak> held_peaks(const PricedPlan& priced, const Timeline& measured,
                                 const Timeline& simulated);

/// "memory at its peak: …", of the rank that differs most, or holds most; empty if none holds any.
std::string held_text(const std::vector<HeldPeak>& peaks);
nlohmann::ordered_json held_json(const std::vector<HeldPeak>& peaks);

/// Of encoded activations: their bytes as they were kept.
std::vector<HeldPeak> stash_peaks(const CodingNumbers& coding, const PricedPlan& priced,
                                  const Timeline& simulated);

/// "stash: 4.50 bits a value, 18.7 dB, …" and the peak of the worst rank.
std::string coding_text(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks);
nlohmann::ordered_json coding_json(const CodingNumbers& coding, const std::vector<HeldPeak>& peaks);

}  // namespace penstock
