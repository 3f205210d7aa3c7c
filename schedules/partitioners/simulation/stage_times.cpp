#include "schedules/partitioners/simulation/stage_times.hpp"

namespace penstock {
namespace {

std::vector<double> prefix_us(const CutProblem& problem, double CutLayer::*seconds) {
  std::vector<double> prefix{0};
  for (const CutLayer& layer : problem.layers) {
    prefix.push_back(prefix.back() + layer.*seconds * 1e6);
  }
  return prefix;
}

}  // namespace

StageTimes::StageTimes(const CutProblem& problem, const CutChain& chain)
    : forward_us_(prefix_us(problem, &CutLayer::forward_s)),
      backward_us_(prefix_us(problem, &CutLayer::backward_s)),
      input_us_(prefix_us(problem, &CutLayer::input_s)),
      weight_us_(prefix_us(problem, &CutLayer::weight_s)),
      transfer_(chain.boundary_bytes.size()) {
  if (problem.transfers == CutTransfers::none) return;
  latency_ = from_us(problem.latency_s * 1e6);
  if (!problem.bandwidth_bytes_per_s) return;
  for (std::size_t i = 0; i < transfer_.size(); ++i) {
    transfer_[i] = from_us(chain.boundary_bytes[i] / *problem.bandwidth_bytes_per_s * 1e6);
  }
}

}  // namespace penstock
