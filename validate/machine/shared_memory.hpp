#pragma once

#include <cstddef>

namespace penstock {

/// Memory, zero at first, that stays shared with processes forked from this one. Throws
/// std::bad_alloc when there is not so much.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The next so many bytes, from a multiple of `alignment` on. Throws std::logic_error when there
  /// are no more.
  std::byte* take(std::size_t bytes, std::size_t alignment);

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace penstock
