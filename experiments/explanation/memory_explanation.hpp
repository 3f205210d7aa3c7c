#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "experiments/scenario/scenario.hpp"

namespace penstock {

/// Peak memory and makespan of a scenario with one thing changed; simulated.
struct MemoryChange {
  std::string change;  // as --set would have it: "/memory/zero=2"
  Rank worst{};        // the rank with the highest peak
  std::uint64_t peak_bytes = 0;
  std::optional<bool> fits;  // without a value where there is no capacity
  Time makespan{};
};

/// How much more of a kind the worst rank holds than the mean; negative for less.
struct KindAboveMean {
  BufferKind kind;
  double bytes;
};

/// Why changes are listed.
enum class MemoryAim : std::uint8_t {
  fit,   // a rank exceeds its capacity: changes that reduce the peak
  hold,  // the capacity is unknown: changes that reduce the peak
  buy,   // everything fits: faster changes that still fit
};

/// The worst rank, why it is the worst, and what would change that.
struct MemoryExplanation {
  std::optional<std::uint64_t> capacity;
  std::vector<std::vector<Stage>> stages;  // by rank
  Rank worst{};
  double mean_bytes = 0;                  // over the peaks of all ranks
  std::vector<KindAboveMean> above_mean;  // of the worst rank, the most first; without zeros
  MemoryAim aim = MemoryAim::hold;
  std::vector<MemoryChange> changes;  // those that fit first, then the fastest
  std::uint32_t tried = 0;
  std::uint32_t not_tried = 0;            // because the run is large
  std::vector<std::string> not_modelled;  // what a device holds in addition
};

/// Runs a scenario to explain its memory. Where memory runs out and the run deadlocks, it runs
/// again without a limit, so that there is something to explain; the findings say so.
RunResult run_for_memory(const Scenario& scenario);

/// The result must be that of the scenario, and have finished. Simulates the scenario again with
/// each of some changes; changes that its rules refuse are skipped.
MemoryExplanation explain_memory(const Scenario& scenario, const RunResult& result);

std::string memory_explanation_text(const RunResult& result, const MemoryExplanation& explanation);
nlohmann::ordered_json memory_explanation_json(const RunResult& result,
                                               const MemoryExplanation& explanation);

}  // namespace penstock
