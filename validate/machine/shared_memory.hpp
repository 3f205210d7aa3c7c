#pragma once

#include <cstddef>

namespace penstock {

/// Zeroed memory shared with processes forked from this one. Throws std::bad_alloc.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The next bytes at a multiple of `alignment`. Throws std::logic_error when memory is used up.
  std::byte* take(std::size_t bytes, std::size_t alignment);

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace penstock
