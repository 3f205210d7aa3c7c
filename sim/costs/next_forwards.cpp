#include "sim/costs/next_forwards.hpp"

#include <algorithm>

namespace penstock {

std::vector<double> waits_for_weights(std::span<const NextForward> stages) {
  std::vector<double> waits;
  double gathered = 0, waited = 0;
  for (const NextForward& stage : stages) {
    double now = stage.start_us + waited, without = now;
    for (const LayerTurn& turn : stage.turns) {
      gathered += turn.gather_us;
      now = (turn.gather_us > 0 ? std::max(now, gathered) : now) + turn.compute_us;
      without += turn.compute_us;
    }
    waits.push_back(now - without);
    waited += waits.back();
  }
  return waits;
}

}  // namespace penstock
