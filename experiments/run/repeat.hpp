#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/input/long_work/progress.hpp"
#include "sim/base/time.hpp"

namespace penstock {

constexpr std::uint32_t most_draws = 1'000'000;
/// Draws of documents by whose mean changes, orders and layouts are compared, the same for each.
constexpr std::uint32_t judged_draws = 16;

/// Runs a draw; empty if it does not finish. Several threads call it at once.
using MakespanOf = std::function<std::optional<Time>(std::uint32_t draw)>;

/// The makespans of draws 0 to count - 1, in order, simulated on all cores. Unless they `vary`, all
/// equal the first.
std::vector<std::optional<Time>> makespans_of_draws(std::uint32_t count, bool vary,
                                                    const MakespanOf& makespan_of,
                                                    const OnProgress& on_progress = {});

/// Distribution of the makespans of many draws.
struct Distribution {
  std::vector<std::optional<Time>> makespans;  // by draw
  std::vector<Time> sorted;                    // of the draws that finished

  // In microseconds. Empty if too few draws finished.
  std::optional<double> mean;
  std::optional<double> standard_deviation;              // of one draw
  std::optional<std::pair<double, double>> mean_within;  // 95 % confidence, by Student's t
};
Distribution distribution_of(std::vector<std::optional<Time>> makespans);

/// Quantile in microseconds, interpolated between draws. At least one draw must have finished.
double quantile_us(const Distribution& distribution, double share);

/// "repeat" of run --json, with at most the first 10,000 makespans.
nlohmann::ordered_json distribution_json(const Distribution& distribution);
/// A paragraph and a histogram for a terminal.
std::string distribution_text(const Distribution& distribution);

}  // namespace penstock
