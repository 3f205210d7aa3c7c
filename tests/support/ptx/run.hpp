#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/ptx/kernel.hpp"

namespace penstock::testing::ptx {

/// Runs a kernel with the bytes of its parameters, and returns when its last thread ends. Throws
/// std::runtime_error, with the line, the block and the thread, on what a GPU leaves undefined.
std::uint64_t run(const Kernel& kernel, const Launch& launch,
                  std::span<const std::span<const std::byte>> parameters);

template <class... Parameters>
std::uint64_t run(const Kernel& kernel, const Launch& launch, const Parameters&... parameters) {
  const std::vector<std::span<const std::byte>> all = {
      std::as_bytes(std::span<const Parameters, 1>(&parameters, 1))...};
  return run(kernel, launch, std::span(all));
}

}  // namespace penstock::testing::ptx
