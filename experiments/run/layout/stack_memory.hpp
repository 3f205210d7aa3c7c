#pragma once

#include <string_view>
#include <vector>

#include "experiments/run/layout/layout.hpp"
#include "hardware_models/spec/machine.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// What the layout's stack makes of its device; without a machine, the device alone.
StackConstants stack_of(const Layout& layout);

/// Bytes per value that a recipe narrows; `size` where the device has no units for it.
double narrow_size(const Layout& layout, std::string_view recipe, double size);

/// Bytes per value of an input of a product with weights that is kept for their gradient: in the
/// precision of the product where the stack keeps what it cast, otherwise `size`.
double kept_size(const Layout& layout, double size);

/// Takes the logits off what heads keep beside the softmax in fp32, where the stack frees them: a
/// step of Megatron-LM returns its loss alone, so that only what autograd saved is left, the
/// softmax of `fused_vocab_parallel_cross_entropy` (megatron/core/fusions/fused_cross_entropy.py).
void free_logits(const Layout& layout, ModelGraph& model);

/// Whether products leave placeholder gradients, as the stack does.
bool leaves_placeholders(const Layout& layout);
/// Their bytes by model stage; empty without any.
std::vector<double> placeholders_of(const Layout& layout);

}  // namespace penstock
