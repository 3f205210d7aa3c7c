#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/ptx/kernel.hpp"

namespace penstock::testing::ptx {

/// The time of what a thread computes: its first `count` multiply-adds or stores of 16 bytes take
/// this long together. All else takes none.
struct Work {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

struct Launch {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 1;   // of a block
  std::uint64_t begin_ns = 0;  // by the clock of the GPU
  std::uint32_t first_sm = 0;
  std::uint32_t sms = 1;
  Work work = {};
  std::uint32_t seed = 0;  // of the interleaving
};

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
