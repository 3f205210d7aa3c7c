#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/costs/costs.hpp"
#include "sim/plan/plan.hpp"
#include "sim/timeline/timeline.hpp"

namespace penstock {

using BytesByKind = std::array<std::uint64_t, buffer_kinds>;  // indexed by BufferKind

/// The moment of a rank's largest memory.
struct MemoryPeak {
  std::uint64_t bytes = 0;
  BytesByKind by_kind{};  // at that moment; adds up to `bytes`
  Time time{};
  TaskId task =
      no_task;  // whose start or arrival caused the peak; none when it is that of the parameters
};

/// The memory peak of each rank. With `samples`, also each rank's memory over time.
std::vector<MemoryPeak> memory_peaks(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                     std::vector<MemorySample>* samples = nullptr);

/// The first moment at which each rank holds more than this many bytes, if any.
std::vector<std::optional<Time>> first_above(const Plan& plan, const Costs& costs,
                                             const Timeline& timeline, std::uint64_t bytes);

/// The most (stage, microbatch) activations that each rank holds at once: from the start of F to
/// the end of B, of W with split backwards, or of F itself without backwards. For orders without
/// eviction, where the rows alone decide it.
std::vector<std::uint32_t> peak_activations(const Plan& plan);

/// The same for any order, from a timeline: an evicted activation counts on its rank until it has
/// arrived at its keeper, then there, and again on its rank from the start of its return.
std::vector<std::uint32_t> peak_activations(const Plan& plan, const Timeline& timeline);

/// What each sample that `memory_peaks` gives of a run holds by kind, in the same order.
std::vector<BytesByKind> memory_kinds(const Plan& plan, const Costs& costs,
                                      const Timeline& timeline);

}  // namespace penstock
