#pragma once

#include <cstdint>
#include <vector>

#include "sim/order/schedule.hpp"

namespace penstock {

/// Dense numbers for the microbatches of an order: tables stay small even when a file numbers them
/// with gaps.
class MicrobatchColumns {
 public:
  explicit MicrobatchColumns(const Schedule& schedule);

  /// The number of different microbatches.
  std::uint32_t count() const { return count_; }
  std::uint32_t column_of(Microbatch microbatch) const {
    return sorted_.empty() ? index(microbatch) : search(microbatch);
  }
  Microbatch microbatch_at(std::uint32_t column) const {
    return sorted_.empty() ? Microbatch{column} : sorted_[column];
  }

 private:
  std::uint32_t search(Microbatch microbatch) const;

  std::uint32_t count_ = 0;
  std::vector<Microbatch> sorted_;  // empty: the numbers are already dense
};

}  // namespace penstock
