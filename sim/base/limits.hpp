#pragma once

#include <cstdint>

namespace penstock {

/// Upper limits of input sizes, checked before anything is allocated.
struct Limits {
  static constexpr std::uint32_t ranks = 16'384;
  static constexpr std::uint32_t stages = 65'536;
  static constexpr std::uint32_t microbatches = 16'777'216;
  static constexpr std::uint64_t actions = 100'000'000;
  static constexpr std::uint32_t chains = 64;
  static constexpr std::uint32_t layers = 1'000'000;
  static constexpr std::uint32_t network_links = 1'000'000;
  static constexpr double time_us = 1e12;
  static constexpr double bytes = 1e18;
  static constexpr std::uint64_t input_file_bytes = std::uint64_t{1} << 31;
};

}  // namespace penstock
