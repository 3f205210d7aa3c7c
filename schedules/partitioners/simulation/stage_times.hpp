#pragma once

#include <cstdint>
#include <vector>

#include "schedules/partitioners/problem/cut_problem.hpp"
#include "sim/base/time.hpp"

namespace penstock {

/// Durations of stages and transfers, each rounded once, from sums over the chain.
class StageTimes {
 public:
  StageTimes(const CutProblem& problem, const CutChain& chain);

  std::uint32_t size() const { return static_cast<std::uint32_t>(forward_us_.size()) - 1; }
  Time forward(std::uint32_t begin, std::uint32_t end) const {
    return from_us(forward_us_[end] - forward_us_[begin]);
  }
  Time backward(std::uint32_t begin, std::uint32_t end) const {
    return from_us(backward_us_[end] - backward_us_[begin]);
  }
  Time input(std::uint32_t begin, std::uint32_t end) const {
    return from_us(input_us_[end] - input_us_[begin]);
  }
  Time weight(std::uint32_t begin, std::uint32_t end) const {
    return from_us(weight_us_[end] - weight_us_[begin]);
  }
  /// How long one tensor of a boundary occupies its link.
  Time transfer(std::uint32_t position) const { return transfer_[position]; }
  Time latency() const { return latency_; }

 private:
  std::vector<double> forward_us_, backward_us_, input_us_, weight_us_;
  std::vector<Time> transfer_;
  Time latency_;
};

}  // namespace penstock
