#pragma once

#include <variant>
#include <vector>

#include "validate/backends/cuda/layers/convolution_layer.hpp"
#include "validate/backends/cuda/layers/transformer_layer.hpp"

namespace penstock {

/// A kernel of a layer: all that there are.
struct GpuStep {
  std::variant<LayerNorm<Bf16>, LayerNormGradient<Bf16>, NormWeightParts<Bf16>, AddedParts<Bf16>,
               Added<Bf16>, Activation<Bf16>, ActivationGradient<Bf16>,
               CausalAttention<Bf16, 64>, QueryGradient<Bf16, 64>, KeyGradient<Bf16, 64>,
               CausalAttention<Bf16, 128>, QueryGradient<Bf16, 128>, KeyGradient<Bf16, 128>,
               Patches<Bf16>, PatchGradient<Bf16>, ChannelMeans<Bf16>,
               KernelShares<Bf16>, MixedKernels<Bf16>, RoutingGradient<Bf16>, ChannelGradient<Bf16>,
               KernelSums<Bf16>, RoutingSums<Bf16>>
      kernel;
};

/// What a pass of a layer launches.
using GpuLaunch = std::variant<GpuStep, LayerProduct<Bf16>>;

/// Collects them.
struct GpuLaunches {
  std::vector<GpuLaunch> all;

  template <class Step>
  void step(const Step& step) {
    all.emplace_back(GpuStep{step});
  }
  void product(const LayerProduct<Bf16>& product) { all.emplace_back(product); }
};

/// Runs it on the host, in its memory.
void run_on_host(const GpuLaunch& launch);
/// Elements, or lanes of all rows, of a step.
std::uint64_t threads_of(const GpuStep& step);

}  // namespace penstock
