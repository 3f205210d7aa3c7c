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
  Time since;  // when the last thing that it needs was there
};

/// What a rank that has just become free looks like to a policy.
struct FreeRank {
  Rank rank;
  std::uint32_t activations = 0;  // that it holds
  std::uint32_t chosen = 0;       // actions that were chosen for it before
};

/// Decides while a pipeline runs what each rank does next. It must go by what it is shown alone, so
/// that the order that comes about, run again as a fixed one, takes the same times.
class Policy {
 public:
  virtual ~Policy() = default;

  /// Which of the candidates the rank starts, nothing when it rather waits for another one. Of each
  /// stage and pass that is shown which has waited longest; they ascend by `since`.
  virtual std::optional<std::size_t> choose(const FreeRank& rank,
                                            std::span<const Candidate> candidates) const = 0;
};

}  // namespace penstock
