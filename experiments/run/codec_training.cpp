#include "experiments/run/codec_training.hpp"

#include <algorithm>

namespace penstock {

std::uint64_t CodecTraining::iterations() const {
  return phases.back().first_iteration + phases.back().iterations;
}

std::uint64_t CodecTraining::peak_bytes() const {
  std::uint64_t most = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations > 0) most = std::max(most, phase.iteration.peak_bytes);
  }
  return most;
}

std::optional<double> CodecTraining::time_us() const {
  double sum = 0;
  for (const Phase& phase : phases) {
    if (phase.iterations == 0) continue;
    if (!phase.iteration.makespan) return std::nullopt;
    sum += static_cast<double>(phase.iterations) * to_us(*phase.iteration.makespan);
  }
  return sum;
}

std::optional<double> CodecTraining::time_us_throughout(const CodedIteration& iteration) const {
  if (!iteration.makespan) return std::nullopt;
  return static_cast<double>(iterations()) * to_us(*iteration.makespan);
}

const CodedIteration& CodecTraining::finest() const {
  return std::max_element(phases.begin(), phases.end(),
                          [](const Phase& a, const Phase& b) {
                            return a.iteration.bits_per_value < b.iteration.bits_per_value;
                          })
      ->iteration;
}

}  // namespace penstock
