#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace penstock {

/// Cuts of a chain, and the cost of its dearest stage or a sum of costs.
struct ChainCuts {
  double value = 0;
  std::vector<std::uint32_t> cuts;  // 0, …, size of the chain
};

/// The least bottleneck of a chain in at most `stages` stages; a stage costs prefix[end] -
/// prefix[begin]. Exact to the last bit: probes bisect the value and end on the cost of a stage.
/// `prefix` starts at 0 and does not descend.
ChainCuts least_bottleneck(std::span<const double> prefix, std::uint32_t stages);

/// The same in as many stages as there are layers for, up to `stages`: the longest are split
/// further.
ChainCuts balanced_cuts(std::span<const double> prefix, std::uint32_t stages);

/// The same where position i as a boundary alone costs boundary[i], beside the stages: the greatest
/// of both counts. Nothing when exactly `stages` stages are asked for and there are fewer layers.
std::optional<ChainCuts> least_bottleneck_beside(std::span<const double> prefix,
                                                 std::span<const double> boundary,
                                                 std::uint32_t stages, bool exactly);

/// The same where a stage takes both of its boundaries in sequence with its layers. A stage that
/// reaches further may then be cheaper, so a probe asks for each position how many stages lead
/// there.
std::optional<ChainCuts> least_bottleneck_in_sequence(std::span<const double> prefix,
                                                      std::span<const double> boundary,
                                                      std::uint32_t stages, bool exactly);

/// What a probe finds for a value: cuts with their actual value, at most the probed one; or the
/// least value above it that could do better.
template <class Cuts>
struct Probe {
  std::optional<Cuts> found;
  double value = 0;
};

/// The cuts of least value. `low` is at most that value; `first` is a feasible probe. Each probe
/// ends on a value that some cut has, so the search ends on the exact one.
template <class Cuts, class Prober>
Probe<Cuts> bisect(double low, Probe<Cuts> best, Prober&& probe) {
  while (low < best.value) {
    const double middle = low + (best.value - low) / 2;
    Probe<Cuts> answer = probe(middle < best.value ? middle : low);
    if (answer.found) {
      best = std::move(answer);
    } else {
      low = answer.value;
    }
  }
  return best;
}

/// The same where any value may be feasible, or none; then it finds nothing.
template <class Cuts, class Prober>
Probe<Cuts> bisect(Prober&& probe) {
  Probe<Cuts> first = probe(std::numeric_limits<double>::max());
  return first.found ? bisect<Cuts>(0, std::move(first), probe) : first;
}

}  // namespace penstock
