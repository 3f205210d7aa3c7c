#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <stdexcept>

namespace penstock {

/// Zeroed memory shared with processes forked from this one. Throws std::bad_alloc.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {
    void* const place =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(place);
  }
  ~SharedMemory() { munmap(begin_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// The next bytes at a multiple of `alignment`. Throws std::logic_error when memory is used up.
  std::byte* take(std::size_t bytes, std::size_t alignment) {
    const std::size_t first = (taken_ + alignment - 1) / alignment * alignment;
    if (first > bytes_ || bytes > bytes_ - first) {
      throw std::logic_error("shared memory is used up");
    }
    taken_ = first + bytes;
    return begin_ + first;
  }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace penstock
