#pragma once

#include <cstdint>

namespace penstock {

/// How weights are updated, which decides what is kept beside them.
enum class Optimizer : std::uint8_t { none, sgd, momentum, adam };

/// The numbers of a training step that a plan leaves open and `price` fills in.
struct Training {
  std::uint32_t data = 1;  // data replicas of the pipeline
  Optimizer optimizer = Optimizer::none;
  bool shards_optimizer = false;  // each replica keeps and updates its share (ZeRO-1)
  double optimizer_us = 0;        // of the U of a stage
  double tied_embedding_bytes = 0;
};

/// What goes with one byte of bf16 parameters: fp32 gradients take two, fp32 master weights two
/// more, and each moment of the optimiser two. Without an optimiser gradients are not kept, but
/// travel in the format of the parameters.
constexpr double gradient_factor(Optimizer optimizer) {
  return optimizer == Optimizer::none ? 1 : 2;
}
constexpr double optimizer_factor(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::none:
      return 0;
    case Optimizer::sgd:
      return 2;
    case Optimizer::momentum:
      return 4;
    case Optimizer::adam:
      return 6;
  }
  return 0;
}

}  // namespace penstock
