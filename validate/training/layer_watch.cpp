#include "validate/training/layer_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "validate/machine/busy_kernel.hpp"
#include "validate/statistics/median.hpp"

namespace penstock {
namespace {

double clock_reading_ns() {
  constexpr int readings = 101;
  std::vector<double> lengths;
  std::int64_t before = thread_cpu_ns();
  for (int i = 0; i < readings; ++i) {
    const std::int64_t now = thread_cpu_ns();
    lengths.push_back(static_cast<double>(now - before));
    before = now;
  }
  return median(std::move(lengths));
}

}  // namespace

LayerWatch::LayerWatch() : reading_ns_(clock_reading_ns()) {}

void LayerWatch::start() {
  last_ = nullptr;
  since_ns_ = thread_cpu_ns();
}

double LayerWatch::lap_ns() {
  const std::int64_t now = thread_cpu_ns();
  const std::int64_t since = std::exchange(since_ns_, now);
  return std::max(0.0, static_cast<double>(now - since) - reading_ns_);
}

void LayerWatch::lap(const LayerPass& layer) {
  const double ns = lap_ns();
  last_ = &times_[layer];
  last_->ns += ns;
  ++last_->cells;
}

/// Updates have no layers of their own here.
void LayerWatch::finish() {
  if (last_ != nullptr) last_->ns += lap_ns();
}

}  // namespace penstock
