#pragma once

#include <cstdint>
#include <vector>

#include "validate/backends/multi/rank_device.hpp"
#include "validate/backends/multi/rank_work.hpp"

namespace penstock {

/// The tensors of a rank, by channel and slot.
class RankBuffers {
 public:
  /// Zeros. Throws GpuError. The device must outlive it.
  RankBuffers(const RankDevice& device, const RankWork& work);

  std::byte* sent(std::uint32_t channel, std::uint32_t slot) const;
  std::byte* received(std::uint32_t channel, std::uint32_t slot) const;
  /// Whether a rank has calls of a channel.
  bool is_used(std::uint32_t channel) const { return used_[channel] != 0; }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(used_.size()); }

 private:
  /// Buffers a fixed number of bytes apart.
  struct Ring {
    std::uint64_t step;
    GpuOwner<void> memory;

    std::byte* at(std::uint32_t slot) const {
      return static_cast<std::byte*>(memory.get()) + slot * step;
    }
  };
  static Ring cleared(const RankDevice& device, std::uint32_t channel, std::uint64_t largest,
                      std::uint32_t slots);

  std::vector<char> used_;  // by channel, like the next
  std::vector<Ring> sent_;
  std::vector<Ring> received_;
};

}  // namespace penstock
