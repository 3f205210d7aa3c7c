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

}  // namespace penstock
