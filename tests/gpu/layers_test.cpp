#include <doctest/doctest.h>

#include "validate/backends/cuda/check/check_steps.hpp"
#include "validate/backends/cuda/running/gpu_actions.hpp"

// The host runs the arithmetic that tests without a GPU hold against the reference kernels.

namespace penstock {

TEST_CASE("on a GPU: layers make what the host makes of the same numbers") {
  const GpuCalls& calls = *cuda_calls();
  if (const std::string why_not = calls.why_no_products(); !why_not.empty()) {
    MESSAGE("skipped: " << why_not);
    return;
  }
  const GpuDevice device(calls, 1, 0);
  for (const GpuLayerKind& kind : layer_kinds()) {
    GpuLayerSizes sizes{.examples = 2, .tokens = 64, .heads = 2, .inner = 256, .gated_inner = 192};
    sizes.images = 3;
    sizes.channels = 16;
    sizes.side = 8;
    for (const LayerError& pass : layer_errors(device, kind, sizes)) {
      CAPTURE(name(kind.work));
      CAPTURE(pass.pass);
      CHECK(pass.error <= most_layer_error);
    }
  }
}

// The last tile has 22 tokens.
TEST_CASE("on a GPU: attention of several tiles is that of the host, with heads of both sizes") {
  const GpuCalls& calls = *cuda_calls();
  if (!std::string(calls.why_no_products()).empty()) return;
  const GpuDevice device(calls, 1, 0);
  for (const std::uint32_t head : {64U, 128U}) {
    const GpuLayerSizes sizes{
        .examples = 2, .tokens = 150, .heads = 4, .head = head, .inner = 256, .gated_inner = 192};
    for (const LayerError& pass :
         layer_errors(device, *layer_kind_of(GpuWork::transformer), sizes)) {
      CAPTURE(head);
      CAPTURE(pass.pass);
      CHECK(pass.error <= most_layer_error);
    }
  }
}

}  // namespace penstock
