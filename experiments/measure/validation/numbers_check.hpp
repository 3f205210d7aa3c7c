#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "sim/costs/priced_plan.hpp"
#include "sim/timeline/timeline.hpp"
#include "validate/job/job.hpp"
#include "validate/job/trained_numbers.hpp"

namespace penstock {

/// The largest error of an order that trains the same model: only sums are rounded differently.
constexpr double most_numbers_error = 1e-10;

/// Relative error of a run's numbers against the unpipelined model, or why they are not compared.
struct NumbersCheck {
  std::optional<double> error;
  std::string why_not;
  bool of_loss_alone = false;        // an order without backwards
  bool of_weights = false;           // also of the weights after the optimizer step
  bool by_versions = false;          // of an order without flushes
  double most = most_numbers_error;  // above it, another model was trained
};

/// Trains the layers of a job unpipelined; for an order without flushes, weights change by the rule
/// of its schedule. `numbers`: those of a run of the job, if known.
NumbersCheck check_numbers(const Layout& layout, const Schedule& order, const Job& job,
                           const std::optional<TrainedNumbers>& numbers);

/// The most that a rank holds, of everything or of activations: as counted in a run, and as
/// simulated.
struct HeldPeak {
  std::uint32_t rank = 0;
  double counted_bytes = 0;
  double simulated_bytes = 0;
};

/// Of everything, by rank. `measured`: an iteration of a run. Empty where communication is written.
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
