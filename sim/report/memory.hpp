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

/// The moment at which a rank held the most.
struct MemoryPeak {
  std::uint64_t bytes = 0;
  BytesByKind by_kind{};  // at that moment; adds up to `bytes`
  Time time{};
  TaskId task = no_task;  // whose start or arrival made the peak; none when parameters alone did
};

/// The peak of each rank. With `samples`, also how much each rank held over time.
std::vector<MemoryPeak> memory_peaks(const Plan& plan, const Costs& costs, const Timeline& timeline,
                                     std::vector<MemorySample>* samples = nullptr);

/// For each rank the first moment at which it holds more than so many bytes, if there is one.
std::vector<std::optional<Time>> first_above(const Plan& plan, const Costs& costs,
                                             const Timeline& timeline, std::uint64_t bytes);

/// For each rank the most (stage, microbatch) activations held at once: from the start of F to the
/// end of B, or of W where the backward is split, or of F itself where there is no backward at all.
/// For orders that evict nothing, where the rows alone decide it.
std::vector<std::uint32_t> peak_activations(const Plan& plan);

/// The same for any order, as it came about: an evicted activation counts until it has arrived
/// elsewhere, on a rank that keeps it while it is there, and again from the start of its way back.
std::vector<std::uint32_t> peak_activations(const Plan& plan, const Timeline& timeline);

}  // namespace penstock
