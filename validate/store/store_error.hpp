#pragma once

#include <stdexcept>

namespace penstock {

/// The computer cannot keep or give what a store was asked for: the disk is full, the medium takes
/// no writes, another process has been writing for too long. What was there before is still there.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace penstock
