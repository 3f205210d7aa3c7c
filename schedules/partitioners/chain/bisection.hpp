#pragma once

#include <cmath>
#include <optional>

namespace penstock {

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

}  // namespace penstock
