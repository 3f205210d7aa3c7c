#include <doctest/doctest.h>
#include <fmt/format.h>

#include "validate/backends/cuda/gpu_device.hpp"

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  if (const auto reason = penstock::why_no_gpu(*penstock::cuda_calls())) {
    fmt::print("skipped: {}\n", *reason);
    return skipped;
  }
  return doctest::Context(argc, argv).run();
}
