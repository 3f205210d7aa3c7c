#pragma once

#include <array>
#include <cstdint>

#include "sim/base/random.hpp"

namespace penstock {

/// A stream of random numbers of a seed, equal on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {}

  /// A number below `count`, which is at most 2^32.
  std::uint32_t below(std::uint64_t count) {
    return static_cast<std::uint32_t>((std::uint64_t{word()} * count) >> 32);
  }
  bool one_in(std::uint32_t count) { return below(count) == 0; }

 private:
  std::uint32_t word() {
    if (next_ == words_.size()) {
      words_ = philox({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32),
                       0x5EA9C4u, 0},
                      key_);
      ++block_;
      next_ = 0;
    }
    return words_[next_++];
  }

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> words_{};
  std::uint64_t block_ = 0;
  std::size_t next_ = 4;
};

}  // namespace penstock
