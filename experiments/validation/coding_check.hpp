#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/coding_sums.hpp"

namespace penstock {

/// The most that a rank keeps of activations: as counted in a run, and as simulated.
struct StashPeak {
  std::uint32_t rank = 0;
  double counted_bytes = 0;
  double simulated_bytes = 0;
};

std::vector<StashPeak> stash_peaks(const CodingNumbers& coding, const PricedPlan& priced,
                                   const Timeline& simulated);

/// "stash: 4.50 bits a value, 18.7 dB, …" and the peak of the worst rank.
std::string coding_text(const CodingNumbers& coding, const std::vector<StashPeak>& peaks);
nlohmann::ordered_json coding_json(const CodingNumbers& coding,
                                   const std::vector<StashPeak>& peaks);

}  // namespace penstock
