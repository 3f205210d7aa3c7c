#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/input/scenario/scenario.hpp"
#include "experiments/run/changes/tried_changes.hpp"
#include "experiments/run/run.hpp"

namespace penstock {

/// Bytes of a kind on the worst rank minus the mean of all ranks.
struct KindAboveMean {
  BufferKind kind;
  double bytes;
};

/// Why changes are listed.
enum class MemoryAim : std::uint8_t {
  fit,   // a rank does not fit, or only may: changes that reduce the peak
  hold,  // the capacity is unknown: changes that reduce the peak
  buy,   // everything fits: faster changes that still fit
};

/// The worst rank, why it is the worst, and which changes help.
struct MemoryExplanation {
  std::optional<std::uint64_t> capacity;
  std::uint64_t reserved = 0;              // of it, what the allocator cannot use
  std::optional<MemoryWord> word{};        // empty: the capacity is unknown
  std::vector<std::vector<Stage>> stages;  // by rank
  Rank worst{};
  double mean_bytes = 0;                  // over the peaks of all ranks
  std::vector<KindAboveMean> above_mean;  // of the worst rank, largest first; without zeros
  MemoryAim aim = MemoryAim::hold;
  std::vector<TriedChange> changes;  // fitting ones first, then the fastest
  std::uint32_t tried = 0;
  std::uint32_t not_tried = 0;            // because the run is large
  std::vector<std::string> not_modelled;  // additional memory of a device
};

/// Runs a scenario to explain its memory. If it deadlocks for lack of memory, runs it again without
/// a limit; the findings say so.
RunResult run_for_memory(const Scenario& scenario);

/// The result must belong to the scenario and have finished. Simulates the scenario with each
/// proposed change; refused changes are skipped.
MemoryExplanation explain_memory(const Scenario& scenario, const RunResult& result);

std::string memory_explanation_text(const RunResult& result, const MemoryExplanation& explanation);
nlohmann::ordered_json memory_explanation_json(const RunResult& result,
                                               const MemoryExplanation& explanation);

}  // namespace penstock
