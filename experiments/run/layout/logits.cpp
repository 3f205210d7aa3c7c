#include "experiments/run/layout/logits.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Logits of a head, whose product is the one with weights that keeps its precision; 0: no head.
double logits_of(const Layer& layer) {
  double logits = 0;
  for (const Kernel& kernel : layer.work.kernels) {
    const bool matrix = kernel.kind == KernelKind::matrix && kernel.pass == Pass::backward_weight;
    if (matrix && !kernel.narrows) logits += kernel.inner * kernel.columns;
  }
  return logits;
}

}  // namespace

void free_logits(const Layout& layout, ModelGraph& model) {
  const auto& machine = layout.hardware.spec.machine;
  if (!machine || !machine->device.stack.leaves_placeholders) return;
  constexpr double float_bytes = 4;
  const double size = layout.shape.activation_size;
  for (Layer& layer : model.layers) {
    const double logits = logits_of(layer);
    // A head that keeps fewer bytes has no softmax in fp32; a recomputed one restores both.
    const double both = logits * (size + float_bytes);
    if (logits > 0 && layer.stash_bytes >= both) {
      layer.stash_bytes -= logits * size;
      layer.freed_by_input_bytes = std::max(0.0, layer.freed_by_input_bytes - logits * size);
    } else if (logits > 0 && layer.recomputed_bytes >= both) {
      layer.recomputed_bytes -= logits * size;
    }
  }
}

}  // namespace penstock
