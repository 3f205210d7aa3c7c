#pragma once

#include "experiments/run/layout/layout.hpp"
#include "sim/model/model_graph.hpp"

namespace penstock {

/// Takes the logits off what heads keep beside the softmax in fp32, where the stack frees them: a
/// step of Megatron-LM returns its loss alone, so that only what autograd saved is left, the
/// softmax of `fused_vocab_parallel_cross_entropy` (megatron/core/fusions/fused_cross_entropy.py).
void free_logits(const Layout& layout, ModelGraph& model);

}  // namespace penstock
