#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/base/numbers.hpp"
#include "sim/base/time.hpp"
#include "sim/order/schedule.hpp"

namespace penstock {

/// An action that a rank could start now.
struct Candidate {
  Action action;
  Time since;  // when its last input arrived
};

/// The state of a free rank, as shown to a policy.
struct FreeRank {
  Rank rank;
  std::uint32_t activations = 0;  // held by it
  std::uint32_t chosen = 0;       // actions chosen for it so far
};

/// Chooses the next action of each rank at run time. It may use only what it is shown, so that the
/// resulting order, run as a fixed one, gives the same times.
class Policy {
 public:
  virtual ~Policy() = default;

  /// The index of the candidate to start, or nothing to wait for another one. Shows the one ready
  /// longest of each stage and pass, ascending by `since`.
  virtual std::optional<std::size_t> choose(const FreeRank& rank,
                                            std::span<const Candidate> candidates) const = 0;
};

}  // namespace penstock
