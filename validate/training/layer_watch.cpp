#include "validate/training/layer_watch.hpp"

namespace penstock {

void LayerWatch::start() {
  last_ = nullptr;
  clock_.start();
}

void LayerWatch::lap(const LayerPass& layer) {
  const double ns = clock_.lap_ns();
  last_ = &times_[layer];
  last_->ns += ns;
  ++last_->cells;
}

/// Updates have no layers of their own here.
void LayerWatch::finish() {
  if (last_ != nullptr) last_->ns += clock_.lap_ns();
}

}  // namespace penstock
