#include "experiments/run/layout/stack_memory.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace penstock {
namespace {

constexpr double float_bytes = 4;

/// A product whose gradient is that of weights.
bool gives_weights(const Kernel& kernel) {
  return kernel.kind == KernelKind::matrix && kernel.pass == Pass::backward_weight;
}

/// Logits of a head; 0: no head.
double logits_of(const Layer& layer) {
  double logits = 0;
  for (const Kernel& kernel : layer.work.kernels) {
    if (gives_weights(kernel) && kernel.logits) logits += kernel.inner * kernel.columns;
  }
  return logits;
}

/// Placeholder gradients of a stage: one of each shape of weights of its linear layers, in the
/// precision of activations; convolutions leave none. That of a head is there while the head runs
/// backward, when its softmax in fp32 is gone.
double placeholder_bytes(const Layout& layout, const std::vector<LayerIndex>& layers) {
  std::set<std::pair<double, double>> shapes;
  double bytes = 0, of_head = 0;
  for (const LayerIndex number : layers) {
    for (const Kernel& kernel : layout.model.layers[index(number)].work.kernels) {
      if (!gives_weights(kernel)) continue;
      const double own = kernel.rows * kernel.columns * layout.shape.activation_size;
      if (kernel.logits) {
        of_head = std::max(of_head, own - float_bytes * kernel.inner * kernel.columns);
      } else if (kernel.narrows && shapes.emplace(kernel.rows, kernel.columns).second) {
        bytes += own;
      }
    }
  }
  return bytes + of_head;
}

}  // namespace

StackConstants stack_of(const Layout& layout) {
  const auto& machine = layout.hardware.spec.machine;
  return machine ? machine->device.stack : StackConstants{};
}

double narrow_size(const Layout& layout, std::string_view recipe, double size) {
  const auto& machine = layout.hardware.spec.machine;
  const Recipe* found = machine ? narrowing_on(machine->device, recipe) : nullptr;
  return found != nullptr ? found->number_bytes : size;
}

double kept_size(const Layout& layout, double size) {
  if (!stack_of(layout).keeps_narrow) return size;
  return narrow_size(layout, layout.hardware.spec.precision, size);
}

void free_logits(const Layout& layout, ModelGraph& model) {
  // Logits in fp32 are their own softmax.
  const double size = layout.shape.activation_size;
  if (!stack_of(layout).leaves_placeholders || size == float_bytes) return;
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

bool leaves_placeholders(const Layout& layout) {
  const bool trains =
      layout.schedule.has(Pass::backward) || layout.schedule.has(Pass::backward_weight);
  return trains && stack_of(layout).leaves_placeholders;
}

std::vector<double> placeholders_of(const Layout& layout) {
  std::vector<double> all;
  if (!leaves_placeholders(layout)) return all;
  for (const std::vector<LayerIndex>& layers : layout.partition.stages) {
    all.push_back(placeholder_bytes(layout, layers));
  }
  return all;
}

}  // namespace penstock
