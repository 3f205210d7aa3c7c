#include "sim/costs/layer_turns.hpp"

#include <algorithm>
#include <vector>

namespace penstock {

double slowed_us(double compute_us, double collectives_us, const Interference& slows) {
  const double beside_us = std::clamp(collectives_us, 0.0, compute_us * slows.compute);
  return compute_us + beside_us * (1 - 1 / slows.compute);
}

double turns_us(std::span<const LayerTurn> turns, std::uint32_t ahead, const Interference& slows,
                const Exposed& exposed) {
  double link_free = 0, now = 0;
  std::vector<double> gathered(turns.size());
  const auto carry = [&](double ready, double us) {
    if (us > 0) link_free = std::max(link_free, ready) + us * slows.transfer;
    return us > 0 ? link_free : ready;
  };
  std::size_t next = 0;  // the next layer to be gathered
  const auto gather_before = [&](std::size_t end, double ready) {
    for (; next < std::min(end, turns.size()); ++next) {
      gathered[next] = carry(ready, turns[next].gather_us);
    }
  };
  gather_before(std::max<std::size_t>(1, ahead), 0);
  double reduced = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const double start = std::max(now + exposed.gathers * turns[i].gather_us, gathered[i]);
    gather_before(i + ahead + 1, start);
    now = start + slowed_us(turns[i].compute_us, link_free - start, slows);
    reduced = std::max(reduced, carry(now, turns[i].reduce_us));
    now += exposed.sums * turns[i].reduce_us;
    gather_before(i + 2, now);
  }
  return std::max(now, reduced);
}

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
