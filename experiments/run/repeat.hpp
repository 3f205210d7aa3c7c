#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/long_work/progress.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// The most draws of one run.
constexpr std::uint32_t most_draws = 1'000'000;

/// Runs a draw; nothing when it does not finish. Called by several threads at once.
using MakespanOf = std::function<std::optional<Time>(std::uint32_t draw)>;

/// The makespans of draws 0 to count - 1, in order, simulated on all cores; all that of the first
/// unless they vary.
std::vector<std::optional<Time>> makespans_of_draws(std::uint32_t count, bool vary,
                                                    const MakespanOf& makespan_of,
                                                    const OnProgress& on_progress = {});

/// How the makespans of many draws are distributed.
struct Distribution {
  std::vector<std::optional<Time>> makespans;  // by draw
  std::vector<Time> sorted;                    // of the draws that finished

  // In microseconds. Without a value where too few draws finished to tell.
  std::optional<double> mean;
  std::optional<double> standard_deviation;              // of one draw
  std::optional<std::pair<double, double>> mean_within;  // with 95 % confidence, by Student's t
};
Distribution distribution_of(std::vector<std::optional<Time>> makespans);

/// The value that a share of the draws stays below, between two draws in proportion; in
/// microseconds. At least one draw must have finished.
double quantile_us(const Distribution& distribution, double share);

/// "repeat" of run --json; of the makespans at most the first 10,000.
nlohmann::ordered_json distribution_json(const Distribution& distribution);
/// A paragraph and a histogram for a terminal.
std::string distribution_text(const Distribution& distribution);

}  // namespace penstock
