#pragma once

#include <stdexcept>

namespace penstock {

/// The computer prevents a store operation: the disk is full, the medium is read-only, another
/// process has been writing for too long. The previous content is kept.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace penstock
